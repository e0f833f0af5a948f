#!/bin/sh
# SPDX-License-Identifier: MIT
#
# SLAB_GLIBC=2.34: no library needs anything of a newer glibc, though this machine's compiler brings
# an unwinder that does; reports have their stacks all the same. An older glibc is refused.
# usage: glibc.sh CMAKE SOURCE-FOLDER FOLDER CC
set -eu
# shellcheck source=SCRIPTDIR/core.sh
. "$(dirname "$0")/core.sh"

cmake=$1 source=$2 folder=$3 cc=$4

core_build "$cmake" "$source" "$folder" -DCMAKE_C_COMPILER="$cc" -DSLAB_GLIBC=2.34
for library in libslab.so libslab_malloc.so; do
	[ -e "$folder/lib/$library" ] || fail "there is no $library"
	readelf -VW "$folder/lib/$library" | grep -o 'Name: GLIBC_[0-9.]*' |
		sed 's/.*_//' | sort -V | tail -n 1 >"$folder/newest"
	[ "$(printf '%s\n2.34\n' "$(cat "$folder/newest")" | sort -V | tail -n 1)" = 2.34 ] ||
		fail "$library needs glibc $(cat "$folder/newest")"
done
"$cc" -O1 -g -I"$source/include" "$source/tests/platform/use.c" -o "$folder/use" -pthread \
	-L"$folder/lib" -lslab -Wl,-rpath,"$folder/lib"
use_library "$folder/use" mutex
LD_PRELOAD=$folder/lib/libslab_malloc.so "$folder/use" >/dev/null ||
	fail "the program fails with libslab_malloc.so"

if "$cmake" -S "$source" -B "$folder/refused" -DSLAB_GLIBC=2.31 -DSLAB_BUILD_TESTS=OFF \
	-DSLAB_BUILD_BENCHMARKS=OFF >"$folder/log" 2>&1; then
	fail "2.31 is accepted"
fi
grep -q "SLAB_GLIBC is 2.34 or newer, not '2.31'" "$folder/log" || fail "2.31 is not explained"
