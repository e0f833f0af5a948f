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

optimize=-O2

# compile BODY: a function with this body; the compiler's words go to $tmp/log.
compile()
{
	cat >"$tmp/pair.c" <<-END
		#include <stdlib.h>
		#include <slab/define.h>
		#include <slab/malloc.h>
		#include <slab/pointer.h>
		struct entry { long id; };
		SLAB_DEFINE_CACHE(entry, struct entry);
		SLAB_DEFINE_TYPED(typed, struct entry);
		void pair(struct slab_cache *c);
		void pair(struct slab_cache *c)
		{
			(void)c;
			$1
		}
	END
	"$cc" -std=c11 $optimize -Wall -Wextra -Werror -I"$include" -c -o "$tmp/pair.o" "$tmp/pair.c" \
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

# warns WARNING BODY
warns()
{
	if compile "$2" || ! grep -q "Werror=$1" "$tmp/log"; then
		cat "$tmp/log"
		echo "mismatch: no -W$1 at $optimize for: $2"
		exit 1
	fi
}

bad()
{
	warns mismatched-dealloc "$1"
}

good 'slab_free(c, slab_alloc(c));'
good 'slab_mfree(slab_malloc(8));'
bad 'free(slab_alloc(c));'
bad 'free(slab_zalloc(c));'
bad 'free(slab_malloc(8));'
bad 'slab_free(c, malloc(8));'
bad 'slab_mfree(slab_alloc(c));'

# The functions that macros define, without optimisation as well.
for optimize in -O0 -Og -O2 -Os; do
	good 'entry_free(entry_alloc());'
	good 'typed_free(c, typed_zalloc(c));'
	good 'slab_free_any(entry_alloc());'
	bad 'free(entry_alloc());'
	bad 'free(entry_zalloc());'
	bad 'entry_free(malloc(8));'
	bad 'slab_mfree(entry_alloc());'
	bad 'free(typed_alloc(c));'
	bad 'typed_free(c, malloc(8));'
	warns unused-result 'entry_alloc();'
	warns unused-result 'typed_zalloc(c);'
done

# A cache that is NULL, and a type that no cache can have.
optimize=-O2
warns nonnull 'slab_free(NULL, slab_alloc(c));'
warns nonnull '(void)!slab_alloc(NULL);'
if compile 'struct huge { char bytes[32769]; }; SLAB_DEFINE_CACHE(huge, struct huge);' ||
	! grep -q 'struct huge is larger than SLAB_MAX_OBJECT_SIZE' "$tmp/log"; then
	cat "$tmp/log"
	echo "mismatch: a type that is too large compiles"
	exit 1
fi
