/* SPDX-License-Identifier: MIT */
/*
 * Isolated slabs: a thread has taken them off their list, to shrink, to validate, or to
 * return memory; and flush_lock, under which it does so.
 *
 * No CPU allocates from an isolated slab. To keep that harmless,
 *
 *   - a thread isolates at most ISOLATE_MAX listed slabs at a time and puts them back before
 *     it isolates the next ones; all others stay where allocations find them;
 *   - a thread that has isolated slabs that other threads may need, from a list or from CPUs
 *     (revoke.c), holds the cache's flush_lock until they are back, or on their way to
 *     the page layer (release.c). A fork takes that lock, so the child finds every slab
 *     in its place. A thread may take many slabs from CPUs at once: those that are not
 *     isolated yet are in the cache's chains (cache->taken);
 *   - a thread returns the pages of isolated slabs with no lock held (decay.c). They stand in
 *     a queue of the cache meanwhile (cache->purging), and the child of a fork lists them
 *     again: it lacks nothing;
 *   - an allocation that would fail at a limit takes the lock as well (limit.c), when no slab
 *     is being purged: then no slab is isolated, and free objects are on the lists. It takes
 *     one slab for its CPU;
 *   - before a thread isolates the next slabs, it lets threads that wait to allocate or to
 *     fork have the lock. A mutex alone would not: the owner relocks it before they wake up.
 *
 * Waiting is bounded. Under flush_lock no code of the application runs: destructors and
 * reports run after it is unlocked. An allocation waits 10 ms at most for the lock, and twice
 * as long for slabs that are being purged, and fails after LIMIT_TRIES + 1 attempts; a thread
 * that lets others go first does so with no lock held, for a bounded time.
 *
 * A walk visits each slab once, though the list changes all the time. `wants` ensures that: it
 * rejects a slab that was visited (it is empty, and released; purged; or has the number of
 * the walk). Visited and rejected slabs go to the end of the list, so that the others are in
 * front. A round looks at NODE_PIECE slabs at most, since it holds the node's lock. A walk
 * ends when it rejected all slabs of a list in a row, and at the latest when it has looked
 * at twice as many as there were. If other threads are purging slabs then, it waits for them,
 * 10 ms at most, and begins again: what was purged stands at the end of the list.
 */
#ifndef SLAB_CORE_ISOLATED_H
#define SLAB_CORE_ISOLATED_H

#include <stdbool.h>

#include "core/cache.h"

/* How flush_lock is taken. */
enum flush_lock_mode {
	FLUSH_LOCK_WAIT, /* wait for it */
	FLUSH_LOCK_TIMED  /* … no longer than an allocation may */
};

/* The most slabs that a walk isolates at once. */
#define ISOLATE_MAX 4u

struct list_walk {
	struct slab_cache *cache;
	unsigned node;
	enum flush_lock_mode lock;
	bool sparse; /* also slabs that are to be emptied */
	/* Under the node's lock: a few instructions. */
	bool (*wants)(struct slab *slab, void *arg);
	/* Gets isolated slabs, linked by next: puts them back, or releases them. */
	void (*look)(struct slab *isolated, void *arg);
	void *arg;
};

/* Look at all listed slabs of a node that are wanted. */
void list_walk(const struct list_walk *walk);

/* flush_lock, behind threads that wait to allocate or to fork. */
void flush_lock(struct slab_cache *cache);
/* … for a fork. */
void flush_lock_urgent(struct slab_cache *cache);
/* … for an allocation; false: another thread held it for too long. */
bool flush_lock_timed(struct slab_cache *cache);
/* … as `how` says. */
bool flush_lock_as(struct slab_cache *cache, enum flush_lock_mode how);
/* Between two pieces of work: lets other threads have it. false: it could not be relocked. */
bool flush_lock_yield(struct slab_cache *cache, enum flush_lock_mode how);
/* For each slab of a cache, by scanning descriptors: flush_lock is held for each call. false:
 * it could not be taken, and not all slabs were visited. */
bool flush_each_slab(struct slab_cache *cache, enum flush_lock_mode how,
		     void (*fn)(struct slab *, void *), void *arg);
/* … if it is free. */
bool flush_trylock(struct slab_cache *cache);
/* Slabs that were to be released meanwhile are released: destructors run. */
void flush_unlock(struct slab_cache *cache);
/*
 * purge_begin: an isolated slab of a node's list whose pages this thread returns with no lock
 * held, and signals blocked: a handler that forks would have a child that lists a slab whose
 * pages this thread goes on to return. purge_end: to the end of its node's list. Both under
 * flush_lock.
 */
void purge_begin(struct slab_cache *cache, struct slab *slab);
void purge_end(struct slab_cache *cache, struct slab *slab);
/* Wait until no slab of the cache is being purged: 10 ms at most. */
void purge_wait(const struct slab_cache *cache);
/* As flush_lock_timed(), when no slab is being purged. */
bool flush_lock_purged(struct slab_cache *cache);
/* In the child of a fork those of all threads end. */
void purge_after_fork_child(struct slab_cache *cache);
/* Does this thread hold one? */
bool flush_lock_is_held(void);
void flush_lock_set_held(bool is_locked);
/* Release those listed slabs of a node that `wants` chooses, down to min_partial: how many. */
unsigned cache_release_listed(struct slab_cache *cache, unsigned n, enum flush_lock_mode lock,
			      bool (*wants)(struct slab *, void *));

#endif /* SLAB_CORE_ISOLATED_H */
