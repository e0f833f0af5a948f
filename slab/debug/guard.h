/* SPDX-License-Identifier: MIT */
/*
 * Sampling: libslab places one in N allocations between guard pages, as KFENCE does.
 *
 * A guarded object has a slab of its own (64 KiB of address space, of which only the pages of
 * the object hold memory), so libslab finds its cache from its address as for any other object.
 * The object is at the left or right end of its pages. A pattern fills the rest of them and is
 * checked at the free. After the free, the pages are inaccessible until the slab is reused,
 * the slab that was freed first before the others.
 *
 * sample.c decides which allocations are guarded; guard.c allocates and frees guarded objects;
 * guard_slabs.c manages their slabs.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "core/cache.h"
#include "report/track.h"
#include "trap.h"

/* The most guarded slabs in the process, including those of freed objects. */
#define GUARD_SLABS_MAX 1024u

/* --- when (sample.c) ---------------------------------------------------------- */

/* Up to this interval all allocations take the slow path, so libslab counts every one. */
#define SAMPLE_EXACT_MAX 1000ul

static inline bool sample_is_on(const struct slab_cache *cache)
{
	return __atomic_load_n(&cache->sample.interval, __ATOMIC_RELAXED) != 0;
}

/* The work of slab_cache_sample(). Installs the fault handler; takes flush_lock. */
void sample_set(struct slab_cache *cache, unsigned long interval);
/* Must allocations take the slow path now, to be counted? */
bool sample_gate_open(const struct slab_cache *cache);
/* The slow path counts `n` allocations, with no lock held. true: it guards this allocation. */
bool sample_is_due(struct slab_cache *cache, unsigned long n);
/* The timer of the control thread calls this ten times a second: it sends the next allocation of
 * each sampled cache to sample_is_due(). */
void sample_tick(void);
/* Is there a cache that needs sample_tick()? */
bool sample_wants_ticks(void);

/* --- what (guard.c) -------------------------------------------------------------- */

/*
 * guard_alloc: allocate a guarded object. NULL: the object is too large, no guarded slab is
 * left, or the constructor failed; the caller then allocates as usual. A guarded object is
 * constructed when it is allocated and destroyed when it is freed.
 */
void *guard_alloc(struct slab_cache *cache, size_t requested, const void *caller);
/* Free the object of a guarded slab, or report a double or invalid free. false: the slab does
 * not belong to this cache any more, as with debug_free(). */
bool guard_free(struct slab_cache *cache, struct slab *slab, void *obj, const void *caller);
/* The two steps of slab_free_rcu(), as debug_begin_waiting() and debug_free_waited(). */
bool guard_begin_waiting(struct slab_cache *cache, struct slab *slab, void *obj,
			 const void *caller);
void guard_free_waited(struct slab_cache *cache, struct slab *slab);
/* Find, repair and describe the next damage in the copy of a guarded slab. false: there is none. */
struct bug_info;
bool guard_check_copy(struct slab_cache *cache, struct slab *slab, struct bug_info *bug);
/* Check the bytes around a guarded object, and report each problem; returns their number. */
long guard_check(struct slab_cache *cache, struct slab *slab);

/* --- their slabs (guard_slabs.c) ---------------------------------------------------- */

/* Return the cache's guarded slabs of freed objects to the page layer; returns their number. */
unsigned guard_flush(struct slab_cache *cache);
/* Held over fork. A thread that holds it takes no other lock. */
void guard_lock(void);
void guard_unlock(void);

/* --- faults ------------------------------------------------------------------------ */

/* An access that faulted, and the thread that made it. */
struct guard_fault {
	const void *address;
	enum trap_access access;
	struct track track;
};

/* Does the address lie in a guarded slab? Async-signal-safe. */
bool guard_covers(const void *address);
/* Report an access to a guarded slab, unless its object is in use and contains the address. */
void guard_report_fault(const struct guard_fault *fault);
