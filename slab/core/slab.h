/* SPDX-License-Identifier: MIT */
/* Slabs: tags, objects, creation and release. core/shard.h has the lists. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/compiler.h"
#include "core/cache.h"
#include "pages/segment.h"
#include "pages/topology.h"
#include "rseq.h"

/* Tags in the user of a slab. A tagged slab's objects miss the fast path of slab_free(). */
#define SLAB_TAG_DEBUG ((uintptr_t)1) /* debug_free() frees, under the node's lock */
#define SLAB_TAG_ZERO ((uintptr_t)2)  /* objects are zeroed when they are freed */
#define SLAB_TAG_HARDEN ((uintptr_t)4) /* frees are checked off the fast path */
#define SLAB_TAGS (SLAB_TAG_DEBUG | SLAB_TAG_ZERO | SLAB_TAG_HARDEN)

/* The cache of a slab; NULL: the slab has none. */
static inline struct slab_cache *slab_user(const struct slab *slab)
{
	uintptr_t user = (uintptr_t)__atomic_load_n(&slab->user, __ATOMIC_ACQUIRE);

	return (struct slab_cache *)(user & ~SLAB_TAGS);
}

static inline bool slab_is_tagged(const struct slab *slab, uintptr_t tag)
{
	return (uintptr_t)__atomic_load_n(&slab->user, __ATOMIC_ACQUIRE) & tag;
}

/* Bytes from object to object of a slab that has a cache. Debug slabs have their own
 * (debug/layout.h: red zones), so use debug_size() there. */
static inline size_t slab_size(const struct slab *slab)
{
	return slab_user(slab)->size;
}

static inline unsigned slab_initialized(const struct slab *slab)
{
	return __atomic_load_n(&slab->initialized, __ATOMIC_RELAXED);
}

static inline unsigned slab_free_count(const struct slab *slab)
{
	return __atomic_load_n(&slab->free, __ATOMIC_RELAXED);
}

/* The index of the object that contains the byte `offset` of a slab; *ret_start: it starts there.
 * The slab is an ordinary or legacy slab of the cache with this reciprocal. */
static inline unsigned slab_index_at(uint64_t reciprocal, size_t offset, bool *ret_start)
{
	const uint64_t product = offset * reciprocal;

	*ret_start = product << 16 < reciprocal << 16;
	return (unsigned)(product >> 48);
}

static inline unsigned slab_index(const struct slab_cache *cache, const struct slab *slab,
				  const void *obj)
{
	bool start;

	return slab_index_at(cache->reciprocal, (size_t)((const char *)obj - slab->base), &start);
}

static inline void *slab_object(const struct slab_cache *cache, const struct slab *slab,
				unsigned index)
{
	return slab->base + index * cache->size;
}

/* Is obj the start of an object that was in use before? The slab is an ordinary or legacy slab. */
static inline bool slab_is_object(const struct slab_cache *cache, const struct slab *slab,
				  const void *obj)
{
	const size_t offset = (size_t)((const char *)obj - slab->base);
	bool start;

	return offset < slab_bytes(slab) &&
	       slab_index_at(cache->reciprocal, offset, &start) < slab_initialized(slab) && start;
}

/* Is the bit of an object set? It may change at any moment without the shard's lock. */
static inline bool slab_bit(const struct slab *slab, unsigned index)
{
	return __atomic_load_n(&slab->map[index / 64], __ATOMIC_RELAXED) >> index % 64 & 1;
}

/* SLAB_ZERO=free: zero an object that is being freed. The slab has no debug flags. */
static inline void slab_clear_freed(const struct slab *slab, void *obj)
{
	if (slab_is_tagged(slab, SLAB_TAG_ZERO))
		memset(obj, 0, slab_size(slab));
}

/* Does this address of a segment lie on the node of this CPU? */
static inline bool slab_is_near(const void *obj, int cpu)
{
	return SLAB_LIKELY(topology_node_count == 1) ||
	       segment_of(obj)->node == topology_table_node(cpu);
}

/* Put an object of an untagged slab of this cache on the CPU's array. Objects of other nodes go to
 * their slabs instead. The thread may leave the CPU after the comparison; that does no harm. */
