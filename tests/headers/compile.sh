#!/bin/sh
# SPDX-License-Identifier: MIT
#
# A public header compiles alone, twice included, in every language it is for.
# usage: compile.sh CC CXX INCLUDE-FOLDER HEADER
set -eu

cc=$1 cxx=$2 include=$3 header=$4
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

try()
{
	file=$1
	shift
	printf '#include <slab/%s>\n#include <slab/%s>\n' "$header" "$header" >"$tmp/$file"
	echo "$* $header"
	"$@" -Wall -Wextra -Wpedantic -Werror -O2 -I"$include" -c -o "$tmp/out.o" \
		"$tmp/$file"
}

case $header in
*.h) try alone.c "$cc" -std=c11 ;;
esac
for std in 14 17 20; do
	try alone.cc "$cxx" -std=c++$std
done
