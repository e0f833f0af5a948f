/* SPDX-License-Identifier: MIT */
/*
 * Reclaim: calling the caches' callbacks (args.reclaim), and retrying an allocation.
 *
 * The callback is the application's code, so it runs with no lock of ours held and on a
 * pinned cache: in the thread whose allocation failed, in that of slab_reclaim(), or in the
 * one that watches memory pressure. Several threads may reclaim at once, from the same
 * cache. They do not wait for each other: one may hold a lock of the application that the
 * callback of the other needs. An allocation that fails within a callback calls no
 * callback.
 *
 * Order: caches with the most bytes of slabs, rounded to a power of two; of those the one that
 * was called the longest time ago. Exact bytes would have the largest cache do all of the
 * work until it is the second largest; so caches of similar size alternate. Caches without
 * slabs are not called.
 *
 * Freed objects lie in slabs of CPUs and nodes. So a shrink of the cache follows each
 * callback, and only the bytes that the shrink returned count.
 */
#ifndef SLAB_MEMORY_RECLAIM_H
#define SLAB_MEMORY_RECLAIM_H

#include <stdbool.h>
#include <stddef.h>

#include "memory/limit.h"

struct slab_cache;

/* Caches of one round; smaller ones are left alone. */
#define RECLAIM_MAX 64u

/* The caches that were called in this round. From {0}. */
struct reclaim_round {
	const struct slab_cache *cache[RECLAIM_MAX];
	unsigned count;
	size_t objects; /* that they said they freed */
	bool wait;      /* for the list of caches, however long that is locked */
};

/*
 * reclaim_next: call the next cache that was not called in this round, or `only` this one.
 * false: there is none. *ret_bytes: of slabs that went to the page layer.
 */
bool reclaim_next(struct reclaim_round *round, struct slab_cache *only, size_t *ret_bytes);

/* Is a callback running in this thread? */
bool reclaim_is_running(void);

/* An allocation that failed. From {.cache, .bytes, .placement}. */
struct retry {
	struct slab_cache *cache;   /* NULL: a large one */
	size_t bytes;               /* of the slab or mapping that it needs */
	struct placement placement; /* not of a large one */
	unsigned made_room, rounds;
	struct reclaim_round round;
};

/*
 * alloc_retry: the allocation was attempted, after alloc_failure_clear(), and failed: do
 * something about the cause. false: all was done that can be done. Takes back what is
 * free before it calls a callback; it calls none for memory that all caches together do not have.
 */
bool alloc_retry(struct retry *retry);

#endif /* SLAB_MEMORY_RECLAIM_H */
