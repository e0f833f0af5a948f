#!/bin/sh
# SPDX-License-Identifier: MIT
#
# dirsrv/ by itself, with an installed libslab.
# usage: alone.sh CMAKE TOP-FOLDER BUILD-FOLDER CC CXX
set -eu

cmake=$1 top=$2 build=$3 cc=$4 cxx=$5
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

"$cmake" --install "$build" --prefix "$tmp/prefix" >"$tmp/log"
run()
{
	"$@" >"$tmp/log" 2>&1 || { cat "$tmp/log"; exit 1; }
}

run "$cmake" -S "$top/dirsrv" -B "$tmp/build" -DCMAKE_PREFIX_PATH="$tmp/prefix" \
	-DCMAKE_C_COMPILER="$cc" -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_BUILD_TYPE=Debug
run "$cmake" --build "$tmp/build" --target slab_dirsrv pblock-replay
ldd "$tmp/build/bin/pblock-replay" >"$tmp/libraries"
for library in build/lib/libslab_dirsrv prefix/lib.*/libslab; do
	grep -q "$tmp/$library\.so" "$tmp/libraries" || { cat "$tmp/libraries"; exit 1; }
done
