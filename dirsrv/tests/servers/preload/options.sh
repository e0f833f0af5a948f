#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The environment variables of libslab-389ds.so: a line about a wrong value.
# usage: options.sh LIBRARY PROGRAM
set -eu

library=$1 program=$2
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

fail()
{
	echo "options: $*"
	exit 1
}

# says EXPECTED VARIABLE=VALUE
says()
{
	env "$2" LD_PRELOAD="$library" "$program" --gtest_filter='*FreeTakes*' 2>"$tmp/said" >"$tmp/out" ||
		fail "the program fails with $2"
	[ "$(cat "$tmp/said")" = "$1" ] || fail "$2: $(cat "$tmp/said")"
}

says "libslab-389ds: SLAB_389DS_NAMES=some is not valid; accepted: types, all; using all" \
	SLAB_389DS_NAMES=some
for value in 1025 -1 many 10x; do
	says "libslab-389ds: SLAB_389DS_CACHES=$value is not valid; accepted: a number from 0 to 1024; using 128" \
		SLAB_389DS_CACHES=$value
done
says "" SLAB_389DS_CACHES=1024
says "" SLAB_389DS_NAMES=
