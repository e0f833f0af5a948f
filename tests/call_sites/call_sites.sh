#!/bin/sh
# SPDX-License-Identifier: MIT
#
# call_sites.sh SOURCE BUILD COMPILER KIND: in a program of 20 types (types.awk), do reports name
# the function that freed, whatever the compiler merged? For calls of slab_free() itself gcc needs the options
# that docs/hunting-corruption.md advises.
set -u

source=$1
build=$2
compiler=$3
kind=$4
types=20
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failures=0

for variable in $(env | sed -n 's/^\(SLAB_[A-Z_]*\)=.*/\1/p'); do
	unset "$variable"
done
export SLAB_CONTROL=off SLAB_DEBUG=FU LD_LIBRARY_PATH="$build/lib"

types()
{
	type=0
	while [ $type -lt $types ]; do
		echo $type
		type=$((type + 1))
	done
}

# A report of each type as "t0 drop_0". Without optimisation drop_0() is not inlined: drop_0+0x18.
reports()
{
	for type in $(types); do
		"$folder/program" "$type" 2>&1
	done | "$build/bin/slab-symbolize" |
		sed -n -e 's/^BUG \([^:]*\):.*/\1/p' -e 's/^Detected in \([^ +]*\).*/\1/p' | paste -d ' ' - -
}

for type in $(types); do
	echo "t$type drop_$type"
done >"$folder/expected"
language=c
[ "$kind" = class ] && language=c++
case "$kind ${compiler##*/}" in
'raw gcc'*) options='-fno-optimize-sibling-calls -fno-crossjumping' ;;
*) options= ;;
esac
awk -v kind="$kind" -v types=$types -f "$source/tests/call_sites/types.awk" >"$folder/program.c"
for level in -O0 -O2 -Os; do
	# shellcheck disable=SC2086 # words
	"$compiler" -x $language -g $level $options -Wall -Wextra -Werror -I "$source/include" \
		-o "$folder/program" "$folder/program.c" -L "$build/lib" -lslab || exit 1
	reports >"$folder/reported"
	diff "$folder/expected" "$folder/reported" || {
		echo "FAILED: $compiler $level"
		failures=$((failures + 1))
	}
done
[ $failures -eq 0 ]
