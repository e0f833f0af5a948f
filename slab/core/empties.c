/* SPDX-License-Identifier: MIT */
/*
 * Empty slabs. They stay with their shard, since a cache that has had them is likely to need them again.
 * They leave it when nobody needed them for a tick, when the process would have to grow, and when
 * somebody asks for memory.
 */
#include "core/flush_lock.h"
#include "core/registry.h"
#include "core/shard.h"
#include "core/slab.h"

/* Slabs that leave in one hold of the lock, and caches that one search for memory looks at. */
#define RELEASE_PIECE 32u
#define REAP_CACHES 32u
#define REAP_BYTES ((size_t)256 << 10)

/* Take up to `piece` empty slabs off the list, linked by next. */
static struct slab *take_empties(struct shard *shard, unsigned piece, unsigned keep)
{
	struct slab *chain = NULL;

	GUARD_STEP(release_lock, cpu_lock_take(&shard->lock));
	for (unsigned n = 0; n < piece && GUARD(release_empties, shard->empties > keep); n++) {
		struct slab *slab = shard->empty;

		slab_take_off(shard, slab);
		GUARD_STEP(release_shard, shard_remove(shard, slab));
		slab->next = chain;
		chain = slab;
	}
	cpu_lock_drop(&shard->lock);
	return chain;
}

unsigned shard_release(struct slab_cache *cache, struct shard *shard, unsigned keep)
{
	/* A destructor may fork: the child has all slabs that are listed. */
	const unsigned piece = GUARD_AGAINST(release_one, cache->dtor != NULL) ? 1 : RELEASE_PIECE;
	unsigned n = 0;
	struct slab *chain;

	while ((chain = take_empties(shard, piece, keep)))
		while (chain) {
			struct slab *slab = chain;

			chain = slab->next;
			slab_release(cache, slab);
			n++;
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
	if (__atomic_load_n(&shard->empties, __ATOMIC_RELAXED) > min_partial(cache))
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

static size_t reap(struct slab_cache *cache)
{
	const uint64_t before = __atomic_load_n(&cache->account.used, __ATOMIC_RELAXED);
	uint64_t after;

	cache_release(cache, 0);
	after = __atomic_load_n(&cache->account.used, __ATOMIC_RELAXED);
	return after < before ? before - after : 0;
}

size_t caches_reap(const struct slab_cache *but)
{
	unsigned looks = REAP_CACHES;
	struct slab_cache *cache;
	size_t bytes = 0;

	while (bytes < REAP_BYTES && (cache = registry_look_further(has_empties, but, &looks))) {
		bytes += reap(cache);
		cache_unpin(cache);
	}
	__atomic_fetch_add(&slab_pages.reaped, bytes, __ATOMIC_RELAXED);
	return bytes;
}
