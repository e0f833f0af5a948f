/* SPDX-License-Identifier: MIT */
/*
 * Call sites: which cache serves the allocations of a size that one place of the code makes. A
 * lookup takes no lock. A type of one size has a cache from its first allocation on. Sites of
 * types of many sizes, and those that no type is known of, get one when they have allocated often
 * enough: what a server allocates only when it starts shall not use up the number of caches.
 */
#ifndef PRELOAD_SITES_H
#define PRELOAD_SITES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <slab/slab.h>

#include "names.h"

#define SITE_OFTEN 64u       /* of a type of many sizes */
#define SITE_VERY_OFTEN 512u /* of no known type */

struct site {
	uint64_t key;    /* address and size; 0: unused */
	uintptr_t state; /* a cache, SITE_UNTYPED, or how often it has allocated */
};

/* A site whose memory malloc() serves for good. */
#define SITE_UNTYPED ((uintptr_t)4095)
#define SITE_IS_CACHE(state) ((state) > SITE_UNTYPED)

#define SITE_ROOM 8192u /* 2^13: site_place() */

extern struct site sites[SITE_ROOM];

/* Are allocations counted? And how many were beyond SIZE_LIMIT. */
extern bool sites_are_counted;
extern unsigned long sites_large;

static inline uint64_t site_key(const void *caller, size_t size)
{
	return (uint64_t)(uintptr_t)caller << 8 | (size + 7) / 8;
}

/* Where the search for a key begins. */
static inline unsigned site_place(uint64_t key)
{
	return (unsigned)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 51);
}

/* site_cache() of a site that has no cache, or stands elsewhere. */
struct slab_cache *site_cache_slow(const void *caller, size_t size);

/* The cache for `size` bytes for code that returns to `caller`, NULL: malloc() serves them. */
static inline struct slab_cache *site_cache(const void *caller, size_t size)
{
	const uint64_t key = site_key(caller, size);
	const struct site *site = &sites[site_place(key)];
	uintptr_t state;

	if (__builtin_expect(size - 1 < SIZE_LIMIT, 1) &&
	    __builtin_expect(__atomic_load_n(&site->key, __ATOMIC_RELAXED) == key, 1) &&
	    __builtin_expect(!sites_are_counted, 1)) {
		state = __atomic_load_n(&site->state, __ATOMIC_ACQUIRE);
		if (__builtin_expect(SITE_IS_CACHE(state), 1))
			return (struct slab_cache *)state;
	}
	return site_cache_slow(caller, size);
}

/* The cache for a string of `size` bytes, NULL as above. */
struct slab_cache *string_cache(size_t size);

/* For the summary: what a site of the table has allocated since counting began. */
unsigned long site_allocs(const struct site *site);

/* Likewise of strings of this number of words; false: there are no longer ones. */
bool string_allocs(size_t words, struct site *site, unsigned long *allocs);

#endif /* PRELOAD_SITES_H */
