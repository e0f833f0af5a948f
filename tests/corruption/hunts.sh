#!/bin/sh
# SPDX-License-Identifier: MIT
#
# hunts.sh COMPILER SOURCE BUILD: the bugs of examples/corruption, hunted in a server that is
# compiled as servers are, with -O2 -g. Does the first report of the command that
# docs/hunting-corruption.md advises name the guilty function, and the line of a bad free? If it does
# not, does the second report of the same run? Is each hunt, the names included, over in 3 seconds?
set -u

compiler=$1
source=$2
build=$3
# Of the 14 that libslab reports. The first report of underflow is made by the free; that of leak has
# the allocation.
least=12
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
functions=0 later=0 hunts=0 lines=0 frees=0 longest=0

for variable in $(env | sed -n 's/^\(SLAB_[A-Z_]*\)=.*/\1/p'); do
	unset "$variable"
done
export SLAB_CONTROL=off LD_LIBRARY_PATH="$build/lib"
# shellcheck disable=SC3045 # dash has it, and bash
ulimit -c 0

# build_server OPTION...
build_server()
{
	"$compiler" "$@" -O2 -g -w -D_GNU_SOURCE -I "$source/include" -o "$folder/server" \
		"$source"/examples/corruption/*.c -L "$build/lib" -lslab -lpthread
}

# run BUG OPTION...
run()
{
	begin=$(date +%s%3N)
	timeout 60 "$folder/server" "$@" 2>&1 >"$folder/said" | "$build/bin/slab-symbolize" >"$folder/log"
	took=$(($(date +%s%3N) - begin))
}

# names N FUNCTION: is it in the stacks of report N?
names()
{
	awk -v n="$1" '/^BUG /{ i++ } i == n && (/^\t/ || / in .* cpu=/)' "$folder/log" >"$folder/report"
	grep -qE "[[:space:]]$2(\+0x[0-9a-f]+)?( |$)" "$folder/report"
}

# hunt FUNCTION BUG OPTION...
hunt()
{
	function=$1
	shift
	hunts=$((hunts + 1))
	run "$@"
	[ $took -le $longest ] || longest=$took
	if names 1 "$function"; then
		functions=$((functions + 1))
		echo "$1 $2 $3: $function()"
	elif names 2 "$function"; then
		later=$((later + 1))
		echo "$1 $2 $3: $function() in the second report"
	else
		echo "$1 $2 $3: not $function()"
	fi
}

# hunt_free FILE TEXT FUNCTION BUG: a bad free in the line of FILE that has TEXT.
hunt_free()
{
	file=$1
	line=$(grep -nF "$2" "$source/examples/corruption/$1" | cut -d : -f 1)
	shift 2
	hunt "$@" --debug FZPU
	frees=$((frees + 1))
	if grep -q "$1.*($file:$line)" "$folder/report"; then
		lines=$((lines + 1))
	else
		echo "the report of $2 has not the line $file:$line"
		cat "$folder/report"
	fi
}

build_server || exit 1
hunt entry_set_text overflow --sample 1
hunt conn_receive underflow --sample 1
hunt show use-after-free-write --sample 1
hunt show use-after-free-read --sample 1
hunt echo out-of-bounds-read --sample 1
hunt upload slab-padding --sample 1
hunt note malloc-overflow --debug FZPU
hunt greet realloc-overflow --debug FZPU
hunt conn_serve leak --debug FZPU
hunt_free request.c '/* the caller does */' parse_request double-free
hunt_free connection.c 'request_release(conn->request);' conn_close double-free-threads
hunt_free worker.c 'slab_mfree(bug_is(BUG_INVALID_FREE)' note invalid-free
hunt_free worker.c 'slab_free(bug_is(BUG_WRONG_CACHE)' put wrong-cache
hunt_free worker.c 'slab_mfree(text);' hello foreign-memory

# Two bugs that libslab does not report: poison shows the one, ThreadSanitizer the other.
failed=0
fail()
{
	echo "FAILED: $1"
	cat "$folder/said" "$folder/log"
	failed=1
}

run uninitialised --debug P
grep -q '^1< 7740398493674204011 times' "$folder/said" || fail 'uninitialised: no poison is read'
run data-race --debug FZPU
grep -q '^BUG' "$folder/log" && fail 'data-race: a report'
if build_server -fsanitize=thread 2>/dev/null; then
	run data-race
	grep -q '^SUMMARY: ThreadSanitizer: data race .*worker.c:[0-9]' "$folder/log" ||
		fail 'data-race: ThreadSanitizer does not report it'
	run none
	grep -q ThreadSanitizer "$folder/log" && fail 'none: ThreadSanitizer reports a race'
else
	echo "$compiler has no ThreadSanitizer"
fi

echo "$compiler -O2: the first report names the guilty function of $functions of $hunts bugs, the" \
	"second that of $later more; the first the line of $lines of $frees bad frees;" \
	"the longest hunt took $longest ms"
[ $functions -ge $least ] && [ $later -ge 1 ] && [ $lines -eq $frees ] && [ $longest -le 3000 ] &&
	[ $failed -eq 0 ]
