/* SPDX-License-Identifier: MIT */
/* Moving slabs to CPUs, between CPUs, and back to nodes. */
#ifndef SLAB_CORE_REFILL_H
#define SLAB_CORE_REFILL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/cache.h"
#include "core/isolated.h"

/* --- from a CPU -------------------------------------------------------------------------- */

/* An object that this CPU has, while it has a current slab. */
static inline void *cpu_pop(struct slab_cache *cache)
{
	void *obj = cpu_engine->pop(cache->cpu_slots);

	return obj ? obj : cpu_engine->lifo_pop(cache->cpu_slots);
}

/* --- to a CPU ---------------------------------------------------------------------------- */

enum { REFILL_OK, REFILL_NONE, REFILL_NO_CPU, REFILL_ERROR };

/* Give the CPU a current slab, from the sources that `mode` (SLAB_ALLOC_*) allows. */
int cache_refill(struct slab_cache *cache, unsigned mode);
/* Give an isolated slab with free objects to this CPU, or to its node. */
void slab_adopt(struct slab_cache *cache, struct slab *slab);
/* Put a slab that `cpu` owns on that CPU's partial list; the thread may run on any CPU. */
void slab_push_partial(struct slab_cache *cache, int cpu, struct slab *slab);

/* --- from one CPU to the slab of another ------------------------------------------------- */

/* Hand freed objects to a slab that another CPU may own. false: it had no room, so one of its
 * objects was freed twice, and these stay allocated. */
bool slab_deliver(struct slab_cache *cache, struct slab *slab, unsigned n, const uint16_t *offset8);
/* … an object that a CPU held (its last-freed object, or one of its LIFO) to its slab. */
bool slab_deliver_held(struct slab_cache *cache, void *obj);
/* … freed objects, and report it when there was no room: not under a lock. */
void slab_free_remote(struct slab_cache *cache, struct slab *slab, unsigned n,
		      const uint16_t *offset8);
/* Link a batch in front of `first`, an index + 1 or 0, in links[]; returns the new first. The
 * thread that frees an object owns the object's entry of links[]. */
unsigned slab_link_batch(struct slab *slab, unsigned n, const uint16_t *offset8, unsigned first);
/* … that are linked by links[] already: first and last are indices + 1. */
void slab_free_chain(struct slab_cache *cache, struct slab *slab, unsigned first, unsigned last,
		     unsigned n);

/* --- back from CPUs ---------------------------------------------------------------------- */

/* Take back the slabs and objects of CPUs; the slabs end on node lists, full, or released.
 * min_partial empty slabs stay listed on each node. Returns the number released. */
unsigned cache_flush(struct slab_cache *cache);
/* … with flush_lock taken as `how` says (isolated.h); false: it could not be. */
bool cache_flush_as(struct slab_cache *cache, enum flush_lock_mode how, unsigned *ret_released);
/* … listed slabs stay as they are; slabs of CPUs count as idle since that epoch (decay.c). */
unsigned cache_revoke(struct slab_cache *cache, uint32_t idle_since);
/* Are there slabs that were taken from CPUs and are on no node's list yet? */
bool cache_has_taken(const struct slab_cache *cache);
/* Does this CPU hold slabs or objects of the cache? */
bool cpu_holds(const struct slab_cache *cache, unsigned cpu);
/* Take a CPU's remote batch out of its slot, which is closed and fenced. */
void slot_take_remote_batch(struct cpu_slot *slot, struct cpu_batch *batch);
/* Put isolated slabs, linked by next, on their nodes' lists; full ones become full slabs. */
unsigned slab_put_back(struct slab_cache *cache, struct slab *isolated);
/* Take back slabs from CPUs that hold too many. true: the nodes got some. */
bool cache_steal(struct slab_cache *cache);

#endif /* SLAB_CORE_REFILL_H */
