#!/bin/sh
# SPDX-License-Identifier: MIT
#
# smoke.sh BIN: a lap of each case of mixed lifetimes and of a short recording prints its
# rows. Takes seconds.
set -eu
bin=$1
SLAB_RUNTIME_DIR=$(mktemp -d)
export SLAB_RUNTIME_DIR
trap 'rm -rf "$SLAB_RUNTIME_DIR"' EXIT
trace=$SLAB_RUNTIME_DIR/objects.trace
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

OBJECTS_TRACE=$trace OBJECTS_TRACE_EVENTS=200000 SLAB_CONTROL=off \
	LD_PRELOAD=$bin/../lib/record_objects.so "$bin/directory" --slabinfo off \
	--ldif "$(dirname "$0")/../../dirsrv/directory/people.ldif" --entries 1000 \
	--threads 2 --seconds 300 >/dev/null 2>&1
for program in objects-malloc objects-slab objects-empty; do
	text=$("$bin/$program" --trace "$trace" --laps 2 --cases trace,trace.elapsed)
	for row in trace trace.elapsed; do
		printf '%s\n' "$text" | grep -q "^$row,0,[1-9],.*[1-9]" || {
			printf '%s: no figure for %s in:\n%s\n' "$program" "$row" "$text" >&2
			exit 1
		}
	done
done

# refused STATUS TEXT OPTION...: objects-slab ends with this status, and TEXT in one line.
refused()
{
	wanted=$1 expected=$2
	shift 2
	status=0
	text=$("$bin/objects-slab" "$@" 2>&1 >/dev/null) || status=$?
	case $status:$(printf '%s\n' "$text" | wc -l):$text in
	"$wanted:1:"*"$expected"*) ;;
	*)
		printf 'objects-slab %s: status %s and: %s\n' "$*" "$status" "$text" >&2
		exit 1
		;;
	esac
}

refused 2 'needs --trace FILE' --cases trace
refused 1 'No such file' --trace "$trace.missing"
head -c 1000000 "$trace" >"$trace.part"
refused 1 'it is truncated' --trace "$trace.part"
refused 1 'it is no trace' --trace "$0"
