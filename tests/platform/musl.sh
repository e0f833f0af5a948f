#!/bin/sh
# SPDX-License-Identifier: MIT
#
# libslab builds with musl, as libslab.so and libslab.a, and a program works with both. musl has no
# restartable sequences, so the engines are the other two. libslab_malloc.so serves a program, too.
# slabinfo reads and changes both.
# usage: musl.sh CMAKE SOURCE-FOLDER FOLDER SLABINFO    Exit status 77: musl-gcc is missing.
set -eu
# shellcheck source=SCRIPTDIR/core.sh
. "$(dirname "$0")/core.sh"

cmake=$1 source=$2 folder=$3 slabinfo=$4
command -v musl-gcc >/dev/null || {
	echo "musl.sh: musl-gcc is missing (Debian: musl-tools)"
	exit 77
}

# The kernel's headers are the system's.
mkdir -p "$folder/headers"
for name in linux asm asm-generic; do
	for place in /usr/include "/usr/include/$(gcc -print-multiarch)"; do
		[ ! -d "$place/$name" ] || ln -sfn "$place/$name" "$folder/headers/$name"
	done
done
core_build "$cmake" "$source" "$folder" -DCMAKE_C_COMPILER=musl-gcc \
	"-DCMAKE_C_FLAGS=-isystem $folder/headers"
grep -q 'This C library is not glibc' "$folder/log" || fail "it is not said that the C library is another"

compile()
{
	musl-gcc -O1 -g -Wall -Wextra -Werror -I"$source/include" \
		"$source/tests/platform/use.c" -Wl,--eh-frame-hdr "$@"
}
compile -o "$folder/use_shared" -L"$folder/lib" -lslab -Wl,-rpath,"$folder/lib"
# A group, because libgcc_eh, made for glibc, calls a function that libslab.a brings for it.
compile -o "$folder/use_static" -static -Wl,--start-group "$folder/lib/libslab.a" -lgcc_eh -lc \
	-Wl,--end-group
use_library "$folder/use_shared" cmpxchg16b mutex
use_library "$folder/use_static" cmpxchg16b mutex

# look_into PROGRAM [PRELOAD]
look_into()
{
	rm -f "$folder/input" "$folder/output"
	mkfifo "$folder/input"
	LD_PRELOAD=${2-} SLAB_RUNTIME_DIR=$folder "$1" stay <"$folder/input" >"$folder/output" &
	exec 3>"$folder/input"
	until grep -q ready "$folder/output"; do sleep 0.1; done
	"$slabinfo" -p $! | grep -q '^entry  *10 ' || fail "slabinfo does not show the cache of $1"
	if [ -n "${2-}" ]; then # which opens no control socket by itself
		"$slabinfo" -p $! | grep -q '^size-1k ' || fail "malloc() is not libslab's"
	else
		"$slabinfo" -p $! -du entry | grep -q -- '-> U' || fail "slabinfo does not change $1"
	fi
	exec 3>&-
	wait $!
}
look_into "$folder/use_shared"
look_into "$folder/use_static"
look_into "$folder/use_shared" "$folder/lib/libslab_malloc.so"
