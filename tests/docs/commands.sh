#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The slabinfo commands of docs/slabinfo.md, against the program that it describes. Commands
# that go on for ever get an end; those of a core file, and of jq where it is missing, are
# left out.
# usage: commands.sh PROGRAM-FOLDER DOCUMENT
set -eu

programs=$1 document=$2
tmp=$(mktemp -d)
SLAB_RUNTIME_DIR=$tmp/run
PATH=$programs:$PATH
export SLAB_RUNTIME_DIR PATH
mkdir "$SLAB_RUNTIME_DIR"
cd "$tmp"
directory --seconds 900 --entries 2000 --slabinfo off >log 2>&1 </dev/null &
directory=$!
trap 'kill $directory; rm -rf "$tmp"' EXIT

# Until its workers work: ctest's time limit says when that takes too long.
until slabinfo -p "$directory" -r db.entry 2>/dev/null | grep -q '^cache_hits  *[1-9]'; do
	kill -0 $directory
	sleep 0.1
done

sed -nE -e 's/^    \$ (slabinfo .*)$/\1/p' -e 's/^    (slabinfo .*\|.*)$/\1/p' "$document" | grep -v -e '--core' |
	sed -E 's/  +#.*//; s/--top$/--top=0.1 -N 1 | head -n 3/
		s/--interval=60/--interval=0.1 -N 2/; s/ a b / before.json after.json /' >commands
[ "$(wc -l <commands)" -gt 25 ]
failures=0
while read -r line; do
	case $line in
	*'| jq '*) command -v jq >/dev/null || continue ;;
	esac
	wanted=0
	case $line in
	*.objects=*) wanted=2 ;;
	esac
	status=0
	sh -c "$line" >out 2>&1 </dev/null || status=$?
	[ "$status" = "$wanted" ] || {
		echo "commands: $line: status $status"
		cat out
		failures=$((failures + 1))
	}
done <commands
[ $failures = 0 ]
