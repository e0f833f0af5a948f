/* SPDX-License-Identifier: MIT */
#include "limit.h"

#include <errno.h>
#include <time.h>

#include "guard.h"

/* A flush takes some 10 µs. Who holds the lock for longer than this validates, and
 * may be waiting for the thread that wants to allocate: a report handler's. */
#define PATIENCE_NS 10000000L
#define SECOND_NS 1000000000L

bool limit_reserve(struct slab_cache *cache, size_t bytes)
{
	size_t limit = __atomic_load_n(&cache->limit, __ATOMIC_RELAXED);
	size_t reserved = __atomic_load_n(&cache->reserved, __ATOMIC_RELAXED);

	do {
		if (limit && (reserved > limit || bytes > limit - reserved)) {
			errno = ENOMEM;
			return false;
		}
	} while (!__atomic_compare_exchange_n(&cache->reserved, &reserved, reserved + bytes, true,
					      __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	return true;
}

void limit_release(struct slab_cache *cache, size_t bytes)
{
	__atomic_fetch_sub(&cache->reserved, bytes, __ATOMIC_RELAXED);
}

static bool lock_soon(pthread_mutex_t *lock)
{
	struct timespec until;

	if (pthread_mutex_trylock(lock) == 0)
		return true;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += PATIENCE_NS;
	until.tv_sec += until.tv_nsec / SECOND_NS;
	until.tv_nsec %= SECOND_NS;
	return pthread_mutex_timedlock(lock, &until) == 0;
}

bool limit_regain(struct slab_cache *cache)
{
	if (!__atomic_load_n(&cache->limit, __ATOMIC_RELAXED) || !lock_soon(&cache->flush_lock))
		return false;
	cache_flush_locked(cache);
	pthread_mutex_unlock(&cache->flush_lock);
	guard_flush(cache);
	return true;
}
