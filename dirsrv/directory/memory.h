/* SPDX-License-Identifier: MIT */
/*
 * Where memory comes from: libslab, or malloc.
 *
 * Both programs have the same sources, down to those of libslab_dirsrv, and call the
 * functions of <slab/slab.h> and <slab/malloc.h>. `directory` is linked with the
 * libraries; `directory-malloc` with ../malloc_side, where these functions are malloc(),
 * calloc() and free(), and the flat pblock. It does not link libslab at all.
 */
#ifndef DIRECTORY_MEMORY_H
#define DIRECTORY_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <slab/malloc.h>

struct result;

extern const char memory_name[]; /* what the screen calls this side */
extern const bool memory_is_malloc;

/* memory_caches: what each cache holds now, into result->cache[]. */
void memory_caches(struct result *result);

/* memory_pblocks: how many objects the caches of pblocks hold. */
uint64_t memory_pblocks(void);

/* memory_object_size: bytes of the objects of a cache; 0: there is none. */
size_t memory_object_size(const char *cache);

/* memory_exhausted: say so in one sentence and exit with status 1. */
_Noreturn void memory_exhausted(void);

/* memory_or_exit: what was allocated; without memory the program ends. */
static inline void *memory_or_exit(void *object)
{
	if (__builtin_expect(!object, 0))
		memory_exhausted();
	return object;
}

#endif /* DIRECTORY_MEMORY_H */
