/* SPDX-License-Identifier: MIT */
/*
 * What an allocation does at a limit (pages/account.h): it takes back free memory that other
 * CPUs and caches hold, and tries again. When that does not help, it fails and calls the
 * limit handler.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct slab_cache;

/* The node on which the caller wants an object. */
struct placement {
	int node;    /* -1: any */
	bool strict; /* no other node will do */
};

/*
 * limit_make_room: an allocation failed; take back free memory. At the limit of a cache, take what
 * its CPUs and its guard pages hold; otherwise, shrink all caches. The caller holds no lock.
 * ret_obj, if it is not NULL, gets an object of the cache, or NULL: other threads may take what
 * became free before the caller tries again. false: there was nothing to take back, or the cause of
 * the failure is not a lack of memory.
 */
bool limit_make_room(struct slab_cache *cache, const struct placement *placement, void **ret_obj);

/* The most retries of an allocation, since other threads may take the memory that was made
 * free. The higher number applies while each retry finds some memory. */
#define LIMIT_TRIES 3
#define LIMIT_TRIES_WITH_ROOM 16

/* Take back all free memory of a cache. Returns the number of slabs that went to the page layer. */
unsigned limit_shrink(struct slab_cache *cache);
/* Call the handler for the soft limit. The caller holds no lock. */
void limit_tell(size_t limit);
/* An allocation of `bytes` from `cache` (NULL: a large one) failed for good. Report who holds the
 * memory; if a limit was the cause, count the failure and call the handler. Sets errno to ENOMEM.
 * The caller holds no lock. */
void limit_failed(struct slab_cache *cache, size_t bytes);
