/* SPDX-License-Identifier: MIT */
/*
 * flush_lock, slabs that are being purged, and walks over a node's lists.
 *
 * A mutex lets its owner relock it before a waiting thread wakes up. So flush_lock() first waits,
 * for a bounded time, until no urgent thread wants the lock (cache->waiting).
 */
#include "core/isolated.h"
#include "base/clock.h"
#include "core/node.h"
#include "core/slab.h"
#include "pages/queue.h"

#include <pthread.h>

/* How long a thread lets urgent threads go first: about 10 ms. These wait that long at most. */
#define STEPS 100u
#define STEP_NS 100000L
#define PURGE_TRIES 2u

static bool is_purging(const struct slab_cache *cache)
{
	return __atomic_load_n(&cache->nr_purging, __ATOMIC_RELAXED);
}

static bool has_waiters(const struct slab_cache *cache)
{
	return __atomic_load_n(&cache->waiting, __ATOMIC_RELAXED);
}

void flush_lock(struct slab_cache *cache)
{
	for (unsigned steps = STEPS; steps && has_waiters(cache); steps--)
		clock_sleep(STEP_NS);
	pthread_mutex_lock(&cache->flush_lock);
	flush_lock_set_held(true);
}

bool flush_trylock(struct slab_cache *cache)
{
	if (pthread_mutex_trylock(&cache->flush_lock) != 0)
		return false;
	flush_lock_set_held(true);
	return true;
}

void flush_lock_urgent(struct slab_cache *cache)
{
	__atomic_fetch_add(&cache->waiting, 1, __ATOMIC_RELAXED);
	pthread_mutex_lock(&cache->flush_lock);
	__atomic_fetch_sub(&cache->waiting, 1, __ATOMIC_RELAXED);
}

bool flush_lock_patient(struct slab_cache *cache)
{
	bool got = mutex_lock_timed(&cache->flush_lock);

	if (got)
		flush_lock_set_held(true);
	return got;
}

bool flush_lock_timed(struct slab_cache *cache)
{
	bool got;

	__atomic_fetch_add(&cache->waiting, 1, __ATOMIC_RELAXED);
	got = flush_lock_patient(cache);
	__atomic_fetch_sub(&cache->waiting, 1, __ATOMIC_RELAXED);
	return got;
}

void flush_unlock(struct slab_cache *cache)
{
	flush_lock_set_held(false);
	pthread_mutex_unlock(&cache->flush_lock);
	slab_release_leaving(cache);
}

bool flush_lock_as(struct slab_cache *cache, enum flush_lock_mode how)
{
	if (how == FLUSH_LOCK_TIMED)
		return flush_lock_timed(cache);
	flush_lock(cache);
	return true;
}

bool flush_lock_yield(struct slab_cache *cache, enum flush_lock_mode how)
{
	flush_unlock(cache);
	return flush_lock_as(cache, how);
}

/* --- slabs whose pages are returned ------------------------------------------------ */

static void count_purging(struct slab_cache *cache, unsigned n)
{
	__atomic_store_n(&cache->nr_purging, cache->nr_purging + n, __ATOMIC_RELAXED);
}

void purge_begin(struct slab_cache *cache, struct slab *slab)
{
	queue_add_tail(&cache->purging, slab);
	count_purging(cache, 1);
}

void purge_end(struct slab_cache *cache, struct slab *slab)
{
	queue_remove(&cache->purging, slab);
	count_purging(cache, -1u);
	slab->next = NULL;
	node_put_last(cache, slab->node, slab);
}

void purge_wait(const struct slab_cache *cache)
{
	for (unsigned steps = STEPS; steps && is_purging(cache); steps--)
		clock_sleep(STEP_NS);
}

bool flush_lock_purged(struct slab_cache *cache)
{
	bool got;

	/* This keeps walks from starting another round. A walk that waits for the lock already may
	 * still run one. */
	__atomic_fetch_add(&cache->waiting, 1, __ATOMIC_RELAXED);
	for (unsigned tries = PURGE_TRIES; (got = flush_lock_timed(cache)); tries--) {
		if (!is_purging(cache) || !tries)
			break;
		flush_unlock(cache);
		purge_wait(cache);
	}
	__atomic_fetch_sub(&cache->waiting, 1, __ATOMIC_RELAXED);
	return got;
}

