/* SPDX-License-Identifier: MIT */
/*
 * Reclaim: which cache is called next, the call of its args.reclaim, and the retry of an
 * allocation that failed. reclaim.h describes the rules for callbacks.
 */
#include "memory/reclaim.h"
#include "base/cancel.h"
#include "base/own_work.h"
#include "base/probe.h"
#include "core/callback.h"
#include "core/registry.h"
#include "core/slab.h"
#include "pages/account.h"
#include "pages/free_slabs.h"
#include "pages/os.h"

#include <pthread.h>
#include <slab/memory.h>

/* slab_reclaim() gives up after this number of rounds in a row that freed objects but returned no
 * memory. */
#define FRUITLESS_ROUNDS 8u

/* The most caches that one round calls, the largest first. */
#define CALLS_MAX 64u

static __thread bool reclaiming;
static uint64_t last_seq; /* atomic: the number of the last call */
static uint64_t freed; /* atomic: objects, as all callbacks returned */

/* --- the choice --------------------------------------------------------------------------- */

/* The objects that all threads' callbacks have freed since the round began. */
static uint64_t freed_in(const struct reclaim_round *round)
{
	return round->number ? __atomic_load_n(&freed, __ATOMIC_RELAXED) - round->freed_before : 0;
}

/* May another round find something? Callbacks have freed objects, or those of other threads may. */
static bool was_fruitful(const struct reclaim_round *round)
{
	const uint64_t calls = __atomic_load_n(&last_seq, __ATOMIC_RELAXED) + 1 - round->number;

	return freed_in(round) || (round->number && calls > round->count);
}

/* The bytes of slabs, rounded to a power of two: its exponent + 1. 0: the cache has no slabs. */
static unsigned weight(const struct slab_cache *cache)
{
	size_t bytes = __atomic_load_n(&cache->account.used, __ATOMIC_RELAXED);

	return bytes ? 64 - (unsigned)__builtin_clzl(bytes) : 0;
}

static uint64_t seq_of(const struct slab_cache *cache)
{
	return __atomic_load_n(&cache->reclaim_seq, __ATOMIC_RELAXED);
}

/* An incomplete cache is not called: its callback may expect a handle that
 * slab_cache_create() has not returned yet. */
static bool may_be_called(const struct reclaim_round *round, const struct slab_cache *cache)
{
	return cache->reclaim && __atomic_load_n(&cache->complete, __ATOMIC_ACQUIRE) &&
	       weight(cache) && seq_of(cache) < round->number;
}

static bool comes_before(const struct slab_cache *a, const struct slab_cache *b)
{
	unsigned wa = weight(a), wb = weight(b);

	return wa != wb ? wa > wb : seq_of(a) < seq_of(b);
}

/* Pin the next cache; NULL: none is left. */
static struct slab_cache *choose(const struct reclaim_round *round, struct slab_cache *only,
				 struct pin *best)
{
	struct slab_cache *cache;
	struct pin pin = {0};

	best->cache = NULL;
	if (only)
		return may_be_called(round, only) && registry_pin(best, only) ? only : NULL;
	while ((cache = registry_next_pinned(&pin))) {
		if (!may_be_called(round, cache) ||
		    (best->cache && !comes_before(cache, best->cache)))
			continue;
		if (best->cache)
			cache_unpin(best);
		cache_pin(best, cache);
	}
	return best->cache;
}

static void begin(struct reclaim_round *round)
{
	if (round->number)
		return;
	round->number = __atomic_load_n(&last_seq, __ATOMIC_RELAXED) + 1;
	round->freed_before = __atomic_load_n(&freed, __ATOMIC_RELAXED);
}

/* Choose and pin the next cache; NULL: none is left. */
static struct slab_cache *pick(struct reclaim_round *round, struct slab_cache *only,
			       struct pin *pin)
{
	struct slab_cache *cache;

	if (round->count == CALLS_MAX || own_work_must_end())
		return NULL;
	begin(round);
	cache = choose(round, only, pin);
	if (!cache)
		return NULL;
	__atomic_store_n(&cache->reclaim_seq, __atomic_add_fetch(&last_seq, 1, __ATOMIC_RELAXED),
			 __ATOMIC_RELAXED);
	round->count++;
	return cache;
}

/* --- reclaiming ---------------------------------------------------------------------------- */

static void call(struct slab_cache *cache)
{
	struct callback callback = callback_begin(cache);
	size_t objects;

	SLAB_PROBE(reclaim_begin, cache->name, cache);
	reclaiming = true;
	objects = cache->reclaim(cache, cache->arg);
	reclaiming = false;
	SLAB_PROBE(reclaim_end, cache->name, cache, objects);
	callback_end(&callback);
	__atomic_fetch_add(&cache->memory.reclaims, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&cache->memory.reclaimed, objects, __ATOMIC_RELAXED);
	__atomic_fetch_add(&freed, objects, __ATOMIC_RELAXED);
}

