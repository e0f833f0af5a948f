#!/bin/sh
# SPDX-License-Identifier: MIT
#
# smoke.sh BUILD: what the runner makes of a short round of two of ldapd's forms, and of two
# allocators. No figure is judged.
set -eu
built=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# shellcheck source=SCRIPTDIR/../../../benchmarks/support/smoke.sh
. "$here/../../../benchmarks/support/smoke.sh"

ln -s "$built/bin" "$work/bin"
python3 "$here/run.py" --build "$work" --quick --idle 50 --connections 10 --threads 16 \
	--contestants inline,multi,slab,glibc --cases 'idle|stall|accept|mix|share' >"$work/text" \
	2>"$work/error" || {
	cat "$work/text" "$work/error" >&2
	exit 1
}
for case in idle stall accept; do
	said "$case *\( *[1-9][0-9,]*\)\{2\}" "$work/text"
	said "1,multi,$case,rate,,[0-9.]*" "$work/bench/listener.csv"
done
said '| the same, with a stall of 2 s in 1 of 100 accepts |\( [0-9,]* |\)\{2\} 505 inline / .*' \
	"$work/bench/listener.md"
said 'mix *\( *[1-9][0-9,]*\)\{2\}' "$work/text"
for what in rate end after; do
	said "1,glibc,mix,$what,,[0-9.]*" "$work/bench/listener.csv"
done
said '1,slab,mix,curve,[0-9.]*,[0-9]*' "$work/bench/listener.csv"
# Without perf there is no share, and the report says so.
grep -q '^1,slab,share,share,,0' "$work/bench/listener.csv" ||
	grep -q '^- share is left out: ' "$work/bench/listener.md"
grep -q '<title>multi: ' "$work/bench/listener.svg"
