/* SPDX-License-Identifier: MIT */
/*
 * The list of caches, and pins on them.
 *
 * Work that may take long or calls the application runs on a pinned cache (cache_pin(),
 * cache_unpin()) and not under registry_lock, so that meanwhile caches can be created and the
 * process can fork. slab_cache_destroy() waits for the pins of other threads. A thread that has
 * pinned a cache and destroys it from a callback gets an error: it would wait for itself.
 *
 * Only work that ends may hold a pin. A thread remembers its own pins; in the child of a fork
 * the pins of other threads are gone.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>

#include "core/cache.h"
#include "core/pin.h"

extern pthread_mutex_t registry_lock;
extern struct slab_cache *registry_first;
/* A sequence counter (base/seqcount.h) of the list: a reader without the lock, in this process or
 * another, compares it before and after. */
extern uint64_t registry_changes;
extern unsigned registry_count; /* atomic: the number of caches on the list */

/* Append a cache to the list; remove it. The caller holds registry_lock. */
void registry_add(struct slab_cache *cache);
void registry_remove(struct slab_cache *cache);
/* Give a cache that has this handle another name. false: it is taken. The caller holds
 * registry_lock; readers of the name without it may see a part. */
bool registry_rename(struct slab_cache *cache, const char *name);
/* The cache of this name; NULL: there is none. The caller holds registry_lock. */
struct slab_cache *registry_find(const char *name);
/* Is this the handle of a cache? The caller holds registry_lock. The handle of a destroyed cache
 * stays readable and has no magic until another cache reuses it (handles.c). */
bool cache_is_registered(const struct slab_cache *cache);

/* --- pins -------------------------------------------------------------------------------- */

/*
 * registry_next_pinned: iterate over all caches. Unpins pin->cache and pins the next one; NULL
 * there: the first one. Skips caches that are being destroyed. Returns NULL at the end, or if work
 * of libslab must end (own_work.h).
 */
struct slab_cache *registry_next_pinned(struct pin *pin);

/*
 * registry_look_further: pin the next cache, after the one at which the last call of any thread
 * stopped, for which `wants` is true; `wants` runs under registry_lock. The function looks at
 * *looks caches at most, and subtracts those that it looked at. NULL: none of them, or another
 * thread holds the lock, or work of libslab must end.
 */
struct slab_cache *registry_look_further(struct pin *pin,
					 bool (*wants)(const struct slab_cache *cache),
					 const struct slab_cache *but, unsigned *looks);

/* Pin the cache of this name or alias. NULL: there is none, or it is being destroyed. */
struct slab_cache *registry_find_pinned(struct pin *pin, const char *name);

/* Pin the cache of a handle. false: it was destroyed, or is being destroyed. */
bool registry_pin(struct pin *pin, struct slab_cache *cache);

/*
 * pin_wait: wait for the pins of a cache before its destruction. The caller holds registry_lock.
 * 0: the cache is not pinned, and the lock is still held. EAGAIN: it was pinned; the lock is
 * free, and the caller looks up the cache again. EBUSY: this thread has pinned it; the lock is
 * free.
 */
int pin_wait(struct slab_cache *cache);

/*
 * pin_dying: the caller holds registry_lock. true, after pin_wait(): pin the cache for its
 * destruction, so that no other thread pins it. false: the destruction has ended. In the child
 * of a fork the destructions by other threads have ended.
 */
void pin_dying(struct slab_cache *cache, bool dying);

/* In the child of a fork, for each cache: drop the pins of other threads. */
void pin_after_fork_child(struct slab_cache *cache);
