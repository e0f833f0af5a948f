#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Memory of libslab that goes to the wrong free is a warning of gcc: the right
# pairs compile, each wrong pair does not.
# usage: mismatch.sh CC INCLUDE-FOLDER
set -eu

cc=$1 include=$2
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# compile BODY: a function with this body; the compiler's words go to $tmp/log.
compile()
{
	cat >"$tmp/pair.c" <<-END
		#include <stdlib.h>
		#include <slab/malloc.h>
		void pair(struct slab_cache *c);
		void pair(struct slab_cache *c)
		{
			(void)c;
			$1
		}
	END
	"$cc" -std=c11 -O2 -Wall -Wextra -Werror -I"$include" -c -o "$tmp/pair.o" "$tmp/pair.c" \
		>"$tmp/log" 2>&1
}

good()
{
	if ! compile "$1"; then
		cat "$tmp/log"
		echo "mismatch: a right pair gives a warning: $1"
		exit 1
	fi
}

bad()
{
	if compile "$1" || ! grep -q 'Werror=mismatched-dealloc' "$tmp/log"; then
		cat "$tmp/log"
		echo "mismatch: no -Wmismatched-dealloc for: $1"
		exit 1
	fi
}

good 'slab_free(c, slab_alloc(c));'
good 'slab_mfree(slab_malloc(8));'
bad 'free(slab_alloc(c));'
bad 'free(slab_zalloc(c));'
bad 'free(slab_malloc(8));'
bad 'slab_free(c, malloc(8));'
bad 'slab_mfree(slab_alloc(c));'