static inline __attribute__((always_inline)) bool slab_push(struct slab_cache *cache, void *obj)
{
	return (SLAB_LIKELY(topology_node_count == 1) || slab_is_near(obj, cpu_rseq_number())) &&
	       SLAB_LIKELY(rseq_push(&cache->arrays, obj, cpu_rseq_offset));
}

/* The maps of objects that wait for a grace period, of each of two phases; only in slabs of caches
 * with args.rcu (rcu/grace_period.h). Atomic, without a lock. */
static inline uint64_t *slab_waiting(struct slab *slab, unsigned phase)
{
	return slab->map + (size_t)map_words(slab->objects) * (1 + phase);
}

/* Behind them: the next slab on the stack of each phase. */
static inline struct slab **slab_next_waiting(struct slab *slab, unsigned phase)
{
	return (struct slab **)(slab->map + (size_t)map_words(slab->objects) * 3) + phase;
}

/* The words that segment_take_slab() adds for these two. */
static inline unsigned slab_waiting_words(const struct slab_cache *cache, unsigned objects)
{
	return cache->rcu ? 2 * map_words(objects) + 2 : 0;
}

/* --- slabs (slab.c) ---------------------------------------------------------------------- */

/* The number of objects that are not free, of any slab: in use, in an array, in a magazine. It may
 * change at any moment. */
unsigned slab_used(const struct slab *slab);
/* Make an ordinary slab of a node: charged, with its user set, SLAB_OFF, of no shard. NULL and
 * ENOMEM. may_grow: as in struct slab_needs. */
struct slab *slab_create(struct slab_cache *cache, unsigned node, bool may_grow);
/* Put pointers into random order (SLAB_RANDOM). */
void slab_shuffle(void **objs, unsigned n);
/* Choose the orders of a cache's slabs for objects of this size; returns the shifts of their
 * sizes. */
unsigned slab_choose_small_shift(size_t size);
unsigned slab_choose_large_shift(size_t size);
/* Charge the bytes of a fresh slab, 1 << *shift, to the cache and the process. At a limit with no
 * room for them, *shift becomes that of the cache's small slabs. false: a limit is reached. */
bool cache_charge(struct slab_cache *cache, unsigned *shift);
/* The number of slabs of all nodes. It may change at any moment, but never excludes a slab whose
 * descriptor still names the cache. */
unsigned cache_count_slabs(const struct slab_cache *cache);
/* Call fn for each slab of a cache, found by a scan of descriptors. */
void cache_each_slab(const struct slab_cache *cache, void (*fn)(struct slab *, void *), void *arg);

/* --- slabs with debug flags, and legacy slabs -------------------------------------------- */

/* Is an object of a debug or legacy slab allocated? */
bool debug_is_allocated(const struct slab *slab, unsigned index);

/* --- release (release.c) ----------------------------------------------------------------- */

/* Destroy the objects of an empty slab that is on no list and of no shard, and return it to the
 * page layer; for type-safe caches after a grace period. The caller holds no lock; destructors
 * run. */
void slab_release(struct slab_cache *cache, struct slab *slab);
/* Continue the releases that slab_release() began under flush_lock. The caller holds no lock. */
void release_leaving(struct slab_cache *cache);
/* In the child of a fork: let slabs that other threads were destroying leave again. */
void release_after_fork_child(struct slab_cache *cache);
/* Return a slab whose objects are destroyed already. */
void slab_free_pages(struct slab_cache *cache, struct slab *slab);
/* Return the units of a slab to the page layer, or to the space of its cache. */
void slab_return_units(struct space *space, struct slab *slab);
/* Destroy the objects of an unused slab, with or without debug flags. The caller holds no lock. */
void debug_destroy_objects(struct slab_cache *cache, struct slab *slab);
/* Call the destructor of one object, between callback_begin() and callback_end(). */
void debug_destroy_object(struct slab_cache *cache, void *obj);
/* Is this thread running a destructor? An allocation in a destructor that fails never calls
 * reclaim. */
bool debug_is_destroying(void);
/* Destroy the objects and return the slab at once. For type-safe caches: after the grace period. */
void slab_release_now(struct slab_cache *cache, struct slab *slab);
