/* SPDX-License-Identifier: MIT */
/* Creating and destroying caches. */
#ifndef SLAB_CACHE_CREATE_H
#define SLAB_CACHE_CREATE_H

#include <stddef.h>

struct slab_cache;
/* slab_cache_create() for one of <slab/malloc.h>'s caches, unless *place has it already;
 * NULL: no memory. */
struct slab_cache *cache_create_by_size(const char *name, size_t size, struct slab_cache **place);
/* Report the objects of a dying cache, with no lock held. */
void cache_report_leaks(struct slab_cache *cache);
/* Fork handlers (fork.c). */
void slab_fork_init(void);

#endif /* SLAB_CACHE_CREATE_H */
