/* SPDX-License-Identifier: MIT */
/*
 * flush_lock of a cache. A thread holds it while it empties an array, takes slabs off the lists,
 * sets gates, or switches debug flags. These rules keep that harmless for other threads:
 *
 * - A hold is short: a piece of a walk, an array, some empty slabs. No lock is held over a fence
 *   (closing.c) or while pages are returned (decay.c).
 * - No code of the application runs under flush_lock, or while the thread has closed a cache:
 *   destructors and reports run afterwards.
 * - A fork takes flush_lock, so in the child no array is half empty. The child opens arrays that
 *   threads had closed, and lists slabs whose pages they were returning (cache->purging).
 * - Between two pieces of work a thread lets threads that fork, or need memory, take the lock. A
 *   mutex alone would not: the thread that holds it relocks it before they wake up.
 */
#pragma once

#include <stdbool.h>

#include "core/cache.h"

/* Take flush_lock after the threads that wait for it to allocate or to fork. */
void flush_lock(struct slab_cache *cache);
/* Take flush_lock for a fork, before other threads. flush_lock_is_held() stays false. */
void flush_lock_urgent(struct slab_cache *cache);
/* false: another thread holds it, or waits for it to allocate or to fork. */
bool flush_lock_try(struct slab_cache *cache);
void flush_unlock(struct slab_cache *cache);
/* Call fn for each slab of a cache, found by a scan of descriptors. Each call has flush_lock held;
 * the slab may have left the cache since. */
void flush_each_slab(struct slab_cache *cache, void (*fn)(struct slab *, void *), void *arg);
/* Does this thread hold a flush_lock, or is it between flush_hold_begin() and flush_hold_end(),
 * since it has closed a cache? */
bool flush_lock_is_held(void);
void flush_hold_begin(void);
void flush_hold_end(void);
/*
 * purge_begin: record that this thread returns the pages of a slab that is off the lists, with no
 * lock held. The caller has blocked signals: otherwise a handler could fork, and in the child this
 * thread would go on returning pages of a slab that the child has listed. purge_end: put the slab
 * back on the list that suits it. The caller holds flush_lock for both.
 */
void purge_begin(struct slab_cache *cache, struct slab *slab);
void purge_end(struct slab_cache *cache, struct slab *slab);
/* Take flush_lock before other threads, and first wait, for a bounded time, until no slab is being
 * purged. */
void flush_lock_purged(struct slab_cache *cache);
/* In the child of a fork: end the walks of the parent's threads, and list the slabs that they were
 * purging. */
void purge_after_fork_child(struct slab_cache *cache);
