# SPDX-License-Identifier: MIT
# shellcheck shell=sh
#
# What the smoke tests of benchmarks share. The test sets `work`, its folder, before it calls.

# said PATTERN FILE: FILE has a line of that pattern. If not, what the benchmark said is shown.
said()
{
	grep -qx -- "$1" "$2" || {
		printf 'expected a line "%s" in:\n' "$1" >&2
		cat "$2" "$work/error" >&2
		exit 1
	}
}
