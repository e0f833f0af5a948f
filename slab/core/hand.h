/* SPDX-License-Identifier: MIT */
/*
 * Slabs in the hand of who looks at them: to shrink, to validate, to give back memory.
 *
 * A slab in hand serves nobody. So that this is nobody's harm,
 *
 *   - listed slabs are taken some at a time, HAND_MAX, and put back before the next ones
 *     are taken; all others stay where allocations find them;
 *   - whoever has slabs in hand that others may need, these, or what was taken from CPUs
 *     (shrink.c), holds the cache's flush_lock until they are back, or on their way to
 *     the page layer (release.c). A fork takes that lock, so the child finds every slab
 *     in its place. What is taken from CPUs at once may be many slabs: those that are not
 *     in hand yet are known by the cache (cache->taken);
 *   - an allocation that would fail at a limit takes it as well (limit.c): then nothing
 *     is in hand, and what is free stands on the lists. It takes one slab for its CPU;
 *   - who wants to take the next slabs lets those go first who wait to allocate or to
 *     fork. A mutex alone would not: he has it back before they are awake.
 *
 * Nobody waits for ever. Under flush_lock nothing of the application's runs: destructors
 * and reports have their turn when it is free. An allocation waits for the lock 10 ms at
 * most, and is refused after LIMIT_TRIES + 1 times in vain; who lets others go first does
 * so with no lock held, for a bounded time.
 *
 * A walk meets each slab once, though the list changes all the time. What `wants` is to
 * see to that: what was looked at is not wanted again (it is empty, and released; settled;
 * or has the number of the walk), and goes to the end of the list, as does what is not
 * wanted, so that the others are found in front. A round looks at NODE_PIECE slabs at most,
 * since it holds the node's lock. A walk ends when it has not wanted any slab of a list in
 * a row, and in any case when it has looked at twice as many as there were.
 */
#ifndef SLAB_CORE_HAND_H
#define SLAB_CORE_HAND_H

#include <stdbool.h>

#include "core/cache.h"

/* How flush_lock is taken. */
enum hand_lock {
	HAND_WAIT, /* wait for it */
	HAND_SOON  /* … no longer than an allocation may */
};

/* So many are in hand at once. */
#define HAND_MAX 16u

struct hand_walk {
	struct slab_cache *cache;
	unsigned node;
	enum hand_lock lock;
	bool sparse; /* also slabs that are to be emptied */
	/* Under the node's lock: a few instructions. */
	bool (*wants)(struct slab *slab, void *arg);
	/* Slabs in hand, linked by next: puts them back, or releases them. */
	void (*look)(struct slab *hand, void *arg);
	void *arg;
};

/* Look at all listed slabs of a node that are wanted. */
void hand_walk(const struct hand_walk *walk);

/* flush_lock, behind those who wait to allocate or to fork. */
void hand_lock(struct slab_cache *cache);
/* … for a fork. */
void hand_lock_first(struct slab_cache *cache);
/* … for an allocation; false: who holds it, holds it for long. */
bool hand_lock_soon(struct slab_cache *cache);
/* … whatever is asked for. */
bool hand_lock_as(struct slab_cache *cache, enum hand_lock how);
/* Between two pieces of work: others may have it. false: it could not be taken again. */
bool hand_let_others(struct slab_cache *cache, enum hand_lock how);
/* For each slab of a cache, by scanning descriptors: flush_lock is held for each call. false:
 * it could not be taken, and not all slabs were met. */
bool hand_each_slab(struct slab_cache *cache, enum hand_lock how, void (*fn)(struct slab *, void *),
		    void *arg);
/* … if it is free. */
bool hand_trylock(struct slab_cache *cache);
/* Slabs that were to be released meanwhile are released: destructors run. */
void hand_unlock(struct slab_cache *cache);
/* Does this thread hold one? */
bool hand_is_locked(void);
void hand_set_locked(bool is_locked);
/* Release those listed slabs of a node that `wants` chooses, down to min_partial: how many. */
unsigned cache_release_listed(struct slab_cache *cache, unsigned n, enum hand_lock lock,
			      bool (*wants)(struct slab *, void *));

#endif /* SLAB_CORE_HAND_H */
