/* SPDX-License-Identifier: MIT */
#include "core/hand.h"
#include "base/clock.h"
#include "core/node.h"
#include "core/slab.h"

#include <errno.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Others go first for about 10 ms at most: so long they wait, and then fail. */
#define STEPS 100u
#define STEP_NS 100000L

static bool somebody_waits(const struct slab_cache *cache)
{
	return __atomic_load_n(&cache->waiting, __ATOMIC_RELAXED);
}

void hand_lock(struct slab_cache *cache)
{
	const struct timespec step = {.tv_nsec = STEP_NS};
	int saved = errno;

	/* nanosleep() would be a place where a thread can be cancelled. */
	for (unsigned steps = STEPS; steps && somebody_waits(cache); steps--)
		syscall(SYS_nanosleep, &step, NULL);
	errno = saved;
	pthread_mutex_lock(&cache->flush_lock);
	hand_set_locked(true);
}

bool hand_trylock(struct slab_cache *cache)
{
	if (pthread_mutex_trylock(&cache->flush_lock) != 0)
		return false;
	hand_set_locked(true);
	return true;
}

void hand_lock_first(struct slab_cache *cache)
{
	__atomic_fetch_add(&cache->waiting, 1, __ATOMIC_RELAXED);
	pthread_mutex_lock(&cache->flush_lock);
	__atomic_fetch_sub(&cache->waiting, 1, __ATOMIC_RELAXED);
}

bool hand_lock_soon(struct slab_cache *cache)
{
	bool got;

	__atomic_fetch_add(&cache->waiting, 1, __ATOMIC_RELAXED);
	got = limit_lock_soon(&cache->flush_lock);
	__atomic_fetch_sub(&cache->waiting, 1, __ATOMIC_RELAXED);
	if (got)
		hand_set_locked(true);
	return got;
}

void hand_unlock(struct slab_cache *cache)
{
	hand_set_locked(false);
	pthread_mutex_unlock(&cache->flush_lock);
	slab_release_leaving(cache);
}

bool hand_lock_as(struct slab_cache *cache, enum hand_lock how)
{
	if (how == HAND_SOON)
		return hand_lock_soon(cache);
	hand_lock(cache);
	return true;
}

bool hand_let_others(struct slab_cache *cache, enum hand_lock how)
{
	hand_unlock(cache);
	return hand_lock_as(cache, how);
}

struct each {
	struct slab_cache *cache;
	enum hand_lock how;
	bool missed;
	void (*fn)(struct slab *, void *);
	void *arg;
};

static void call_locked(struct slab *slab, void *arg)
{
	struct each *each = arg;

	if (each->missed || !hand_lock_as(each->cache, each->how)) {
		each->missed = true;
		return;
	}
	if (slab_user(slab) == each->cache)
		each->fn(slab, each->arg);
	hand_unlock(each->cache);
}

bool hand_each_slab(struct slab_cache *cache, enum hand_lock how, void (*fn)(struct slab *, void *),
		    void *arg)
{
	struct each each = {.cache = cache, .how = how, .fn = fn, .arg = arg};

	cache_each_slab(cache, call_locked, &each);
	return !each.missed;
}

static void round_of(const struct hand_walk *walk, struct node_look *look)
{
	struct slab *hand = node_take_some(walk->cache, walk->node, HAND_MAX, walk, look);

	if (hand)
		walk->look(hand, walk->arg);
}

/* false: flush_lock is held for long. */
static bool walk_list(const struct hand_walk *walk, bool sparse)
{
	const struct cache_node *node = &walk->cache->node[walk->node];
	unsigned long left = 2ul * __atomic_load_n(&node->nr_slabs, __ATOMIC_RELAXED) + HAND_MAX;
	struct node_look look = {.sparse = sparse};

	do {
		if (!hand_lock_as(walk->cache, walk->lock))
			return false;
		round_of(walk, &look);
		hand_unlock(walk->cache);
		left -= look.looked < left ? look.looked : left;
	} while (look.looked && look.unwanted < look.count && left);
	return true;
}

void hand_walk(const struct hand_walk *walk)
{
	if (walk_list(walk, false) && walk->sparse)
		walk_list(walk, true);
}
