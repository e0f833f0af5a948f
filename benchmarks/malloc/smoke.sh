#!/bin/sh
# SPDX-License-Identifier: MIT
#
# smoke.sh BUILD: what the runner makes of a short round of every case. Takes a minute at most;
# no figure is judged.
set -eu
built=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# shellcheck source=SCRIPTDIR/../support/smoke.sh
. "$here/../support/smoke.sh"

for part in bin lib tests; do
	ln -s "$built/$part" "$work/$part"
done
python3 "$here/run.py" --build "$work" --quick --idle 1 --contestants slab,glibc \
	--cases '^(larson|threads.8|remote|stress|directory|grow.strings|large.touch|program.bash)' \
	>"$work/text" 2>"$work/error" || {
	cat "$work/error" "$work/text" >&2
	exit 1
}
said 'larson  *time, ms  *[0-9.,]*  glibc [0-9.,]*  *[0-9.]*  [a-zA-Z]*' "$work/text"
said 'larson  *idle, MiB  *[0-9.,]*  glibc [0-9.,]*  *[0-9.]*  [a-zA-Z]*' "$work/text"
said 'program.bash  *faults  *[0-9,]*  at most 250  *[0-9.]*  [a-zA-Z]*' "$work/text"
said '[0-9]* of [0-9]* goals met' "$work/text"
for name in slab glibc; do
	said "| $name | .* ([0-9.,]*) |\( [0-9.,]* |\)* [0-9.]* ([0-9.]*) |" "$work/bench/malloc.md"
	said "1,$name,grow.strings,calls,[0-9]*" "$work/bench/malloc.csv"
done
grep -q '<circle .*<title>slab: ' "$work/bench/malloc.svg"
if "$built/bin/malloc-cases" no-such-case 2>/dev/null; then
	echo 'an unknown case should be refused' >&2
	exit 1
fi