void purge_after_fork_child(struct slab_cache *cache)
{
	while (cache->purging.first)
		purge_end(cache, cache->purging.first);
}

/* --- walks -------------------------------------------------------------------------- */

struct each {
	struct slab_cache *cache;
	enum flush_lock_mode how;
	bool missed;
	void (*fn)(struct slab *, void *);
	void *arg;
};

static void call_locked(struct slab *slab, void *arg)
{
	struct each *each = arg;

	if (each->missed || !flush_lock_as(each->cache, each->how)) {
		each->missed = true;
		return;
	}
	if (slab_user(slab) == each->cache)
		each->fn(slab, each->arg);
	flush_unlock(each->cache);
}

bool flush_each_slab(struct slab_cache *cache, enum flush_lock_mode how,
		     void (*fn)(struct slab *, void *), void *arg)
{
	struct each each = {.cache = cache, .how = how, .fn = fn, .arg = arg};

	cache_each_slab(cache, call_locked, &each);
	return !each.missed;
}

static void round_of(const struct list_walk *walk, struct node_look *look)
{
	struct slab *isolated = node_take_some(walk->cache, walk->node, ISOLATE_MAX, walk, look);

	if (isolated)
		walk->look(isolated, walk->arg);
}

/* false: another thread holds flush_lock for too long. */
static bool walk_list(const struct list_walk *walk, bool sparse)
{
	const struct cache_node *node = &walk->cache->node[walk->node];
	unsigned long left = 2ul * __atomic_load_n(&node->nr_slabs, __ATOMIC_RELAXED) + ISOLATE_MAX;
	struct node_look look = {.sparse = sparse};

	do {
		if (!flush_lock_as(walk->cache, walk->lock))
			return false;
		round_of(walk, &look);
		flush_unlock(walk->cache);
		left -= look.looked < left ? look.looked : left;
	} while (look.looked && look.unwanted < look.count && left);
	return true;
}

static void walk_lists(const struct list_walk *walk)
{
	if (walk_list(walk, false) && walk->sparse)
		walk_list(walk, true);
}

void list_walk(const struct list_walk *walk)
{
	walk_lists(walk);
	/* The walk has missed the slabs that are put back after its end. */
	if (is_purging(walk->cache)) {
		purge_wait(walk->cache);
		walk_lists(walk);
	}
}

/* --- release -------------------------------------------------------------------------- */

/* Release of surplus empty slabs of a node. */
struct release {
	struct slab_cache *cache;
	struct cache_node *node;
	unsigned kept; /* number of slabs that stay listed */
	unsigned released;
};

bool slab_is_surplus(struct slab *slab, void *arg)
{
	const struct release *release = arg;

	return release->node->partial.count > release->kept && !slab_used(slab);
}

/* `wants` found the slabs empty under the lock, and no thread allocates from them since. A damaged
 * freelist may have misled it, so look again; slabs with objects stay listed for validation. */
static void release(struct slab *isolated, void *arg)
{
	struct release *release = arg;
	struct slab *empty = NULL, *others = NULL, *next;

	for (; isolated; isolated = next) {
		struct slab **chain;

		next = isolated->next;
		slab_collect(isolated);
		chain = slab_is_empty(isolated) ? &empty : &others;
		isolated->next = *chain;
		*chain = isolated;
	}
	if (others)
		node_put_last(release->cache, others->node, others);
	release->released += node_release(release->cache, empty);
}

unsigned cache_release_listed(struct slab_cache *cache, unsigned n, enum flush_lock_mode lock,
			      bool (*wants)(struct slab *, void *))
{
	struct release arg = {
		.cache = cache,
		.node = &cache->node[n],
		.kept = __atomic_load_n(&cache->min_partial, __ATOMIC_RELAXED),
	};

	list_walk(&(struct list_walk){.cache = cache,
				      .node = n,
				      .lock = lock,
				      .sparse = true,
				      .wants = wants,
				      .look = release,
				      .arg = &arg});
	return arg.released;
}
