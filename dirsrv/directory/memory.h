/* SPDX-License-Identifier: MIT */
/*
 * Where memory comes from: libslab, or malloc.
 *
 * Both programs have the same sources, down to those of libslab_dirsrv, and call the
 * functions of <slab/slab.h> and <slab/malloc.h>. `directory` is linked with the
 * libraries; `directory-malloc` with ../malloc_side, where these functions are malloc(),
 * calloc() and free(). It does not link libslab at all.
 */
#pragma once

#include "posix.h"

#include <slab/malloc.h>

extern const char memory_name[]; /* what the screen calls this side */

/* memory_pblocks: how many objects the caches of pblocks hold. */
uint64_t memory_pblocks(void);

/* memory_exhausted: say so in one sentence and exit with status 1. */
_Noreturn void memory_exhausted(void);

/* memory_or_exit: what was allocated; without memory the program ends. */
static inline void *memory_or_exit(void *object)
{
	if (__builtin_expect(!object, 0))
		memory_exhausted();
	return object;
}
