#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The symbol rule refuses what it is there for: calls and data of a higher room, rooms
# that stand apart, circles, files in no room. Each case is a small tree of its own.
# usage: symbol_rule.sh CC PROJECT
set -eu

cc=$1 project=$2
rule=$project/tools/lint/symbol-rule
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

begin()
{
	rm -rf "$tmp/tree"
	mkdir -p "$tmp/tree/build" "$tmp/tree/slab"
	cp "$project/slab/layers" "$tmp/tree/slab/"
	echo '[]' >"$tmp/tree/build/compile_commands.json"
}

# add FILE TEXT: a file of the tree, and its place in the list of compile commands.
add()
{
	mkdir -p "$tmp/tree/${1%/*}"
	echo "$2" >"$tmp/tree/$1"
	object=$(echo "$1" | tr / _).o
	list=$tmp/tree/build/compile_commands.json
	separator=,
	[ "$(cat "$list")" != '[]' ] || separator=
	sed "\$s|]\$|$separator\\n{\"directory\": \"$tmp/tree/build\", \"file\": \"../$1\", \"command\": \"cc -o $object -c ../$1\"}]|" \
		"$list" >"$list.new"
	mv "$list.new" "$list"
}

# compiled FILE TEXT: the same, with its object.
compiled()
{
	add "$1" "$2"
	"$cc" -w -c -o "$tmp/tree/build/$object" "$tmp/tree/$1"
}

# is STATUS [TEXT...]: what the rule says of the tree: its exit status and all these texts.
is()
{
	expected=$1
	shift
	status=0
	"$rule" "$tmp/tree" >"$tmp/log" 2>&1 || status=$?
	for text in "$@"; do
		grep -qF "$text" "$tmp/log" || status="$status, without '$text'"
	done
	[ "$status" = "$expected" ] || {
		cat "$tmp/log"
		echo "symbol_rule: expected $expected, got $status"
		exit 1
	}
}

begin
compiled slab/core/a.c 'int low(void); int a(void) { return low(); }'
compiled slab/base/low.c 'int low(void) { return 1; }'
compiled tools/one/main.c 'int a(void); int main(void) { return a(); }'
compiled tools/two/a.c 'int main(void); int a(void) { return main(); }'
is 0

begin
compiled slab/core/a.c 'int high(void); int a(void) { return high(); }'
compiled slab/debug/high.c 'int high(void) { return 1; }'
is 1 'slab/core/a.c uses high of slab/debug/high.c: debug is above core'
compiled slab/core/b.c 'extern int word; int *b(void) { return &word; }'
compiled slab/debug/word.c 'int word;'
is 1 'slab/core/b.c uses word of slab/debug/word.c: debug is above core'

begin
compiled cpu_cache/a.c 'int low(void); int a(void) { return low(); }'
compiled slab/base/low.c 'int low(void) { return 1; }'
is 1 'cpu_cache/a.c uses low of slab/base/low.c: base is above cpu_cache'

begin
compiled slab/stats/a.c 'int low(void); int a(void) { return low(); }'
compiled slab/memory/low.c 'int low(void) { return 1; }'
is 1 'slab/stats/a.c uses low of slab/memory/low.c: memory is apart from stats'

begin
compiled slab/core/a.c 'extern int b; int a(void) { return b; }'
compiled slab/core/b.c 'int c(void); int (*b)(void) = c;'
compiled slab/core/c.c 'int a(void); int c(void) { return a(); }'
compiled slab/core/apart.c 'int a(void); int apart(void) { return a(); }'
is 1 'slab/core: a circle of 3 files' 'slab/core/a.c -> slab/core/b.c: b' \
	'slab/core/b.c -> slab/core/c.c: c' 'slab/core/c.c -> slab/core/a.c: a'

begin
compiled dirsrv/entry/a.c 'int b(void); int a(void) { return b(); }'
compiled dirsrv/pblock/b.c 'int a(void); int b(void) { return a(); }'
is 1 'dirsrv: a circle of 2 files' 'dirsrv/entry/a.c -> dirsrv/pblock/b.c: b'

begin
compiled slab/alone.c 'int alone;'
is 1 'slab/alone.c stands in no room'

begin
compiled slab/base/a.c 'int a;'
add slab/base/b.c 'int b;'
is 2 'not compiled: slab/base/b.c'
