/* SPDX-License-Identifier: MIT */
/*
 * Legacy slabs without debug flags, of a cache that now has some.
 *
 * Objects are freed into such a slab but not allocated from it. It keeps its map and its shard,
 * whose lock protects it, and is SLAB_OFF. SLAB_TAG_DEBUG sends each free of its objects to
 * debug_free(), which looks at the object's bit in the call.
 *
 * A free that began before the slab became a legacy slab may still put its object into an array.
 * The object counts as in use until the array is drained; then it is freed like one of an ordinary
 * slab. If it was the last one, legacy_finish() finds the slab.
 */
#include "core/debug_record.h"
#include "core/shard.h"
#include "core/slab.h"
#include "debug/debug_cache.h"

static bool is_unused(const struct slab *slab)
{
	return slab->free == slab->initialized;
}

/* An unused slab leaves its cache and its shard. */
static void leave(struct shard *shard, struct slab *slab)
{
	slab_withdraw(slab);
	shard_remove(shard, slab);
}

bool legacy_begin(struct slab_cache *cache, struct slab *slab)
{
	struct shard *shard = shard_lock_of(slab);
	bool is_ours, is_off, unused;

	if (GUARD_AGAINST(legacy_shard, !shard))
		return false;
	is_ours = GUARD(legacy_ours,
			slab_user(slab) == cache && !slab_is_tagged(slab, SLAB_TAG_DEBUG));
	is_off = GUARD_AGAINST(legacy_off, slab->bucket == SLAB_OFF);
	unused = is_ours && !is_off && is_unused(slab);
	if (is_ours && !is_off) {
		slab_take_off(shard, slab);
		if (unused)
			leave(shard, slab);
		else
			segment_set_user(slab, (const char *)cache + SLAB_TAG_DEBUG);
	}
	cpu_lock_drop(&shard->lock);
	if (unused)
		slab_release(cache, slab);
	return !is_ours || !is_off;
}

bool legacy_place(struct slab_cache *cache, struct shard *shard, struct slab *slab)
{
	if (is_unused(slab)) {
		leave(shard, slab);
		return true;
	}
	if (!(cache_debug_flags(cache) & DEBUG_FLAGS_SLAB)) {
		segment_set_user(slab, cache_user(cache));
		slab_put_on(shard, slab);
	}
	return false;
}

bool legacy_free(struct shard *shard, struct slab *slab, unsigned index)
{
	const uint64_t map = slab->map[index / 64] | UINT64_C(1) << index % 64;

	__atomic_store_n(&slab->map[index / 64], map, __ATOMIC_RELAXED);
	__atomic_store_n(&slab->free, (uint16_t)(slab->free + 1), __ATOMIC_RELAXED);
	__atomic_store_n(&shard->used, shard->used - 1, __ATOMIC_RELAXED);
	if (!is_unused(slab))
		return false;
	leave(shard, slab);
	return true;
}
