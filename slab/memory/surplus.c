/* SPDX-License-Identifier: MIT */
/* A piece is small, because the thread has come to free one object. */
#include "memory/surplus.h"

#include "base/options.h"
#include "core/registry.h"
#include "core/shard.h"
#include "core/slab.h"
#include "memory/growth.h"
#include "memory/turn.h"
#include "pages/free_slabs.h"

/* The process may keep 1/SHARE of its peak, or LEAST if that is more. */
#define SHARE 16u
#define LEAST ((uint64_t)1 << 20)
#define PIECE ((size_t)4 << 20)

/* Atomic; the thread whose turn it is writes them. */
static uint64_t kept_until; /* the time until which the process keeps its surplus */
static uint64_t stuck; /* free bytes of which none could be returned */

/* Of the thread whose turn it is. */
static uint64_t returned_at, resident_then; /* the last piece */
static uint64_t unreviewed; /* bytes that were returned since the last review */

static uint64_t load(const uint64_t *number)
{
	return __atomic_load_n(number, __ATOMIC_RELAXED);
}

static uint64_t free_bytes(void)
{
	return load(&slab_pages.empty_bytes) + load(&slab_pages.free_slab_bytes);
}

static uint64_t share(void)
{
	const uint64_t part = load(&growth_peak) / SHARE, soft = load(&slab_pages.soft_limit);

	if (soft && account_resident() > soft)
		return 0;
	return part > LEAST ? part : LEAST;
}

static uint64_t decay_us(void)
{
	const long ms = slab_options()->decay_ms;

	return ms < 0 ? 0 : (uint64_t)ms * 1000;
}

bool surplus_is_due(uint64_t now)
{
	const uint64_t bytes = free_bytes();

	return bytes > share() && bytes > load(&stuck) && now >= load(&kept_until);
}

static bool has_grown_again(uint64_t now)
{
	return returned_at && now - returned_at < decay_us() &&
	       account_resident() > resident_then + share();
}

/* A destructor may wait for a lock that the application holds while it frees. */
static void release_some(struct slab_cache *cache)
{
	const unsigned most = (unsigned)(PIECE >> cache->small.shift);

	if (cache->dtor)
		return;
	shard_each (shard, cache) {
		const unsigned empties = __atomic_load_n(&shard->empties, __ATOMIC_RELAXED);

		if (empties)
			shard_release(cache, shard, empties > most ? empties - most : 0);
	}
}

/* Let the page layer have a piece. */
static void release_empties(void)
{
	struct pin pin = {0};

	while (load(&slab_pages.free_slab_bytes) < PIECE && registry_next_pinned(&pin))
		release_some(pin.cache);
	if (pin.cache)
		cache_unpin(&pin);
}

static void return_piece(void)
{
	size_t bytes;

	release_empties();
	bytes = segment_trim_piece(PIECE);
	unreviewed += bytes;
	if (unreviewed >= share()) {
		unreviewed = 0;
		growth_review();
	}
	__atomic_store_n(&stuck, bytes ? 0 : free_bytes() + LEAST, __ATOMIC_RELAXED);
}

void surplus_return(uint64_t now)
{
	if (!decay_us() || !turn_take(TURN_SURPLUS))
		return;
	if (has_grown_again(now))
		__atomic_store_n(&kept_until, now + decay_us(), __ATOMIC_RELAXED);
	else
		return_piece();
	returned_at = now;
	resident_then = account_resident();
	turn_end(TURN_SURPLUS);
}
