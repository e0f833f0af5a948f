/* SPDX-License-Identifier: MIT */
/*
 * Isolated slabs, and flush_lock, which a thread holds while it has isolated slabs.
 *
 * A thread isolates a slab to release it, to validate it, or to return its pages. No CPU allocates
 * from an isolated slab. These rules keep that harmless for other threads:
 *
 * - A thread isolates ISOLATE_MAX listed slabs at most, and puts them back before it isolates the
 *   next ones. Allocations find all other slabs on their lists.
 * - A thread that isolates slabs of a list or of CPUs (revoke.c) holds flush_lock until the slabs
 *   are back, or on their way to the page layer (release.c). A fork takes that lock, so the child
 *   finds every slab in its place. A thread may take many slabs from CPUs at once: those that are
 *   not isolated yet are in chains of the cache (cache->taken).
 * - A thread returns the pages of isolated slabs with no lock held (decay.c). These slabs are on a
 *   queue of the cache (cache->purging), and the child of a fork lists them again.
 * - An allocation that would fail at a limit takes flush_lock (limit.c) when no slab is being
 *   purged. Then no slab is isolated, and all free objects are on lists. The thread takes one slab
 *   for its CPU.
 * - Before a thread isolates the next slabs, it lets threads that wait to allocate or to fork take
 *   the lock. A mutex alone would not: its owner relocks it before they wake up.
 *
 * Waiting is bounded. No code of the application runs under flush_lock: destructors and reports run
 * after it is unlocked. An allocation waits for the lock for 10 ms at most, and twice as long for
 * slabs that are being purged. It fails after LIMIT_TRIES + 1 attempts. A thread that lets others
 * go first holds no lock and waits for a bounded time.
 *
 * A walk visits each slab once, though the list changes all the time. `wants` rejects a slab that
 * was visited: it is empty and released, or purged, or has the number of this walk. Visited and
 * rejected slabs go to the end of the list, so the others are in front. A round holds the node's
 * lock, so it looks at NODE_PIECE slabs at most. A walk ends when it has rejected all slabs of a
 * list in a row, or has looked at twice as many slabs as there were. If other threads are purging
 * slabs then, the walk waits for them, 10 ms at most, and starts again; purged slabs are at the end
 * of the list.
 */
#ifndef SLAB_CORE_ISOLATED_H
#define SLAB_CORE_ISOLATED_H

#include <stdbool.h>

#include "core/cache.h"

/* How a thread waits for flush_lock. */
enum flush_lock_mode {
	FLUSH_LOCK_WAIT, /* without a time limit */
	FLUSH_LOCK_TIMED  /* no longer than an allocation may wait */
};

/* The most slabs that a walk isolates at once. */
#define ISOLATE_MAX 4u

struct list_walk {
	struct slab_cache *cache;
	unsigned node;
	enum flush_lock_mode lock;
	bool sparse; /* also walk the sparse list */
	/* Selects slabs. Runs under the node's lock, so it must be short. */
	bool (*wants)(struct slab *slab, void *arg);
	/* Gets the isolated slabs, linked by next, and puts them back or releases them. */
	void (*look)(struct slab *isolated, void *arg);
	void *arg;
};

/* Visit all listed slabs of a node that `wants` selects. */
void list_walk(const struct list_walk *walk);

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
/* Between two pieces of work: unlock, so that other threads can take the lock, and relock. false:
 * the lock could not be retaken. */
bool flush_lock_yield(struct slab_cache *cache, enum flush_lock_mode how);
/* Call fn for each slab of a cache, found by a scan of descriptors. Each call has flush_lock held.
 * false: the lock could not be taken, and some slabs were not visited. */
bool flush_each_slab(struct slab_cache *cache, enum flush_lock_mode how,
		     void (*fn)(struct slab *, void *), void *arg);
/* Take flush_lock if it is free. */
bool flush_trylock(struct slab_cache *cache);
/* Unlock flush_lock, and release the slabs whose release began under it. Destructors may run. */
void flush_unlock(struct slab_cache *cache);
/*
 * purge_begin: record that this thread returns the pages of an isolated slab with no lock held. The
 * caller has blocked signals: otherwise a handler could fork, and in the child this thread would go
 * on returning pages of a slab that the child has listed. purge_end: put the slab at the end of its
 * node's list. The caller holds flush_lock for both.
 */
void purge_begin(struct slab_cache *cache, struct slab *slab);
void purge_end(struct slab_cache *cache, struct slab *slab);
/* Wait, 10 ms at most, until no slab of the cache is being purged. */
void purge_wait(const struct slab_cache *cache);
/* flush_lock_timed() that first waits, for a bounded time, until no slab is being purged. */
bool flush_lock_purged(struct slab_cache *cache);
/* In the child of a fork: list the slabs that the parent's threads were purging. */
void purge_after_fork_child(struct slab_cache *cache);
/* Does this thread hold a flush_lock, with slabs isolated under it? */
bool flush_lock_is_held(void);
void flush_lock_set_held(bool is_locked);
/* Release the listed slabs of a node that `wants` selects, and keep min_partial of its listed
 * slabs. Returns the number of released slabs. */
unsigned cache_release_listed(struct slab_cache *cache, unsigned n, enum flush_lock_mode lock,
			      bool (*wants)(struct slab *, void *));
/* `wants` of that function: the slab is empty and its node has more listed slabs than stay. */
bool slab_is_surplus(struct slab *slab, void *arg);

#endif /* SLAB_CORE_ISOLATED_H */
