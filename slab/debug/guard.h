/* SPDX-License-Identifier: MIT */
/*
 * Sampling: one allocation in N stands between guard pages.
 *
 * A guarded object has a slab of its own (64 KiB of address space, of which
 * only the pages of the object hold memory), so that everything leads from its
 * address to its cache as from any other. It stands at the left or the right end
 * of its pages, and the rest of them is filled with a pattern that is checked
 * when it is freed. Freed, its pages become inaccessible until the slab is
 * needed again, the oldest first.
 *
 * sample.c decides which allocations are guarded; guard_slabs.c has the guarded slabs.
 */
#ifndef SLAB_DEBUG_GUARD_H
#define SLAB_DEBUG_GUARD_H

#include <stdbool.h>
#include <stddef.h>

#include "core/cache.h"
#include "report/track.h"
#include "trap.h"

/* Slabs of the process for guarded objects, those of freed objects included. */
#define GUARD_SLABS_MAX 1024u

/* --- when (sample.c) ---------------------------------------------------------- */

/* Up to here every allocation is counted, because none is served otherwise. */
#define SAMPLE_EXACT_MAX 1000ul

static inline bool sample_is_on(const struct slab_cache *cache)
{
	return __atomic_load_n(&cache->sample.interval, __ATOMIC_RELAXED) != 0;
}

/* What slab_cache_sample() does. Installs the fault handler; takes flush_lock. */
void sample_set(struct slab_cache *cache, unsigned long interval);
/* Allocations are to come through the slow path, to be counted. */
bool sample_gate_open(const struct slab_cache *cache);
/* Off the fast path, with no lock: count `n` allocations; true: guard this one. */
bool sample_is_due(struct slab_cache *cache, unsigned long n);
/* Called ten times a second by the control socket's timer: let the next
 * allocation of each sampled cache through to sample_is_due(). */
void sample_tick(void);
/* Whether there is a cache for which sample_tick() would do something. */
bool sample_wants_ticks(void);

/* --- what (guard.c) -------------------------------------------------------------- */

/*
 * guard_alloc: NULL: too large, no room left, or the constructor failed; allocate
 * as usual. A guarded object is constructed when it is handed out, and destroyed
 * when it is freed: its slab holds no other.
 */
void *guard_alloc(struct slab_cache *cache, size_t requested, const void *caller);
/* `slab` is guarded, and of this cache. Reports a double or invalid free.
 * false: as debug_free(). */
bool guard_free(struct slab_cache *cache, struct slab *slab, void *obj, const void *caller);
/* The same for slab_free_rcu(), in two steps, as debug_begin_waiting(). */
bool guard_begin_waiting(struct slab_cache *cache, struct slab *slab, void *obj,
			 const void *caller);
void guard_free_waited(struct slab_cache *cache, struct slab *slab);
/* The bytes around a guarded object: number of problems, each reported. */
long guard_check(struct slab_cache *cache, struct slab *slab);

/* --- their slabs (guard_slabs.c) ---------------------------------------------------- */

/* Give back the cache's free guarded slabs: before it is destroyed. How many. */
unsigned guard_flush(struct slab_cache *cache);
/* Held over fork. Nothing else is locked while it is held. */
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
/* Report an access to a guarded slab, if that slab explains it. */
void guard_report_fault(const struct guard_fault *fault);

#endif /* SLAB_DEBUG_GUARD_H */
