/* SPDX-License-Identifier: MIT */
/* Creation of caches by size, the report of leaks, and the fork hooks. */
#pragma once

#include <slab/slab.h>
#include <stdbool.h>
#include <stddef.h>

/* The arguments of slab_cache_create_sized(), or those of a definition. */
struct cache_request {
	const char *name;
	size_t size;
	const struct slab_cache_args *args;
	size_t args_size;
	size_t align; /* if args has none */
	uint64_t flags;
	bool defined; /* return the cache of an equal definition, if there is one (defined.h) */
};

/* The work of slab_cache_create_sized(). Reports name `caller`. */
struct slab_cache *cache_create(const struct cache_request *request, const void *caller);
/* Create the cache of a size class, unless *place has it already; *place is atomic. NULL: no
 * memory. */
struct slab_cache *cache_create_by_size(const char *name, size_t size, struct slab_cache **place);
/* Report the objects in use of a dying cache. The caller holds no lock. */
void cache_report_leaks(struct slab_cache *cache);
/* SLAB_LEAK_CHECK=exit: report the objects in use of all caches. Other threads may use them. */
void cache_report_leaks_at_exit(void);
/* Register the fork hooks (fork.c), unless an earlier call did so. */
void slab_fork_init(void);
