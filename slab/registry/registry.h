/* SPDX-License-Identifier: MIT */
/*
 * The list of caches.
 *
 * Pins: a cache that is pinned is not destroyed.
 *
 * Work that may take long, or runs the application's code, is done on a pinned cache
 * (cache_pin(), cache_unpin()) and not under registry_lock, so that caches can be
 * created, and the process can fork, meanwhile. slab_cache_destroy() waits for the pins
 * of others; a thread that has pinned the cache itself, and destroys it from a callback,
 * is refused: it would wait for itself.
 *
 * Pins are for threads that end what they do; a thread remembers its own. In the child
 * of a fork the pins of other threads are gone with them.
 */
#ifndef SLAB_REGISTRY_REGISTRY_H
#define SLAB_REGISTRY_REGISTRY_H

#include <pthread.h>
#include <stdbool.h>

#include "core/cache.h"
#include "core/pin.h"

extern pthread_mutex_t registry_lock;
extern struct slab_cache *registry_first;
extern uint64_t registry_changes; /* a sequence counter: odd while the list is being changed */

/* Append a cache to the list, after name_table_reserve(), and take it off again. With
 * registry_lock. */
void registry_add(struct slab_cache *cache);
void registry_remove(struct slab_cache *cache);
/* The list of caches and their names change between these two, with registry_lock. A
 * thread that reads the list without the lock, in this process or from another one, compares
 * registry_changes before and after. */
void registry_write_begin(void);
void registry_write_end(void);
/* With registry_lock. A handle that was destroyed is not registered any more: its memory stays
 * readable, and has no magic until another cache takes it (cache/handles.c). */
bool cache_is_registered(const struct slab_cache *cache);

/* --- pins -------------------------------------------------------------------------------- */

/*
 * registry_next_pinned: all caches, one after the other: unpins `cache` and pins the one behind it;
 * NULL: the first. NULL: that was the last, or, unless `wait`, the registry is locked
 * for long.
 */
struct slab_cache *registry_next_pinned(struct slab_cache *cache, bool wait);

/* The first cache for which `is_it` says so, pinned; NULL: none. Those that are being
 * destroyed are passed over by both. */
struct slab_cache *registry_find_pinned(bool (*is_it)(struct slab_cache *cache, void *arg),
					void *arg);

/*
 * pin_wait: before a cache is destroyed, with registry_lock. 0: it is not pinned, and
 * the lock is still held. Otherwise the lock is free: EAGAIN: it was pinned, and
 * is to be looked at again; EBUSY: this thread has pinned it.
 */
int pin_wait(struct slab_cache *cache);

/*
 * pin_dying: behind pin_wait(), with registry_lock: the cache is pinned for its destruction,
 * and by no other thread, until that ends. In the child of a fork that of another thread ends.
 */
void pin_dying(struct slab_cache *cache, bool dying);

/* In the child, for each cache: only this thread's pins are left. */
void pin_after_fork_child(struct slab_cache *cache);

#endif /* SLAB_REGISTRY_REGISTRY_H */
