/* SPDX-License-Identifier: MIT */
/*
 * Empty slabs. They stay with their shard, since a cache that has had them is likely to need them
 * again. They leave it when nobody needed them for a tick, when the process would have to grow, and
 * when somebody asks for memory. From the list to the page layer, or to node->leaving, the thread
 * holds flush_lock: a thread at a limit waits for it, and a fork finds every slab.
 */
#include "core/flush_lock.h"
#include "core/registry.h"
#include "core/shard.h"
#include "core/slab.h"

/* Slabs that leave in one hold of the lock, and caches that one search for memory looks at. */
#define RELEASE_PIECE 8u
#define REAP_CACHES 32u
#define REAP_BYTES ((size_t)256 << 10)

/* Take some empty slabs off the list, linked by next. */
static struct slab *take_empties(struct shard *shard, unsigned keep)
{
	struct slab *chain = NULL;

	GUARD_STEP(release_lock, cpu_lock_take(&shard->lock));
	for (unsigned n = 0; n < RELEASE_PIECE && GUARD(release_empties, shard->empties > keep);
	     n++) {
		struct slab *slab = shard->empty;

		slab_take_off(shard, slab);
		GUARD_STEP(release_shard, shard_remove(shard, slab));
		slab->next = chain;
		chain = slab;
	}
	cpu_lock_drop(&shard->lock);
	return chain;
}

static unsigned release_piece(struct slab_cache *cache, struct shard *shard, unsigned keep)
{
	struct slab *chain = take_empties(shard, keep);
	unsigned n = 0;

	for (; chain; n++) {
		struct slab *slab = chain;

		chain = slab->next;
		slab_release(cache, slab);
	}
	return n;
}

/* A thread that empties arrays with SLAB_DECAY_MS=0 has flush_lock already. */
unsigned shard_release(struct slab_cache *cache, struct shard *shard, unsigned keep)
{
	const bool locks = GUARD_AGAINST(release_locks, !flush_lock_is_held());
	unsigned n = 0;

	while (__atomic_load_n(&shard->empties, __ATOMIC_RELAXED) > keep) {
		if (locks)
			flush_lock(cache);
		n += release_piece(cache, shard, keep);
		if (locks)
			flush_unlock(cache);
	}
	return n;
}

unsigned cache_release(struct slab_cache *cache, unsigned keep)
{
	unsigned n = 0;

	shard_each (shard, cache)
		n += shard_release(cache, shard, keep);
	return n;
}

static unsigned min_partial(const struct slab_cache *cache)
{
	return __atomic_load_n(&cache->min_partial, __ATOMIC_RELAXED);
}

void shard_trim(struct slab_cache *cache, struct shard *shard)
{
	shard_release(cache, shard, min_partial(cache));
}

static unsigned tick(struct slab_cache *cache, struct shard *shard)
{
	unsigned keep, low;

	if (!__atomic_load_n(&shard->empties, __ATOMIC_RELAXED))
		return 0;
	cpu_lock_take(&shard->lock);
	low = shard->empties_low;
	keep = shard->empties - (low < shard->empties ? low : shard->empties);
	if (keep < min_partial(cache))
		keep = min_partial(cache);
	shard->empties_low = shard->empties < keep ? shard->empties : keep;
	cpu_lock_drop(&shard->lock);
	return shard_release(cache, shard, keep);
}

unsigned cache_tick(struct slab_cache *cache)
{
	unsigned n = 0;

	shard_each (shard, cache)
		n += tick(cache, shard);
	return n;
}

static bool has_empties(const struct slab_cache *cache)
{
	shard_each (shard, cache)
		if (__atomic_load_n(&shard->empties, __ATOMIC_RELAXED))
			return true;
	return false;
}

/* This thread has come to allocate from another cache: it waits for no thread that works at this
 * one. */
static void reap_shard(struct slab_cache *cache, struct shard *shard)
{
	while (__atomic_load_n(&shard->empties, __ATOMIC_RELAXED) && flush_lock_try(cache)) {
		release_piece(cache, shard, 0);
		flush_unlock(cache);
	}
}

static size_t reap(struct slab_cache *cache)
{
	const uint64_t before = __atomic_load_n(&cache->account.used, __ATOMIC_RELAXED);
	uint64_t after;

	shard_each (shard, cache)
		reap_shard(cache, shard);
	after = __atomic_load_n(&cache->account.used, __ATOMIC_RELAXED);
	return after < before ? before - after : 0;
}

size_t caches_reap(const struct slab_cache *but)
{
	unsigned looks = REAP_CACHES;
	size_t bytes = 0;
	struct pin pin;

	while (bytes < REAP_BYTES && registry_look_further(&pin, has_empties, but, &looks)) {
		bytes += reap(pin.cache);
		cache_unpin(&pin);
	}
	__atomic_fetch_add(&slab_pages.reaped, bytes, __ATOMIC_RELAXED);
	return bytes;
}
