/* SPDX-License-Identifier: MIT */
/*
 * Where objects come from: libslab's typed caches, or malloc.
 *
 * The choice is made when a file is compiled, so that each side calls its
 * allocator directly. The sources are built twice, into `directory` and into
 * `directory-malloc`, which does not even link libslab. Both headers define
 *
 *   MEMORY_NAME            what the screen calls this side
 *   MEMORY_IS_MALLOC       0 or 1
 *   memory_new_X()         an object; never NULL: without memory the program ends
 *   memory_free_X(object)  for X = pblock, operation, entry, attribute, value, dn
 *   memory_new_text(n)     n bytes for strings and values
 *   memory_free_text(p)
 *
 * pblocks and operations come zeroed, entries with an initialised lock and
 * otherwise undefined, all others undefined.
 */
#ifndef DIRECTORY_MEMORY_H
#define DIRECTORY_MEMORY_H

#include "objects.h"

struct result;

/* memory_setup: get ready; 0, or -1 after saying what failed. */
int memory_setup(void);

/* memory_teardown: all objects have been freed: 0 when the allocator agrees,
 * -1 after saying which cache still holds some. */
int memory_teardown(void);

/* memory_caches: what each cache holds now, into result->cache[]. */
void memory_caches(struct result *result);

/* memory_exhausted: say so in one sentence and exit with status 1. */
_Noreturn void memory_exhausted(size_t bytes);

static inline void *memory_or_exit(void *object, size_t bytes)
{
	if (__builtin_expect(!object, 0))
		memory_exhausted(bytes);
	return object;
}

#ifdef DIRECTORY_ON_MALLOC
#include "memory_malloc.h"
#else
#include "memory_slab.h"
#endif

#endif /* DIRECTORY_MEMORY_H */
