#!/bin/sh
# SPDX-License-Identifier: MIT
#
# What debugging costs, called by ./run bench debug after a build: run.sh [ROUNDS].
# The table goes to the terminal and to build/bench/debug.md, all figures to debug.csv.
set -eu
[ "${1-}" != --help ] || { sed -n "s,^# \{0\,1\},,; 3,5p" "$0"; exit 0; }
[ $# -le 1 ] || {
	echo "bench debug: takes the number of rounds, not '$*'" >&2
	exit 2
}
build=$(cd "$(dirname "$0")/../.." && pwd)/build
mkdir -p "$build/bench"
"$build/bin/debug-cost" "${1:-7}" "$build/bench/debug.csv" >"$build/bench/debug.md"
cat "$build/bench/debug.md"
