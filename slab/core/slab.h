/* SPDX-License-Identifier: MIT */
/* Slabs: tags, states, release. slab_state.c lists the states of a slab and explains how it
 * changes between them. */
#ifndef SLAB_CORE_SLAB_H
#define SLAB_CORE_SLAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/compiler.h"
#include "core/cache.h"
#include "pages/segment.h"
#include "pages/topology.h"
#include "rseq.h"

/* Tags in cpu.user. A tagged slab's objects miss the fast path of slab_free(). */
#define SLAB_TAG_DEBUG ((uintptr_t)1) /* debug_free() frees, under the node's lock */
#define SLAB_TAG_ZERO ((uintptr_t)2)  /* objects are zeroed when they are freed */
#define SLAB_TAG_HARDEN ((uintptr_t)4) /* frees are checked off the fast path */
#define SLAB_TAGS (SLAB_TAG_DEBUG | SLAB_TAG_ZERO | SLAB_TAG_HARDEN)

static inline struct slab *slab_from_cpu(struct cpu_slab *cpu)
{
	return (struct slab *)cpu;
}

/* The cache of a slab; NULL: the slab has none. */
static inline struct slab_cache *slab_user(const struct slab *slab)
{
	uintptr_t user = (uintptr_t)__atomic_load_n(&slab->cpu.user, __ATOMIC_ACQUIRE);

	return (struct slab_cache *)(user & ~SLAB_TAGS);
}

/* The cache of an untagged slab, whose objects the fast paths may free; NULL otherwise. */
static inline struct slab_cache *slab_plain_user(const struct slab *slab)
{
	uintptr_t user = (uintptr_t)__atomic_load_n(&slab->cpu.user, __ATOMIC_RELAXED);

	return user & SLAB_TAGS ? NULL : (struct slab_cache *)user;
}

static inline bool slab_is_tagged(const struct slab *slab, uintptr_t tag)
{
	return (uintptr_t)__atomic_load_n(&slab->cpu.user, __ATOMIC_ACQUIRE) & tag;
}

/* The number of objects initialized so far. It changes while the slab is isolated; any thread may
 * read it. */
static inline unsigned slab_initialized(const struct slab *slab)
{
	return __atomic_load_n(&slab->initialized, __ATOMIC_RELAXED);
}

static inline void slab_set_initialized(struct slab *slab, unsigned initialized)
{
	__atomic_store_n(&slab->initialized, (uint16_t)initialized, __ATOMIC_RELAXED);
	cpu_slab_set_room(&slab->cpu, initialized);
}

/* Is obj the start of an object? The slab has no debug flags. */
static inline bool slab_is_object(const struct slab *slab, const void *obj)
{
	return cpu_slab_is_object(&slab->cpu, obj);
}

/* SLAB_ZERO=free: zero an object that is being freed. The slab has no debug flags. */
static inline void slab_clear_freed(const struct slab *slab, void *obj)
{
	if (slab_is_tagged(slab, SLAB_TAG_ZERO))
		memset(obj, 0, slab_size(slab));
}

/* Does the slab lie on the node of this CPU? */
static inline bool slab_is_near(const struct slab *slab, int cpu)
{
	return SLAB_LIKELY(topology_node_count == 1) || slab->node == topology_table_node(cpu);
}

/* Put an object of this untagged slab on the CPU's LIFO. Objects of other nodes go to their slabs
 * instead. The thread may leave the CPU after the comparison; that does no harm. */
static inline __attribute__((always_inline)) bool slab_push(struct slab_cache *cache,
							    const struct slab *slab, void *obj)
{
	return (SLAB_LIKELY(topology_node_count == 1) || slab_is_near(slab, cpu_rseq_number())) &&
	       SLAB_LIKELY(rseq_push(&cache->cpu_lifos, obj, cpu_rseq_offset));
}

/* --- states (slab_state.c) --------------------------------------------------------------- */

/*
 * slab_refill: give an isolated slab free objects: remotely freed ones, or fresh ones. true: the
 * slab has free objects. false: the slab became full and is not isolated any more, or, with
 * *ret_error set, there was no memory and it still is isolated.
 */
bool slab_refill(struct slab_cache *cache, struct slab *slab, int *ret_error);

