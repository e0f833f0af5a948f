/* SPDX-License-Identifier: MIT */
/*
 * flush_lock of a cache. A thread holds it while it closes the cache's arrays, takes slabs off the
 * lists, sets gates, or switches debug flags. These rules keep that harmless for other threads:
 *
 * - No code of the application runs under flush_lock: destructors and reports run after it is
 *   unlocked.
 * - A fork takes flush_lock, so the child finds open arrays and every slab in its place.
 * - Pages of slabs are returned with no lock held (decay.c). These slabs are on a queue of the cache
 *   (cache->purging), and the child of a fork lists them again.
 * - An allocation that would fail at a limit takes flush_lock (limit.c): then no array is closed and
 *   all free objects are on lists. It waits for 10 ms at most.
 * - Between two pieces of work a thread lets threads that wait to allocate or to fork take the lock. A
 *   mutex alone would not: the thread that holds it relocks it before they wake up.
 */
#pragma once

#include <stdbool.h>

#include "core/cache.h"

/* How a thread waits for flush_lock. */
enum flush_lock_mode {
	FLUSH_LOCK_WAIT, /* without a time limit */
	FLUSH_LOCK_TIMED  /* no longer than an allocation may wait */
};

/* Take flush_lock after the threads that wait for it to allocate or to fork. */
void flush_lock(struct slab_cache *cache);
/* Take flush_lock for a fork, before other threads. flush_lock_is_held() stays false. */
void flush_lock_urgent(struct slab_cache *cache);
/* Take flush_lock for an allocation. false: another thread held it for too long. */
bool flush_lock_timed(struct slab_cache *cache);
/* The same without going before threads that shrink, validate or switch debug flags. */
bool flush_lock_patient(struct slab_cache *cache);
/* flush_lock() or flush_lock_timed(), as `how` says. */
bool flush_lock_as(struct slab_cache *cache, enum flush_lock_mode how);
/* Call fn for each slab of a cache, found by a scan of descriptors. Each call has flush_lock held.
 * false: the lock could not be taken, and some slabs were not visited. */
bool flush_each_slab(struct slab_cache *cache, enum flush_lock_mode how,
		     void (*fn)(struct slab *, void *), void *arg);
/* Take flush_lock if it is free. */
bool flush_trylock(struct slab_cache *cache);
void flush_unlock(struct slab_cache *cache);
/* Does this thread hold a flush_lock? */
bool flush_lock_is_held(void);
void flush_lock_set_held(bool is_locked);
/*
 * purge_begin: record that this thread returns the pages of a slab that is off the lists, with no lock
 * held. The caller has blocked signals: otherwise a handler could fork, and in the child this thread
 * would go on returning pages of a slab that the child has listed. purge_end: put the slab back on the
 * list that suits it. The caller holds flush_lock for both.
 */
void purge_begin(struct slab_cache *cache, struct slab *slab);
void purge_end(struct slab_cache *cache, struct slab *slab);
/* Wait, 10 ms at most, until no slab of the cache is being purged. */
void purge_wait(const struct slab_cache *cache);
/* flush_lock_timed() that first waits, for a bounded time, until no slab is being purged. */
bool flush_lock_purged(struct slab_cache *cache);
/* In the child of a fork: list the slabs that the parent's threads were purging. */
void purge_after_fork_child(struct slab_cache *cache);
