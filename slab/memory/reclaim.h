/* SPDX-License-Identifier: MIT */
/*
 * Asking caches to free what they can (args.reclaim), and trying an allocation again.
 *
 * The callback is the application's code, so it runs with no lock of ours held and on a
 * pinned cache: in the thread whose allocation failed, in that of slab_reclaim(), or in
 * the one that watches memory pressure. Several threads may be at it at once, and ask the
 * same cache; to wait for each other they would have to know what locks of the
 * application the others wait for. What a callback allocates itself, and fails, just
 * fails: it is never asked from within a callback.
 *
 * Order: whose slabs have the most bytes, to a power of two; of those the one that was
 * asked the longest time ago. Exact bytes would have the largest cache do all of the work
 * until it is the second largest; like this, caches of like size take turns. Those of
 * which not even one slab is there are not asked.
 *
 * What was freed lies in slabs of CPUs and nodes; so the cache is shrunk behind each
 * callback, and only what that gave counts as bytes.
 */
#ifndef SLAB_MEMORY_RECLAIM_H
#define SLAB_MEMORY_RECLAIM_H

#include <stdbool.h>
#include <stddef.h>

#include "memory/limit.h"

struct slab_cache;

/* In one round; those that are smaller than so many others are left alone. */
#define ASKED_MAX 64u

/* Who was asked in this round. From {0}. */
struct asked {
	const struct slab_cache *cache[ASKED_MAX];
	unsigned count;
	size_t objects; /* that they said they freed */
	bool wait;      /* for the list of caches, however long that is locked */
};

/*
 * ask_next: ask the next cache that was not asked in this round, or `only` this one.
 * false: there is none. *ret_bytes: of slabs that went to the page layer.
 */
bool ask_next(struct asked *round, struct slab_cache *only, size_t *ret_bytes);

/* Is a callback running in this thread? */
bool ask_is_asking(void);

/* An allocation that failed. From {.cache, .bytes, .wish}. */
struct retry {
	struct slab_cache *cache; /* NULL: a large one */
	size_t bytes;             /* of the slab or mapping that it needs */
	struct limit_wish wish;   /* not of a large one */
	unsigned regained, rounds;
	struct asked round;
};

/*
 * retry_allocation: the allocation was attempted, after limit_clear(), and failed: do
 * something about the cause. false: all was done that can be done. Takes back what is
 * free before anybody is asked; no cache is asked for memory that all of them do not have.
 */
bool retry_allocation(struct retry *retry);

#endif /* SLAB_MEMORY_RECLAIM_H */
