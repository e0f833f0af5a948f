#!/bin/sh
# SPDX-License-Identifier: MIT
#
# smoke.sh BIN: a lap of each case of mixed lifetimes prints its rows. Takes seconds.
set -eu
bin=$1
SLAB_RUNTIME_DIR=$(mktemp -d)
export SLAB_RUNTIME_DIR
trap 'rm -rf "$SLAB_RUNTIME_DIR"' EXIT
cases=lifetimes.random,lifetimes.touched,lifetimes.random_2,lifetimes.zipf,lifetimes.burst
cases=$cases,survivors.alloc,survivors.free,memory.random

for program in objects-malloc objects-slab; do
	text=$("$bin/$program" --sizes 64 --laps 2 --cases $cases)
	for row in $(echo $cases | tr , ' '); do
		printf '%s\n' "$text" | grep -q "^$row,64,[12],.*[1-9]" || {
			printf '%s: no figure for %s in:\n%s\n' "$program" "$row" "$text" >&2
			exit 1
		}
	done
done
if "$bin/objects-slab" --cases lifetimes.never 2>/dev/null; then
	echo 'an unknown case should be refused' >&2
	exit 1
fi
