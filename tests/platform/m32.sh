#!/bin/sh
# SPDX-License-Identifier: MIT
#
# -m32 is refused when the project is configured, with one error message.
# usage: m32.sh CMAKE SOURCE-FOLDER
set -eu

cmake=$1 source=$2
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# CMake's own trials must not link: 32-bit libraries are rarely installed.
if "$cmake" -S "$source" -B "$tmp" -DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY \
	-DCMAKE_C_FLAGS=-m32 -DCMAKE_CXX_FLAGS=-m32 >"$tmp/log" 2>&1; then
	echo "m32: it was configured"
	exit 1
fi
grep -q 'libslab needs 64-bit pointers: -m32 and -mx32 are not supported\.' "$tmp/log" || {
	cat "$tmp/log"
	exit 1
}