/* Move the remote freelist of an isolated slab to its own freelist; returns the number of
 * objects. */
unsigned slab_collect(struct slab *slab);
/* Move a chain of objects in links[] to an isolated slab's freelist. `first` is an index + 1. */
void slab_put_chain(struct slab *slab, unsigned first, unsigned count);
/* The number of objects in use in any slab. It may change at any moment. */
unsigned slab_used(const struct slab *slab);
/* Is an isolated, collected slab entirely free? */
bool slab_is_empty(const struct slab *slab);
/* Take a fresh, isolated slab. NULL and ENOMEM if there is none. */
struct slab *slab_create(struct slab_cache *cache, unsigned node);
/* Put numbers into random order (SLAB_RANDOM). */
void slab_shuffle(uint16_t *numbers, unsigned n);

/* Find the free objects of an isolated slab: one bit for each in map[objects / 64]. Returns the
 * number of wrong freelist entries. */
#define SLAB_MAP_WORDS (65536 / 64)
long slab_map_free(struct slab *slab, uint64_t *map);

/* Choose the orders of a cache's slabs for objects of this size; returns the shifts of their
 * sizes. */
unsigned slab_choose_small_shift(size_t size);
unsigned slab_choose_large_shift(size_t size);
/* Charge the bytes of a fresh slab, 1 << *shift, to the cache and the process. At a limit with no room
 * for them, *shift becomes that of the cache's small slabs. false: a limit is reached. */
bool cache_charge(struct slab_cache *cache, unsigned *shift);
/* The number of slabs of all nodes. It may change at any moment, but never excludes a slab whose
 * descriptor still names the cache. */
unsigned cache_count_slabs(const struct slab_cache *cache);
/* Call fn for each slab of a cache, found by a scan of descriptors. */
void cache_each_slab(const struct slab_cache *cache, void (*fn)(struct slab *, void *), void *arg);

/* --- slabs with debug flags, and legacy slabs -------------------------------------------- */

/* The number of allocated objects of a debug or legacy slab. Without the lock it is an estimate. */
unsigned debug_used(const struct slab *slab);
/* Is an object of a debug or legacy slab allocated? */
bool debug_is_allocated(const struct slab *slab, unsigned index);

/*
 * When debug flags are switched on, existing slabs become legacy slabs: objects are freed into
 * them but not allocated from them. The states of their objects replace the freelist, so
 * that libslab detects a second free there as well.
 */
static inline bool slab_is_legacy(const struct slab *slab)
{
	return !slab->debug && slab_is_tagged(slab, SLAB_TAG_DEBUG);
}

/* Is an object of a legacy slab free? */
bool legacy_is_free(const struct slab *slab, unsigned index);
/* Where a legacy slab has the state of an object: LEGACY_FREE, or 0 for an allocated object. */
#define LEGACY_FREE ((uint16_t)0xffff)
uint16_t *legacy_state(const struct slab *slab, unsigned index);

/* --- release (release.c) ----------------------------------------------------------------- */

/* Destroy the objects of an isolated, empty slab and return it to the page layer; for type-safe
 * caches after a grace period. Under flush_lock and in a destructor the function only begins the
 * release. The caller has taken a debug slab off its list. */
void slab_release(struct slab_cache *cache, struct slab *slab);
/* Continue the releases that slab_release() began. The caller holds no lock. */
void slab_release_leaving(struct slab_cache *cache);
/* In the child of a fork: let slabs that other threads were destroying leave again. */
void release_after_fork_child(struct slab_cache *cache);
/* Return a slab whose objects are destroyed already. */
void slab_free_pages(struct slab_cache *cache, struct slab *slab);
/* Destroy the objects of an unused slab, with or without debug flags. The caller holds no lock. */
void debug_destroy_objects(struct slab_cache *cache, struct slab *slab);
/* Call the destructor of one object, between callback_begin() and callback_end(). */
void debug_destroy_object(struct slab_cache *cache, void *obj);
/* Is this thread running a destructor? An allocation in a destructor that fails never calls
 * reclaim. */
bool debug_is_destroying(void);
/* Destroy the objects and return the slab at once. For type-safe caches: after the grace period. */
void debug_slab_release_now(struct slab_cache *cache, struct slab *slab);

#endif /* SLAB_CORE_SLAB_H */
