/* SPDX-License-Identifier: MIT */
/*
 * Reclaim: calling the callbacks of caches (args.reclaim), and retrying an allocation.
 *
 * The callback is code of the application, so it runs with no lock of libslab held and on a
 * pinned cache. It runs in the thread whose allocation failed, that called slab_reclaim(), or
 * that watches memory pressure. Several threads may reclaim at once, even from the same
 * cache. They do not wait for each other: one may hold a lock of the application that the
 * other's callback needs. An allocation that fails within a callback calls no callback.
 *
 * Order: the cache with the most bytes of slabs comes first. The bytes are rounded to a power
 * of two; among equals, the cache that was called the longest time ago comes first. So caches
 * of similar size alternate; with exact bytes, the largest cache would do all the work until
 * it is the second largest. Caches without slabs are not called.
 *
 * Objects that a callback frees lie in arrays of CPUs and in slabs. So a shrink of the cache
 * follows each callback, and only the bytes that the shrink returned count.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "memory/limit.h"

struct slab_cache;

/* A round calls each cache once at most, and none that another thread has called since it began. */
struct reclaim_round {
	uint64_t number; /* that of its first call, in the order of all calls; 0: none yet */
	unsigned count; /* of its calls */
	uint64_t freed_before; /* objects that callbacks had freed when it began */
};

/* An allocation that failed. Initialize it with {.cache, .bytes, .placement, .takes_object}. */
struct retry {
	struct slab_cache *cache; /* NULL: a large allocation */
	size_t bytes; /* of the slab or mapping that it needs */
	struct placement placement; /* unused for a large allocation */
	bool takes_object; /* the caller takes obj and needs no further attempt */
	void *obj; /* set by alloc_retry(): an object, as slabs have it, or NULL */
	unsigned made_room, rounds;
	struct reclaim_round round;
};

/*
 * alloc_retry: the caller called alloc_failure_clear() and attempted the allocation, which
 * failed. Try to remove the cause: take back free memory first, then call reclaim callbacks.
 * No callback is called if all caches together have less memory than needed. Returns true if
 * the caller should try again, or take retry->obj if it said that it does.
 */
bool alloc_retry(struct retry *retry);
