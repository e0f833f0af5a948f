/* SPDX-License-Identifier: MIT */
#include "memory/reclaim.h"
#include "base/cancel.h"
#include "base/clock.h"
#include "core/callback.h"
#include "core/slab.h"
#include "pages/account.h"
#include "registry/registry.h"

#include <pthread.h>
#include <slab/memory.h>

/* Rounds of slab_reclaim() in which objects are freed, but no slab gets empty. */
#define FRUITLESS_ROUNDS 8u

static __thread bool asking;

bool ask_is_asking(void)
{
	return asking;
}

/* --- whom --------------------------------------------------------------------------- */

static bool was_asked(const struct asked *round, const struct slab_cache *cache)
{
	for (unsigned i = 0; i < round->count; i++)
		if (round->cache[i] == cache)
			return true;
	return false;
}

/* Bytes to a power of two: its exponent + 1; 0: nothing to be had. */
static unsigned weight(const struct slab_cache *cache)
{
	size_t bytes = __atomic_load_n(&cache->account.used, __ATOMIC_RELAXED);

	return bytes ? 64 - (unsigned)__builtin_clzl(bytes) : 0;
}

/* Its owner does not know a cache before it was returned to him. */
static bool may_be_asked(const struct slab_cache *cache)
{
	return cache->reclaim && !cache_is_dying(cache) &&
	       __atomic_load_n(&cache->complete, __ATOMIC_ACQUIRE) && weight(cache);
}

static bool comes_before(const struct slab_cache *a, const struct slab_cache *b)
{
	unsigned wa = weight(a), wb = weight(b);

	return wa != wb ? wa > wb : a->asked < b->asked;
}

/* With registry_lock. */
static struct slab_cache *choose(const struct asked *round, const struct slab_cache *only)
{
	struct slab_cache *best = NULL;

	for (struct slab_cache *c = registry_first; c; c = c->next)
		if ((!only || c == only) && may_be_asked(c) && !was_asked(round, c) &&
		    (!best || comes_before(c, best)))
			best = c;
	return best;
}

/* Pinned; NULL: nobody is left. */
static struct slab_cache *pick(struct asked *round, const struct slab_cache *only)
{
	static uint64_t turn;
	struct slab_cache *cache;

	if (round->count == ASKED_MAX)
		return NULL;
	if (round->wait)
		pthread_mutex_lock(&registry_lock);
	else if (!limit_lock_soon(&registry_lock))
		return NULL;
	cache = choose(round, only);
	if (cache) {
		cache->asked = ++turn;
		cache_pin(cache);
		round->cache[round->count++] = cache;
	}
	pthread_mutex_unlock(&registry_lock);
	return cache;
}

/* --- asking ---------------------------------------------------------------------------- */

static size_t call(struct slab_cache *cache)
{
	struct callback callback = callback_begin(cache);
	size_t objects;

	asking = true;
	objects = cache->reclaim(cache, cache->arg);
	asking = false;
	callback_end(&callback);
	__atomic_fetch_add(&cache->memory.reclaims, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&cache->memory.reclaimed, objects, __ATOMIC_RELAXED);
	return objects;
}

bool ask_next(struct asked *round, struct slab_cache *only, size_t *ret_bytes)
{
	struct slab_cache *cache = pick(round, only);

	*ret_bytes = 0;
	if (!cache)
		return false;
	round->objects += call(cache);
	*ret_bytes = limit_shrink(cache);
	cache_unpin(cache);
	return true;
}

static size_t reclaim(size_t bytes)
{
	size_t got = slab_trim(), before, bytes_of_slabs, trimmed;
	unsigned fruitless = 0;

	while (got < bytes && fruitless < FRUITLESS_ROUNDS) {
		struct asked round = {.wait = true};

		before = got;
		while (got < bytes && ask_next(&round, NULL, &bytes_of_slabs)) {
			segment_trim(&trimmed);
			got += trimmed;
		}
		if (!round.objects)
			break;
		fruitless = got > before ? 0 : fruitless + 1;
	}
	return got;
}

size_t slab_reclaim(size_t bytes)
{
	int cancel = cancel_disable();
	size_t got = asking || debug_is_destroying() ? 0 : reclaim(bytes);

	cancel_restore(cancel);
	return got;
}

/* --- trying again ---------------------------------------------------------------------------- */

/* true: some memory came free, or may have. */
static bool regain(struct retry *retry)
{
	long bytes;

	if (retry->regained == LIMIT_TRIES_REGAINED)
		return false;
	bytes = limit_regain(retry->cache, &retry->wish);
	/* What other CPUs of the cache held is no slab of its own, but may do; and who holds
	 * the lock for long may have been preempted, and puts back what he has in hand. */
	if (bytes > 0 || (limit_cause() == LIMIT_CACHE && retry->regained < LIMIT_TRIES)) {
		retry->regained++;
		return true;
	}
	retry->regained = LIMIT_TRIES_REGAINED;
	return false;
}

/* Others may take what the callbacks freed; then they are asked again, so often. */
static bool ask(struct retry *retry)
{
	struct slab_cache *only = limit_cause() == LIMIT_CACHE ? retry->cache : NULL;
	size_t before = retry->round.objects, bytes;

	for (;;) {
		while (ask_next(&retry->round, only, &bytes))
			if (bytes || retry->round.objects > before)
				return true;
		if (!retry->round.objects || ++retry->rounds == LIMIT_TRIES)
			return false;
		retry->round = (struct asked){0};
		before = 0;
	}
}

/* More than there may be, or than all caches together could give. */
static bool is_hopeless(const struct retry *retry)
{
	switch (limit_cause()) {
	case LIMIT_PROCESS:
		return retry->bytes > slab_limit();
	case LIMIT_SYSTEM:
		return retry->bytes > __atomic_load_n(&slab_pages.account.used, __ATOMIC_RELAXED);
	default:
		return false;
	}
}

bool retry_allocation(struct retry *retry)
{
	bool again;
	int cancel;

	if (limit_cause() == LIMIT_NONE || asking || debug_is_destroying())
		return false;
	cancel = cancel_disable();
	again = regain(retry) || (!is_hopeless(retry) && ask(retry));
	cancel_restore(cancel);
	return again;
}
