/* SPDX-License-Identifier: MIT */
/* Moving slabs and objects between nodes and CPUs: refill, remote frees, revocation. A thread needs
 * no lock for refills and remote frees; revocation takes flush_lock. */
#ifndef SLAB_PERCPU_REFILL_H
#define SLAB_PERCPU_REFILL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/cache.h"
#include "core/isolated.h"

/* --- from a CPU -------------------------------------------------------------------------- */

/* An object of this CPU's LIFO or current slab. */
static inline void *cpu_pop(struct slab_cache *cache)
{
	void *obj = cpu_engine->lifo_pop(cache->cpu_slots);

	return obj ? obj : cpu_engine->pop(cache->cpu_slots);
}

/* --- to a CPU ---------------------------------------------------------------------------- */

enum { REFILL_OK, REFILL_NONE, REFILL_NO_CPU, REFILL_ERROR };

/* Refill this CPU from the sources that `mode` (SLAB_ALLOC_*) allows. After REFILL_OK the caller
 * retries its allocation, which may still find nothing. */
int cache_refill(struct slab_cache *cache, unsigned mode);
/* Give an isolated slab with free objects to this CPU, or to its node if the thread has no CPU. */
void slab_adopt(struct slab_cache *cache, struct slab *slab);
/* Put a slab that `cpu` owns on that CPU's partial list; the thread may run on any CPU. */
void slab_push_partial(struct slab_cache *cache, int cpu, struct slab *slab);

/* --- from one CPU to the slab of another ------------------------------------------------- */

/* Add freed objects to the remote freelist of a slab. If the slab was full, the function gives it
 * to this CPU. false: the remote freelist has no room, so some object was freed twice; the objects
 * stay allocated. */
bool slab_deliver(struct slab_cache *cache, struct slab *slab, unsigned n, const uint16_t *offset8);
/* Deliver one object that a CPU held in a LIFO to its slab. */
bool slab_deliver_held(struct slab_cache *cache, void *obj);
/* Deliver one object to its slab. If the slab was full, it is isolated, and *ret_isolated is the
 * slab, else NULL. */
bool slab_deliver_isolating(void *obj, struct slab **ret_isolated);
/* slab_deliver(), with a report if there was no room. Reports run with no lock held. */
void slab_free_remote(struct slab_cache *cache, struct slab *slab, unsigned n,
		      const uint16_t *offset8);
/* slab_free_remote() for objects that links[] links already; `first` and `last` are indices + 1. */
void slab_free_chain(struct slab_cache *cache, struct slab *slab, unsigned first, unsigned last,
		     unsigned n);

/* --- back from CPUs ---------------------------------------------------------------------- */

/* Revoke the slabs and objects of all CPUs, unless the kernel refuses the fence. The slabs go to node lists, become full slabs, or are
 * released. Each node keeps min_partial empty slabs. Returns the number of released slabs. */
unsigned cache_flush(struct slab_cache *cache);
/* cache_flush() with flush_lock taken as `how` says (isolated.h). false: the lock was not free in
 * time, and the work is not complete. */
bool cache_flush_as(struct slab_cache *cache, enum flush_lock_mode how, unsigned *ret_released);
/* Revoke without releasing slabs that are listed already. The revoked slabs count as idle since the
 * epoch `idle_since` (decay.c). */
unsigned cache_revoke(struct slab_cache *cache, uint32_t idle_since);
/* Are there slabs that were taken from CPUs and are not on a node's list yet? */
bool cache_has_taken(const struct slab_cache *cache);
/* Does this CPU hold slabs or objects of the cache, or can it without a slow path? */
bool cpu_holds(const struct slab_cache *cache, unsigned cpu);
/* Put isolated slabs, linked by next, on their nodes' lists. Slabs without free objects become full
 * slabs. Returns the number of empty slabs that were released. */
unsigned slab_put_back(struct slab_cache *cache, struct slab *isolated);
/* Wait for a thread that takes slabs from CPUs, 10 ms at most, and put some of them on their nodes'
 * lists. false: the thread still holds the lock, or it is the calling one, or the kernel refuses the
 * fence. */
bool cache_list_taken(struct slab_cache *cache);
/* Revoke slabs of CPUs that hold too many. true: the nodes may have got some; look again. */
bool cache_steal(struct slab_cache *cache);

/* A hash of the state of all CPUs in a cache. It changes with every use of the cache; only
 * frees into slabs on a CPU partial list may leave it unchanged. *ret_holds: CPUs or magazines hold
 * slabs or objects of the cache. */
uint64_t cpu_use_trace(const struct slab_cache *cache, bool *ret_holds);

#endif /* SLAB_PERCPU_REFILL_H */
