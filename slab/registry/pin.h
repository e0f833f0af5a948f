/* SPDX-License-Identifier: MIT */
/*
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
#ifndef SLAB_PIN_H
#define SLAB_PIN_H

#include "core/slab_internal.h"

/*
 * pin_next: all caches, one after the other: unpins `cache` and pins the one behind it;
 * NULL: the first. NULL: that was the last, or, unless `wait`, the registry is locked
 * for long.
 */
struct slab_cache *pin_next(struct slab_cache *cache, bool wait);
/* The first cache for which `is_it` says so, pinned; NULL: none. Those that are being
 * destroyed are passed over by both. */
struct slab_cache *pin_find(bool (*is_it)(struct slab_cache *cache, void *arg), void *arg);

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

#endif /* SLAB_PIN_H */
