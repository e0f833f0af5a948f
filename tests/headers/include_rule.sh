#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The include rule refuses what it is there for between the rooms of slab/.
# usage: include_rule.sh PROJECT
set -eu

project=$1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir -p "$tmp/tools/lint" "$tmp/include/slab" "$tmp/cpu_cache"
cp "$project/tools/lint/layers" "$tmp/tools/lint/"
cd "$tmp"
for room in base core debug memory stats control; do
	mkdir -p "slab/$room"
	: >"slab/$room/$room.h"
	: >"slab/$room/own.h"
done
: >cpu_cache/cpu_cache.h
: >include/slab/slab.h

# is STATUS FILE INCLUDE [TEXT]: what the rule says of a FILE that includes this.
is()
{
	echo "#include $3" >"$2"
	status=0
	sh "$project/tools/lint/include-rule" "$tmp" >log 2>&1 || status=$?
	grep -qF "${4-}" log || [ $# -lt 4 ] || status="$status, without the text"
	if [ "$status" != "$1" ]; then
		cat log
		echo "include_rule: $2 with $3: expected $1 ${4-}, got $status"
		exit 1
	fi
	rm "$2"
}

is 0 slab/core/a.c '"core/own.h"'
is 0 slab/core/a.c '"base/base.h"'
is 0 slab/core/a.c '"base/own.h"'
is 0 slab/core/a.c '"cpu_cache.h"'
is 0 slab/core/a.c '<slab/slab.h>'
is 1 slab/core/a.c '"own.h"' 'slab/core/a.c:1: "own.h" is to be written with its room'
is 1 slab/core/a.c '"core/none.h"' 'is no file that this folder may use'
is 1 slab/core/a.c '"../base/base.h"' 'climbs out'
is 1 slab/core/a.c '"debug/debug.h"' 'slab/core/a.c:1: "debug/debug.h" is above core'
is 1 slab/core/a.c '"./debug/debug.h"' 'climbs out'
is 1 slab/core/a.c '<debug/debug.h>' 'is to be written in quotes'
is 1 slab/core/a.c '/* up */ "debug/debug.h" // up' '"debug/debug.h" is above core'
is 1 slab/core/a.h '"debug/debug.h"' 'slab/core/a.h:1: "debug/debug.h" is above core'
is 1 slab/stats/a.c '"memory/memory.h"' 'slab/stats/a.c:1: "memory/memory.h" is apart from stats'
is 1 slab/memory/a.c '"stats/stats.h"' 'is above memory'
is 0 slab/control/a.c '"stats/stats.h"'
is 0 slab/control/a.c '"memory/memory.h"'
is 0 slab/control/a.c '<sys/epoll.h>'
is 1 slab/core/a.c '<sys/epoll.h>' 'slab/core/a.c:1: <sys/epoll.h> is not for core'
is 1 slab/memory/a.c '<urcu/call-rcu.h>' 'is not for memory'

# shellcheck disable=SC2016
printf '# base\n\nPublic headers: `base.h`,\n`text.h`.\n\nInvariants: none of `own.h`.\n' \
	>slab/base/README.md
is 0 slab/core/a.c '"base/base.h"'
is 0 slab/base/a.c '"base/own.h"'
is 1 slab/core/a.c '"base/own.h"' '"base/own.h" is not listed as public in slab/base/README.md'

echo '#include"debug/debug.h"' >slab/core/b.c
is 1 slab/core/a.c '<stdio.h>' 'slab/core/b.c:1: "debug/debug.h" is above core'
rm slab/core/b.c

mkdir slab/attic slab/core/sub
is 1 slab/core/sub/a.c '<stdio.h>' 'slab/core/sub/a.c stands in no room'
is 1 slab/a.c '<stdio.h>' 'slab/a.c stands in no room'
is 1 slab/attic/a.c '<stdio.h>' 'slab/attic: no room of tools/lint/layers'
