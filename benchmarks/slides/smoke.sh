#!/bin/sh
# SPDX-License-Identifier: MIT
#
# smoke.sh BUILD: a short round of every case prints tables. No figure is judged.
set -eu
built=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# shellcheck source=SCRIPTDIR/../support/smoke.sh
. "$here/../support/smoke.sh"

ln -s "$built/bin" "$work/bin"
python3 "$here/run.py" --build "$work" --quick --cases 'cycles|memory|modes|trapped' >"$work/text" 2>"$work/error" || {
	cat "$work/error" "$work/text" >&2
	exit 1
}
said '.*[0-9]* of [0-9]* goals met.*' "$work/text"
tables=$work/bench/slides.md
for name in slab SLAB sheaves slob; do
	said "| $name | [0-9.]* ([0-9.]*) | .* |" "$tables"
	said "| 4 | $name | [0-9.]* | [0-9.]* |" "$tables"
	said "1,$name,memory.resident,0,[1-9].*" "$work/bench/slides.csv"
done
said ".*kernel's SLUB, slide | 45 | 70 | 52 | 90 | 119.*" "$tables"
said '.*<circle .*<title>slab: .*' "$work/bench/slides.svg"
BASELINE_REAPER=off "$built/bin/trapped-queued" unused 2 | grep -q '^unused.once_slabs,2,[1-9][0-9]*,0$'
"$built/bin/slides-slab" hackbench 8 | grep -q '^hackbench,512,[0-9.]*,[0-9.]*$'
for wrong in "modes 7" "block" "hackbench many" "never"; do
	status=0
	# shellcheck disable=SC2086
	"$built/bin/slides-slab" $wrong >/dev/null 2>&1 || status=$?
	[ $status -eq 2 ] || {
		echo "slides-slab $wrong: status $status, expected 2" >&2
		exit 1
	}
done
