/* SPDX-License-Identifier: MIT */
#include "hand.h"

#include <errno.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "limit.h"

/* Others go first for about 10 ms at most: so long they wait, and then fail. */
#define STEPS 100u
#define STEP_NS 100000L

/* This thread has a cache's flush_lock, or slabs in hand under it. */
static __thread bool locked __attribute__((tls_model("initial-exec")));

bool hand_is_locked(void)
{
	return locked;
}

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
	locked = true;
}

bool hand_trylock(struct slab_cache *cache)
{
	if (pthread_mutex_trylock(&cache->flush_lock) != 0)
		return false;
	locked = true;
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
	locked |= got;
	return got;
}

void hand_unlock(struct slab_cache *cache)
{
	locked = false;
	pthread_mutex_unlock(&cache->flush_lock);
	slab_release_leaving(cache);
}

bool hand_lock_as(struct slab_cache *cache, enum hand_lock how)
{
	if (how == HAND_SOON)
		return hand_lock_soon(cache);
	if (how == HAND_WAIT)
		hand_lock(cache);
	return true;
}

/* How many slabs it met. */
static unsigned round_of(const struct hand_walk *walk)
{
	struct slab *hand = node_take_some(walk->cache, walk->node, HAND_MAX, walk);
	unsigned n = 0;

	for (const struct slab *slab = hand; slab; slab = slab->next)
		n++;
	if (hand)
		walk->look(hand, walk->arg);
	return n;
}

void hand_walk(const struct hand_walk *walk)
{
	const struct cache_node *node = &walk->cache->node[walk->node];
	unsigned slabs = __atomic_load_n(&node->nr_slabs, __ATOMIC_RELAXED);
	unsigned n = HAND_MAX;

	for (unsigned rounds = slabs / HAND_MAX + 1; n == HAND_MAX && rounds; rounds--) {
		if (!hand_lock_as(walk->cache, walk->lock))
			return;
		n = round_of(walk);
		if (walk->lock != HAND_LOCKED)
			hand_unlock(walk->cache);
	}
}