/* Call the next cache that was not called in this round; with `only`, consider that cache alone.
 * *ret_slabs: slabs that went to the page layer. false: no cache is left. */
static bool reclaim_next(struct reclaim_round *round, struct slab_cache *only, unsigned *ret_slabs)
{
	struct pin pin;
	struct slab_cache *cache = pick(round, only, &pin);

	*ret_slabs = 0;
	if (!cache)
		return false;
	call(cache);
	*ret_slabs = limit_shrink(cache);
	cache_unpin(&pin);
	return true;
}

static size_t reclaim(size_t bytes)
{
	size_t got = slab_trim(), before;
	unsigned fruitless = 0, slabs;

	while (got < bytes && fruitless < FRUITLESS_ROUNDS) {
		struct reclaim_round round = {0};

		before = got;
		while (got < bytes && reclaim_next(&round, NULL, &slabs))
			got += segment_trim();
		if (!was_fruitful(&round))
			break;
		fruitless = got > before ? 0 : fruitless + 1;
	}
	return got;
}

size_t slab_reclaim(size_t bytes)
{
	int cancel = cancel_disable();
	size_t got = reclaiming || debug_is_destroying() ? 0 : reclaim(bytes);

	cancel_restore(cancel);
	return got;
}

/* --- trying again ---------------------------------------------------------------------------- */

/* Has another thread returned memory to the process? */
static bool has_room(const struct retry *retry)
{
	return alloc_failure_cause() == ALLOC_FAILURE_PROCESS && account_has_room(retry->bytes);
}

/* Take back free memory. true: some memory became free, or may have become free. */
static bool make_room(struct retry *retry)
{
	bool any;

	if (retry->made_room == LIMIT_TRIES_WITH_ROOM)
		return false;
	any = limit_make_room(retry->cache, &retry->placement,
			      retry->takes_object ? &retry->obj : NULL);
	/* At the limit of a cache, try again even if there was nothing to take: a thread that was
	 * returning the pages of slabs for too long may have put them back. */
	if (any || ((alloc_failure_cause() == ALLOC_FAILURE_CACHE || has_room(retry)) &&
		    retry->made_room < LIMIT_TRIES)) {
		retry->made_room++;
		return true;
	}
	retry->made_room = LIMIT_TRIES_WITH_ROOM;
	return false;
}

/* Call callbacks until one frees something. Other threads may take the freed memory, so the
 * retries of one allocation go through all caches up to LIMIT_TRIES times. */
static bool reclaim_others(struct retry *retry)
{
	struct slab_cache *only =
		alloc_failure_cause() == ALLOC_FAILURE_CACHE ? retry->cache : NULL;
	uint64_t before = freed_in(&retry->round);
	unsigned slabs;

	for (;;) {
		while (reclaim_next(&retry->round, only, &slabs))
			if (slabs || freed_in(&retry->round) > before)
				return true;
		if (!was_fruitful(&retry->round) || ++retry->rounds == LIMIT_TRIES)
			return false;
		retry->round = (struct reclaim_round){0};
		before = 0;
	}
}

static bool is_beyond_limit(const struct retry *retry)
{
	return alloc_failure_cause() == ALLOC_FAILURE_PROCESS && retry->bytes > slab_limit();
}

/* Is the allocation larger than the memory that all caches have together? */
static bool is_hopeless(const struct retry *retry)
{
	return alloc_failure_cause() == ALLOC_FAILURE_SYSTEM && retry->bytes > account_used();
}

/* The address space of libslab. */
static uint64_t held_bytes(void)
{
	const uint64_t segments = __atomic_load_n(&slab_pages.segment_count, __ATOMIC_RELAXED);

	return segments * SEGMENT_SIZE +
	       __atomic_load_n(&slab_pages.large_bytes, __ATOMIC_RELAXED) +
	       __atomic_load_n(&slab_pages.metadata_bytes, __ATOMIC_RELAXED);
}

/* Would the system refuse it even if libslab gave back all that it has? This costs a system call at
 * most, and much less than taking back from all caches. */
static bool must_fail(const struct retry *retry)
{
	const uint64_t held = held_bytes();

	return alloc_failure_cause() == ALLOC_FAILURE_SYSTEM && retry->bytes > held &&
	       !os_may_map(retry->bytes - held);
}

bool alloc_retry(struct retry *retry)
{
	bool again;
	int cancel;

	retry->obj = NULL;
	if (alloc_failure_cause() == ALLOC_FAILURE_NONE || reclaiming || debug_is_destroying())
		return false;
	if (is_beyond_limit(retry) || (!retry->made_room && must_fail(retry)))
		return false;
	cancel = cancel_disable();
	again = make_room(retry) || (!is_hopeless(retry) && reclaim_others(retry));
	cancel_restore(cancel);
	return again;
}
