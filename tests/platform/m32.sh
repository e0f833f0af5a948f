#!/bin/sh
# SPDX-License-Identifier: MIT
#
# -m32 and -mx32 are refused with one sentence: when the project is configured, and by each public
# header in a program.
# usage: m32.sh CMAKE SOURCE-FOLDER CC HEADER...
set -eu

cmake=$1 source=$2 cc=$3
shift 3
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
sentence='libslab needs 64-bit pointers: -m32 and -mx32 are not supported\.'

check()
{
	[ "$(grep -c "$sentence" "$tmp/log")" -ge 1 ] || {
		echo "m32: $* is refused, but without the sentence"
		cat "$tmp/log"
		exit 1
	}
}

for option in -m32 -mx32; do
	# CMake's own trials must not link: 32-bit libraries are rarely installed.
	if "$cmake" -S "$source" -B "$tmp/$option" -DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY \
		-DCMAKE_C_FLAGS=$option -DCMAKE_CXX_FLAGS=$option >"$tmp/log" 2>&1; then
		echo "m32: it was configured with $option"
		exit 1
	fi
	check "the project with $option"
	for header in "$@"; do
		case $header in
		*.hpp) language=c++ ;;
		*) language=c ;;
		esac
		if "$cc" $option -x $language -fsyntax-only -I"$source/include" "$source/$header" \
			>"$tmp/log" 2>&1; then
			echo "m32: $header compiles with $option"
			exit 1
		fi
		check "$header with $option"
	done
done
