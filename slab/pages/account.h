/* SPDX-License-Identifier: MIT */
/*
 * Accounts: how many bytes of slabs each cache has, and how many of slabs and large
 * allocations the process, and the limits of both.
 *
 * A slab's bytes are reserved before it is taken from the page layer, and released
 * after it was given back, so that all slabs of a cache together never exceed its
 * limit: with and without letters, draining, guarded (64 KiB each, also while it
 * waits after its free). Those of the process are reserved behind those of the cache,
 * so that it never exceeds its own, either; large allocations have no cache. All keep
 * these accounts, since a limit may come at any time. One that is set below what is in
 * use takes nothing away; nothing is added until enough was given back. Free slabs that
 * the page layer holds are in nobody's account: they go with time (decay).
 *
 * Why an allocation failed, the limit of the cache, that of the process, or the system,
 * decides what is done about it. It is known where it happens, deep in the page layer, so
 * it is noted there, for the thread: whoever looks afterwards at the accounts would see what
 * others did since.
 */
#ifndef SLAB_PAGES_ACCOUNT_H
#define SLAB_PAGES_ACCOUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pages/segment.h"

struct slab_cache;

/* The page layer as a whole, for who looks at it. */
struct pages {
	struct segment *segments; /* newest first */
	uint64_t segment_count;
	uint64_t free_slab_bytes; /* of slabs in nobody's use that still hold memory */
	uint64_t large_bytes;     /* of large allocations: their pages, or mappings */
	uint64_t limit;      /* bytes of slabs and large allocations at most, 0: none */
	uint64_t used_bytes; /* … in use, or about to be */
	uint64_t limit_hits; /* allocations that failed because of that limit */
};

extern struct pages slab_pages;

enum limit_cause {
	LIMIT_NONE,    /* it did not fail, or for want of something else: a constructor's */
	LIMIT_CACHE,
	LIMIT_PROCESS,
	LIMIT_SYSTEM,  /* no memory from the operating system */
};

/*
 * The one rule for all limits: 0 is no limit, and any other is at least one slab, since
 * below that no allocation can succeed. For the process that is the smallest slab.
 */
#define LIMIT_LEAST_OF_PROCESS ((size_t)1 << SLAB_SHIFT_MIN)
static inline bool limit_is_possible(uint64_t bytes, size_t least)
{
	return !bytes || bytes >= least;
}

/* Account for a slab that is about to be taken; false and ENOMEM: a limit. cache NULL:
 * a large allocation. */
bool limit_reserve(struct slab_cache *cache, size_t bytes);
/* … that was given back. */
void limit_release(struct slab_cache *cache, size_t bytes);
/* … that was not to be had from the page layer, which is the cause now; ENOMEM. */
void limit_give_up(struct slab_cache *cache, size_t bytes);
/* This thread's: why the last attempt failed since it was cleared; which is done for
 * every allocation off the fast path, hence the model. */
extern __thread enum limit_cause limit_noted __attribute__((tls_model("initial-exec")));

static inline void limit_clear(void)
{
	limit_noted = LIMIT_NONE;
}

static inline enum limit_cause limit_cause(void)
{
	return limit_noted;
}

/* Once, by slab_init(): SLAB_LIMIT. */
void limit_init(void);

#endif /* SLAB_PAGES_ACCOUNT_H */
