/* SPDX-License-Identifier: MIT */
/*
 * Accounts: the bytes of slabs of each cache, the bytes of slabs and large allocations of the
 * process, and the limits of both.
 *
 * A thread charges a slab's bytes before it takes the slab from the page layer, and
 * releases them after it returned the slab. So all slabs of a cache together never exceed
 * its limit: with and without debug flags, of the legacy layout, guarded (64 KiB each, also
 * while it waits after its free). The account of the process is charged after that of the
 * cache, so the process never exceeds its limit, either. Large allocations are only in the
 * account of the process. Bytes are charged with and without a limit, since a limit may be
 * set at any time. A limit below what is in use takes nothing away; nothing is added until
 * enough was returned. Free slabs of the page layer are in no account: they are returned to
 * the OS with time (decay).
 *
 * An allocation fails because of the cache's limit, the process's limit, or the system, and
 * this cause decides what the thread does next. The page layer notes the cause for the
 * thread at the moment of the failure: afterwards the accounts may have changed.
 */
#ifndef SLAB_PAGES_ACCOUNT_H
#define SLAB_PAGES_ACCOUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pages/segment.h"

/* Atomics. */
struct account {
	uint64_t limit; /* bytes at most, 0: none */
	uint64_t used;  /* … in use, or about to be */
};

/* The page layer as a whole, for statistics and limits. */
struct pages {
	struct segment *segments; /* newest first */
	uint64_t segment_count;
	uint64_t free_slab_bytes; /* of unused slabs that still hold memory */
	uint64_t large_bytes;     /* of large allocations: their pages, or mappings */
	struct account account;   /* of slabs and large allocations */
	uint64_t limit_hits;      /* allocations that failed because of its limit */
};

extern struct pages slab_pages;

enum alloc_failure {
	ALLOC_FAILURE_NONE, /* it did not fail, or for want of something else: a constructor's */
	ALLOC_FAILURE_CACHE,
	ALLOC_FAILURE_PROCESS,
	ALLOC_FAILURE_SYSTEM, /* no memory from the operating system */
};

/* Charge a cache's account and that of the process for a slab that is about to be taken;
 * false and ENOMEM: a limit. cache NULL: a large allocation. */
bool account_charge(struct account *cache, size_t bytes);
/* … for a slab that was returned. */
void account_release(struct account *cache, size_t bytes);
/* … for a slab that the page layer did not have, which is the cause now; ENOMEM. */
void account_give_up(struct account *cache, size_t bytes);
/* This thread's: why the last attempt failed since it was cleared; which is done for
 * every allocation off the fast path, hence the model. */
extern __thread enum alloc_failure alloc_failure __attribute__((tls_model("initial-exec")));

static inline void alloc_failure_clear(void)
{
	alloc_failure = ALLOC_FAILURE_NONE;
}

static inline enum alloc_failure alloc_failure_cause(void)
{
	return alloc_failure;
}

/* Once, by slab_init(): SLAB_LIMIT. */
void account_init(void);

#endif /* SLAB_PAGES_ACCOUNT_H */
