/* SPDX-License-Identifier: MIT */
/* What an allocation does at a limit (pages/account.h). */
#ifndef SLAB_MEMORY_LIMIT_H
#define SLAB_MEMORY_LIMIT_H

#include <stdbool.h>
#include <stddef.h>

struct slab_cache;

/* The node on which an object is wanted. */
struct placement {
	int node;    /* -1: any */
	bool strict; /* on no other one */
};

/*
 * limit_make_room: an allocation failed: take back what is free. For the limit of a cache
 * that is what its other CPUs and its guard pages hold; otherwise also that of all
 * caches, and their empty slabs. Bytes of slabs; -1: there is nothing to be done that
 * way, or another thread holds the lock for long. With no lock held.
 */
long limit_make_room(struct slab_cache *cache, const struct placement *placement);

/* The most retries of an allocation: other threads may take what was made free. More of
 * them as long as each finds something. */
#define LIMIT_TRIES 3
#define LIMIT_TRIES_WITH_ROOM 16

/* Take back all that is free of a cache, waiting for its lock no longer than an
 * allocation may: bytes of the slabs that went to the page layer. */
size_t limit_shrink(struct slab_cache *cache);
/* An allocation failed for good, of `cache` or a large one: count it and call the
 * handler if that was a limit's doing. errno is ENOMEM. With no lock held. */
void limit_failed(struct slab_cache *cache);

#endif /* SLAB_MEMORY_LIMIT_H */
