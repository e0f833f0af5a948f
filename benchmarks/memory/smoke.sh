#!/bin/sh
# SPDX-License-Identifier: MIT
#
# smoke.sh BIN: a small peak of each program, and a moment of RCU. Takes a second.
set -eu
bin=$1
SLAB_RUNTIME_DIR=$(mktemp -d)
export SLAB_RUNTIME_DIR
trap 'rm -rf "$SLAB_RUNTIME_DIR"' EXIT

# said WHAT TEXT: a line of TEXT is WHAT, a pattern.
said()
{
	printf '%s\n' "$2" | grep -qx -- "$1" || {
		printf 'expected a line "%s" in:\n%s\n' "$1" "$2" >&2
		exit 1
	}
}

for program in memory-malloc memory-slab; do
	for what in entries objects 240; do
		text=$(yes | "$bin/$program" peak $what 2)
		for line in start peak 'live [1-9][0-9]*' freed 'moved 0' idle; do
			said "$line" "$text"
		done
	done
done
said 'moved [1-9][0-9]*' "$(yes | "$bin/memory-slab" -m peak objects 2)"
said 'freed .* [1-9][0-9]*' "$("$bin/memory-rcu" section 0.3)"
if "$bin/memory-slab" peak 63 2 2>/dev/null; then
	echo 'a size of 63 bytes should be refused' >&2
	exit 1
fi
