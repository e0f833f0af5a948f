#!/bin/sh
# SPDX-License-Identifier: MIT
#
# hunts.sh COMPILER SOURCE BUILD: the bugs of examples/corruption, hunted in a server that is
# compiled as servers are, with -O2 -g. Does the first report of the command that
# docs/hunting-corruption.md advises name the guilty function, and the line of a bad free?
set -u

compiler=$1
source=$2
build=$3
# Of the 13 that libslab can find. clang leaves entry_set_text() by a jump to strcpy().
least=11
case $compiler in *clang*) least=10 ;; esac
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
functions=0 hunts=0 lines=0 frees=0

for variable in $(env | sed -n 's/^\(SLAB_[A-Z_]*\)=.*/\1/p'); do
	unset "$variable"
done
export SLAB_CONTROL=off LD_LIBRARY_PATH="$build/lib"
# shellcheck disable=SC3045 # dash has it, and bash
ulimit -c 0
"$compiler" -O2 -g -w -D_GNU_SOURCE -I "$source/include" -o "$folder/server" \
	"$source"/examples/corruption/*.c -L "$build/lib" -lslab -lpthread || exit 1

# first_report BUG OPTION...: the stacks of the first report.
first_report()
{
	timeout 60 "$folder/server" "$@" 2>&1 >/dev/null | "$build/bin/slab-symbolize" |
		awk '/^BUG /{ n++ } n == 1 && (/^\t/ || / in .* cpu=/)' >"$folder/report"
}

# hunt FUNCTION BUG OPTION...
hunt()
{
	function=$1
	shift
	hunts=$((hunts + 1))
	first_report "$@"
	if grep -qE "[[:space:]]$function(\+0x[0-9a-f]+)?( |$)" "$folder/report"; then
		functions=$((functions + 1))
		echo "$1 $2 $3: $function()"
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

hunt entry_set_text overflow --sample 1
hunt conn_receive underflow --sample 1
hunt show use-after-free-write --sample 1
hunt show use-after-free-read --sample 1
hunt echo out-of-bounds-read --sample 1
hunt upload slab-padding --sample 1
hunt note malloc-overflow --debug FZPU
hunt conn_serve leak --debug FZPU
hunt_free request.c '/* the caller does */' parse_request double-free
hunt_free connection.c 'request_release(conn->request);' conn_close double-free-threads
hunt_free worker.c 'slab_mfree(bug_is(BUG_INVALID_FREE)' note invalid-free
hunt_free worker.c 'slab_free(bug_is(BUG_WRONG_CACHE)' put wrong-cache
hunt_free worker.c 'slab_mfree(text);' hello foreign-memory

echo "$compiler -O2: the first report names the guilty function of $functions of $hunts bugs," \
	"and the line of $lines of $frees bad frees"
[ $functions -ge $least ] && [ $lines -eq $frees ]
