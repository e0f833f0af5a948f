/* SPDX-License-Identifier: MIT */
/* Slabs and their ownership. */
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

/* Tags of cpu.user. */
#define SLAB_TAG_DEBUG ((uintptr_t)1) /* freed by debug_free(), under the node's lock */
#define SLAB_TAG_ZERO ((uintptr_t)2)  /* objects are zeroed when they are freed */
#define SLAB_TAG_HARDEN ((uintptr_t)4) /* frees are checked off the fast path */
#define SLAB_TAGS (SLAB_TAG_DEBUG | SLAB_TAG_ZERO | SLAB_TAG_HARDEN)

static inline struct slab *slab_from_cpu(struct cpu_slab *cpu)
{
	return (struct slab *)cpu;
}

/* The cache of the slab; NULL: none. */
static inline struct slab_cache *slab_user(const struct slab *slab)
{
	uintptr_t user = (uintptr_t)__atomic_load_n(&slab->cpu.user, __ATOMIC_ACQUIRE);

	return (struct slab_cache *)(user & ~SLAB_TAGS);
}

static inline bool slab_is_tagged(const struct slab *slab, uintptr_t tag)
{
	return (uintptr_t)__atomic_load_n(&slab->cpu.user, __ATOMIC_ACQUIRE) & tag;
}

/* Objects initialized so far: changed while isolated, read by any thread. */
static inline unsigned slab_initialized(const struct slab *slab)
{
	return __atomic_load_n(&slab->initialized, __ATOMIC_RELAXED);
}

static inline void slab_set_initialized(struct slab *slab, unsigned initialized)
{
	__atomic_store_n(&slab->initialized, (uint16_t)initialized, __ATOMIC_RELAXED);
	cpu_slab_set_room(&slab->cpu, initialized);
}

/* Is obj the start of an object of this slab, which has no debug flags? */
static inline bool slab_is_object(const struct slab *slab, const void *obj)
{
	return cpu_slab_is_object(&slab->cpu, obj);
}

/* SLAB_ZERO=free: clear an object that is being freed, of a slab without debug flags. */
static inline void slab_clear_freed(const struct slab *slab, void *obj)
{
	if (slab_is_tagged(slab, SLAB_TAG_ZERO))
		memset(obj, 0, slab_size(slab));
}

/* Does it lie on the node of this CPU? */
static inline bool slab_is_near(const struct slab *slab, int cpu)
{
	return SLAB_LIKELY(topology_node_count == 1) || slab->node == topology_node_of_cpu(cpu);
}

/* --- states (slab_state.c) --------------------------------------------------------------- */

/*
 * slab_refill: give an isolated slab free objects: those that other CPUs freed,
 * or fresh ones. true: it has some. false: it became full and is not isolated any more,
 * or, with *ret_error set, there was no memory and it is still isolated.
 */
bool slab_refill(struct slab_cache *cache, struct slab *slab, int *ret_error);

/* Move objects that other CPUs freed to an isolated slab's freelist; returns their number. */
unsigned slab_collect(struct slab *slab);
/* Move a chain of objects in links[], first is an index + 1, to an isolated slab's freelist. */
void slab_put_chain(struct slab *slab, unsigned first, unsigned count);
/* Objects in use, at about this moment. Of any slab. */
unsigned slab_used(const struct slab *slab);
/* Is an isolated, collected slab entirely free? */
bool slab_is_empty(const struct slab *slab);
/* A fresh slab, isolated; NULL and ENOMEM. */
struct slab *slab_create(struct slab_cache *cache, unsigned node);
/* A random order (SLAB_RANDOM). */
void slab_shuffle(uint16_t *numbers, unsigned n);

/* Which objects of an isolated slab are free: one bit each in map[objects / 64]. */
#define SLAB_MAP_WORDS (65536 / 64)
long slab_map_free(struct slab *slab, uint64_t *map);

/* The smallest slab for objects of this size. */
unsigned cache_choose_slab_shift(size_t size);
/* The slabs of all nodes, at about this moment: at least those whose descriptors lead to the
 * cache. */
unsigned cache_count_slabs(const struct slab_cache *cache);
/* Call fn for each slab of a cache, by scanning descriptors. */
void cache_each_slab(const struct slab_cache *cache, void (*fn)(struct slab *, void *), void *arg);
/* Held over fork, behind the flush_locks. */
void validate_lock(void);
void validate_unlock(void);

/* --- slabs with debug flags, and legacy slabs -------------------------------------------- */

/* Allocated objects of a debug or legacy slab; a guess without the lock. */
unsigned debug_used(const struct slab *slab);
/* Is an object allocated? Of debug slabs and legacy slabs. */
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

/* Of a legacy slab. */
bool legacy_is_free(const struct slab *slab, unsigned index);
/* The place of an object's state: LEGACY_FREE or 0. */
#define LEGACY_FREE ((uint16_t)0xffff)
uint16_t *legacy_state(const struct slab *slab, unsigned index);

/* --- release (release.c) ----------------------------------------------------------------- */

/* Destroy the objects of an isolated, entirely free slab and return it to the page layer; of
 * type-safe caches after a grace period. Under flush_lock, and in a destructor, this only
 * begins the release (release.c). A debug slab is off its list already. */
void slab_release(struct slab_cache *cache, struct slab *slab);
/* … go on with the slabs whose release was begun, with no lock held. */
void slab_release_leaving(struct slab_cache *cache);
/* In the child of a fork: … and with those that threads had isolated. */
void release_after_fork_child(struct slab_cache *cache);
/* … when its objects are destroyed already. */
void slab_free_pages(struct slab_cache *cache, struct slab *slab);
/* Destroy the objects of an unused slab, with debug flags or without: with no lock held. */
void debug_destroy_objects(struct slab_cache *cache, struct slab *slab);
/* Call the destructor, between callback_begin() and callback_end(). */
void debug_destroy_object(struct slab_cache *cache, void *obj);
/* Does this thread run one? An allocation within it that fails calls no reclaim callback. */
bool debug_is_destroying(void);
/* … and return it: of a type-safe cache, when no reader can look at its objects any more. */
void debug_slab_release_now(struct slab_cache *cache, struct slab *slab);

#endif /* SLAB_CORE_SLAB_H */
