#!/bin/sh
# SPDX-License-Identifier: MIT
#
# smoke.sh BUILD: loads on simulated CPUs print their numbers, and the model writes its page and
# its chart. Takes seconds. Exits 77 where the programs do not exist.
set -eu
build=$1
here=$(cd "$(dirname "$0")" && pwd)
[ -x "$build/bin/scale_loads" ] || exit 77
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export SLAB_CONTROL=off SCALE_CPUS=6 SLAB_FAKE_NODES=2

fail()
{
	echo "smoke: $*" >&2
	exit 1
}

for load in local pairs elsewhere burst; do
	text=$("$build/bin/scale_loads" libslab $load ops=5000 steps=100 batch=10 live=100)
	for name in operations stepped locked; do
		printf '%s\n' "$text" | grep -q "^$name [0-9]" || fail "$load prints no $name: $text"
	done
done
text=$("$build/bin/scale_loads" libslab memory batch=100)
printf '%s\n' "$text" | grep -q '^owned_slabs 6$' || fail "6 CPUs own 6 slabs, not: $text"
"$build/bin/scale_loads" malloc memory batch=100 | grep -q '^resident ' || fail 'malloc: no memory'

status=0
"$build/bin/scale_loads" libslab nothing 2>/dev/null || status=$?
[ $status = 2 ] || fail "an unknown load: status $status"
status=0
"$build/bin/scale_loads" libslab pairs distance=6 2>/dev/null || status=$?
[ $status = 2 ] || fail "a pair without a second CPU: status $status"
status=0
"$build/bin/scale_loads" libslab local batch=0 2>/dev/null || status=$?
[ $status = 2 ] || fail "an empty batch: status $status"
status=0
SCALE_CPUS=600 "$build/bin/scale_loads" libslab local 2>/dev/null || status=$?
[ $status = 2 ] || fail "too many CPUs: status $status"
status=0
python3 "$here/run.py" --build "$folder" --nothing 2>/dev/null || status=$?
[ $status = 2 ] || fail "an unknown option of run.py: status $status"

python3 "$here/run.py" --build "$folder" >/dev/null
grep -q '^## Locks' "$folder/bench/scale.md" || fail 'the page has no locks'
grep -q '</svg>' "$folder/bench/scale.svg" || fail 'there is no chart'
