#!/bin/sh
# SPDX-License-Identifier: MIT
#
# <slab/dirsrv/slapi_ch.h> declares the functions that a server's header declares, and a file
# may include both, in either order, in C and C++.
# usage: slapi_ch.sh CC CXX INCLUDE-FOLDER
set -eu

cc=$1 cxx=$2 include=$3
here=$(cd "$(dirname "$0")" && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

cat >"$tmp/use.c" <<'END'
#ifdef SLAB_FIRST
#include <slab/dirsrv/slapi_ch.h>
#include "slapi_stub.h"
#else
#include "slapi_stub.h"
#include <slab/dirsrv/slapi_ch.h>
#endif

char *use(void);

/* The functions are external: their addresses are constants of the linker. */
char *(*const table[])(unsigned long) = {slapi_ch_malloc};

char *use(void)
{
	char *block = slapi_ch_realloc(slapi_ch_malloc(8), 16);
	void *other = slapi_ch_calloc(2, 8), *aligned = slapi_ch_memalign(100, 64);

	slapi_ch_free(&other);
	slapi_ch_free(&aligned);
	slapi_ch_free_string(&block);
	return slapi_ch_strdup("text");
}
END

try()
{
	for order in -DSLAB_FIRST -DSLAB_LAST; do
		echo "$* $order"
		"$@" "$order" -Wall -Wextra -Werror \
			-O2 -I"$include" -I"$here" -c -o "$tmp/use.o" "$tmp/use.c" 2>"$tmp/log" || {
			cat "$tmp/log"
			exit 1
		}
		# Both names are undefined in the object: neither header defines them.
		nm "$tmp/use.o" | grep -q ' U slapi_ch_malloc$'
	done
}

try "$cc" -std=c11
for std in 14 17 20; do
	try "$cxx" -x c++ -std=c++$std
done
