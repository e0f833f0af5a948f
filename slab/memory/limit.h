/* SPDX-License-Identifier: MIT */
/*
 * Limits: how many bytes of slabs a cache may have, and how many of slabs and large
 * allocations the process.
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
 * decides what is done about it (alloc_slow.c). It is known where it happens, deep in the page
 * layer, so it is noted there, for the thread: whoever looks afterwards at the accounts
 * would see what others did since.
 */
#ifndef SLAB_LIMIT_H
#define SLAB_LIMIT_H

#include "core/slab_internal.h"

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

/* On which node an object is wanted. */
struct limit_wish {
	int node;    /* -1: any */
	bool strict; /* on no other one */
};

/*
 * limit_regain: an allocation failed: take back what is free. For the limit of a cache
 * that is what its other CPUs and its guard pages hold; otherwise also that of all
 * caches, and their empty slabs. Bytes of slabs; -1: there is nothing to be done that
 * way, or somebody holds the lock for long. With no lock held.
 */
long limit_regain(struct slab_cache *cache, const struct limit_wish *wish);
/* So often is an allocation tried again: others may take what was regained. More often
 * as long as there is something each time: then it was bad luck. */
#define LIMIT_TRIES 3
#define LIMIT_TRIES_REGAINED 16

/* Take back all that is free of a cache, waiting for its lock no longer than an
 * allocation may: bytes of the slabs that went to the page layer. */
size_t limit_shrink(struct slab_cache *cache);
/* A flush takes some 10 µs, a round of isolated slabs less than 1 ms. The thread that holds
 * the lock for longer than this was preempted, or is at something that allocates itself. */
#define LIMIT_PATIENCE_NS 10000000L
/* A lock that an allocation can do without; false: who holds it, holds it for long. */
bool limit_lock_soon(pthread_mutex_t *lock);

/* An allocation failed for good, of `cache` or a large one: count it and call the
 * handler if that was a limit's doing. errno is ENOMEM. With no lock held. */
void limit_failed(struct slab_cache *cache);

/* Once, by slab_init(): SLAB_LIMIT. */
void limit_init(void);

#endif /* SLAB_LIMIT_H */
