#!/bin/sh
# SPDX-License-Identifier: MIT
#
# smoke.sh BUILD: what the runner makes of a short round of those servers that the machine has, or
# that were unpacked in the build. No figure is judged. Exit status 77: there are none.
set -eu
built=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# shellcheck source=SCRIPTDIR/../../../benchmarks/support/smoke.sh
. "$here/../../../benchmarks/support/smoke.sh"

for part in bin lib tests servers; do
	[ ! -e "$built/$part" ] || ln -s "$built/$part" "$work/$part"
done
status=0
python3 "$here/run.py" --build "$work" --quick --idle 1 --contestants slab,glibc --cases redis \
	>"$work/text" 2>"$work/error" || status=$?
if grep -q 'no server can run' "$work/error"; then
	cat "$work/error"
	exit 77
fi
if [ $status != 0 ]; then
	cat "$work/error" "$work/text" >&2
	exit 1
fi
said 'redis  *op/s  *[0-9,]*  glibc  *[0-9,]*  *[0-9.]* ≤ 1.00  [a-zA-Z]*' "$work/text"
said 'redis  *idle, MiB  *[0-9.]*  glibc  *[0-9.]*  *[0-9.]* ≤ 0.60  [a-zA-Z]*' "$work/text"
for name in slab glibc; do
	said "| $name |\( [0-9.,]* |\)\{11\} [-0-9.]* |" "$work/bench/servers.md"
	said "1,redis,$name,curve,[0-9.]*,[0-9]*" "$work/bench/servers.csv"
done
grep -q '<title>slab: ' "$work/bench/servers.svg"
