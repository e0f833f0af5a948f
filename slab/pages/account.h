/* SPDX-License-Identifier: MIT */
/*
 * Accounts: bytes of slabs for each cache, bytes of slabs and large allocations for the process,
 * and the limits of both.
 *
 * A thread charges a slab's bytes before it takes the slab from the page layer, and releases them
 * after it has returned the slab. So the slabs of a cache together never exceed its limit. This
 * includes debug slabs and legacy-layout slabs. The process's account is charged after the cache's,
 * so the process never exceeds its limit either. Large allocations and guarded slabs (64 KiB each,
 * also while one waits after its free) are in the process's account only. Free slabs of the page
 * layer are in no account; decay returns them to the OS.
 *
 * Bytes are charged with and without a limit, because a limit may be set at any time. A limit below
 * the bytes in use frees nothing; new slabs fail until enough bytes were released.
 *
 * An allocation fails because of the cache's limit, the process's limit, or the system. This cause
 * decides what the thread does next. The page layer records it per thread when the attempt fails,
 * because the accounts may change afterwards.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pages/segment.h"

/* Members are atomic. */
struct account {
	uint64_t limit; /* most bytes; 0: no limit */
	uint64_t used;  /* bytes in use, or about to be */
};

/* The whole page layer, for statistics and limits. */
struct pages {
	struct segment *segments; /* newest first */
	uint64_t segment_count;
	uint64_t metadata_bytes;  /* heads of segments, arenas, descriptors */
	uint64_t free_slab_bytes; /* of free units that hold memory */
	uint64_t empty_bytes;     /* of slabs of caches without an object in use */
	uint64_t large_bytes;     /* bytes of pages or mappings of large allocations */
	/* Bytes that caches took from others since the last review (memory/growth.h). */
	uint64_t reaped;
	struct account account; /* of slabs and large allocations */
	uint64_t soft_limit; /* of the same bytes (memory/soft.h); 0: none */
	uint64_t soft_from; /* the bytes from which on a thread looks at it */
	uint64_t limit_hits; /* allocations that failed because of the process's limit */
};

extern struct pages slab_pages;

/* Count bytes of metadata, under any lock. */
static inline void metadata_count(uint64_t bytes)
{
	__atomic_fetch_add(&slab_pages.metadata_bytes, bytes, __ATOMIC_RELAXED);
}

enum alloc_failure {
	ALLOC_FAILURE_NONE, /* no failure, or one for another reason (a constructor's) */
	ALLOC_FAILURE_CACHE, /* its limit of bytes, or of address space */
	ALLOC_FAILURE_PROCESS,
	ALLOC_FAILURE_SYSTEM, /* the operating system has no memory */
};

/* Charge a slab's bytes to the cache and the process, before the slab is taken. cache NULL: a large
 * allocation or a guarded slab. false and ENOMEM: a limit is reached. */
bool account_charge(struct account *cache, size_t bytes);
/* Could the process be charged these bytes now? false and ENOMEM: its limit is reached. */
bool account_has_room(size_t bytes);
/* Bytes of slabs and large allocations in use. */
static inline uint64_t account_used(void)
{
	return __atomic_load_n(&slab_pages.account.used, __ATOMIC_RELAXED);
}
/* With free units: what the process holds, but for tables. */
static inline uint64_t account_resident(void)
{
	return account_used() + __atomic_load_n(&slab_pages.free_slab_bytes, __ATOMIC_RELAXED);
}
/* Release the bytes of a slab that was returned. */
void account_release(struct account *cache, size_t bytes);
/* Release the bytes of memory that the page layer could not provide, and set ENOMEM. */
void account_give_up(struct account *cache, size_t bytes);
/* Why the last attempt of this thread failed, since alloc_failure_clear(). Every allocation off the
 * fast path clears it, so it uses the fast TLS model. */
extern __thread enum alloc_failure alloc_failure __attribute__((tls_model("initial-exec")));

static inline void alloc_failure_clear(void)
{
	alloc_failure = ALLOC_FAILURE_NONE;
}

static inline enum alloc_failure alloc_failure_cause(void)
{
	return alloc_failure;
}

/* Called once by slab_init(): set the limit of SLAB_LIMIT. */
void account_init(void);
