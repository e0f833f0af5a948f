/* SPDX-License-Identifier: MIT */
/*
 * Statistics of this process, from counters and from the sums of nodes, shards and CPUs. Other
 * threads change them meanwhile. The slabs of a cache are looked at only if there may be debug
 * slabs, which have no shard that counts them.
 */
#include <slab/stats.h>

#include "base/error.h"
#include "core/init.h"
#include "core/registry.h"
#include "core/shard.h"
#include "debug/debug_cache.h"
#include "debug/layout.h"
#include "pages/space.h"
#include "pages/topology.h"
#include "percpu/closing.h"

#define LOAD(member) __atomic_load_n(&(member), __ATOMIC_RELAXED)

/* The layout of new slabs, which depends on the present debug flags. */
static void put_layout(struct slab_stats *stats, const struct slab_cache *cache)
{
	const struct slab_order *order = cache_next_order(cache);
	const uint64_t debug_flags = cache_debug_flags(cache);
	struct debug_layout layout = {
		.size = cache->size, .objects = order->objects, .slab_shift = order->shift};

	if (debug_flags & DEBUG_FLAGS_SLAB)
		debug_layout(cache, debug_flags, &layout);
	stats->slab_size = layout.size;
	stats->objects_per_slab = layout.objects;
	stats->order = layout.slab_shift - 12;
}

static void put_own(struct slab_stats *stats, const struct slab_cache *cache)
{
	memcpy(stats->name, cache->name, sizeof(stats->name));
	stats->flags = cache->flags | (cache_debug_flags(cache) & SLAB_DEBUG_FLAGS);
	stats->object_size = cache->object_size;
	stats->align = cache->align;
	stats->has_ctor = cache->ctor != NULL;
	stats->min_partial = LOAD(cache->min_partial);
	stats->slab_bytes = LOAD(cache->account.used);
	stats->errors = LOAD(cache->errors);
	stats->limit = LOAD(cache->account.limit);
	stats->address_bytes = cache->space ? LOAD(cache->space->bytes) : 0;
	stats->counted = LOAD(cache->count.counted);
	stats->counted_us = LOAD(cache->count.counted_us);
}

static void put_memory(struct slab_stats *stats, const struct memory_counts *counts)
{
	stats->rcu_pending = LOAD(counts->rcu_pending);
	stats->rcu_freed = LOAD(counts->rcu_freed);
	stats->rcu_helped = LOAD(counts->rcu_helped);
	stats->limit_hits = LOAD(counts->limit_hits);
	stats->reserve = LOAD(counts->reserve);
	stats->reserve_left = LOAD(counts->reserve_left);
	stats->reclaims = LOAD(counts->reclaims);
	stats->reclaimed = LOAD(counts->reclaimed);
	stats->moved = LOAD(counts->moved);
}

/* Slabs without a shard are added by see_debug_slab(). Returns the number of those with one. */
static uint64_t put_node(struct slab_stats *stats, const struct slab_cache *cache, unsigned node)
{
	struct shard_sums sums;

	node_sums(cache, node, &sums);
	stats->node_slabs[node] = LOAD(cache->node[node].nr_slabs);
	stats->node_partial[node] = sums.partial;
	stats->node_objects[node] = sums.used;
	stats->slabs += stats->node_slabs[node];
	stats->partial += sums.partial;
	stats->empty += sums.empty;
	if (sums.slabs > sums.partial + sums.empty)
		stats->full += sums.slabs - sums.partial - sums.empty;
	stats->objects += sums.used;
	stats->total_objects += sums.room;
	return sums.slabs;
}

/* Descriptors change their use while a thread looks at them. */
#define RACES __attribute__((no_sanitize("thread")))

RACES static void add_place(struct slab_stats *stats, const struct slab *slab,
			    const struct slab_debug *debug, bool serves)
{
	const unsigned used = LOAD(debug->used), node = LOAD(slab->node);

	stats->objects += used;
	stats->node_objects[node] += used;
	stats->total_objects += LOAD(slab->objects);
	if (used == slab_initialized(slab)) {
		stats->full++;
	} else if (serves && !LOAD(debug->disabled)) {
		stats->partial++;
		stats->node_partial[node]++;
	}
}

struct look {
	const struct slab_cache *cache;
	struct slab_stats *stats;
};

/* The node's lock is not taken: of a guarded slab it is another one. The slab may lose its struct
 * slab_debug meanwhile, whose memory is never unmapped. */
RACES static void see_debug_slab(struct slab *slab, void *arg)
{
	const struct look *look = arg;
	struct slab_stats *stats = look->stats;
	const struct slab_debug *debug;
	bool guarded, is_legacy;

	if (!slab_is_tagged(slab, SLAB_TAG_DEBUG))
		return;
	debug = LOAD(slab->debug);
	if (!slab_is_tagged(slab, SLAB_TAG_DEBUG)) /* it may have become a large allocation */
		return;
	if (!debug) {
		stats->legacy_slabs++;
		if (stats->full) /* it was neither partial nor empty */
			stats->full--;
		return;
	}
	guarded = LOAD(debug->guarded);
	is_legacy = !guarded && !(LOAD(debug->debug_flags) & DEBUG_FLAG_PROFILE) &&
		    !debug_has_present_layout(look->cache, debug);
	stats->guarded_slabs += guarded;
	stats->debug_slabs += !guarded;
	stats->legacy_slabs += is_legacy;
	add_place(stats, slab, debug, !is_legacy && !guarded);
}

static void put_slabs(struct slab_stats *stats, const struct slab_cache *cache)
{
	struct look look = {cache, stats};
	uint64_t of_shards = 0;

	stats->nodes = topology_nodes();
	for (unsigned node = 0; node < stats->nodes; node++)
		of_shards += put_node(stats, cache, node);
	if (LOAD(cache->had_debug_flags) || stats->slabs != of_shards)
		cache_each_slab(cache, see_debug_slab, &look);
}

static void put_held(struct slab_stats *stats, const struct slab_cache *cache)
{
	uint64_t unused;

	stats->cpu_objects = arrays_objects(cache) + magazines_objects(cache);
	stats->rcu_pending += waiting_objects(cache);
	unused = stats->cpu_objects + stats->reserve_left;
	stats->objects -= unused < stats->objects ? unused : stats->objects;
}

int slab_cache_stats(struct slab_cache *cache, struct slab_stats *stats)
{
	if (!cache || cache->magic != CACHE_MAGIC || stats->struct_size != sizeof(*stats))
		return with_errno(-EINVAL);
	*stats = (struct slab_stats){.struct_size = sizeof(*stats)};
	put_own(stats, cache);
	put_layout(stats, cache);
	put_memory(stats, &cache->memory);
	put_slabs(stats, cache);
	for (unsigned event = 0; event < SLAB_EVENT_COUNT; event++)
		stats->event[event] = cache_events(cache, event);
	put_held(stats, cache);
	return 0;
}

/* Other threads may change one of two numbers between their reads. */
static uint64_t less(uint64_t from, uint64_t bytes)
{
	return from > bytes ? from - bytes : 0;
}

int slab_process_stats(struct slab_process_stats *stats)
{
	uint64_t large;

	if (stats->struct_size != sizeof(*stats))
		return with_errno(-EINVAL);
	slab_init();
	large = LOAD(slab_pages.large_bytes);
	*stats = (struct slab_process_stats){
		.struct_size = sizeof(*stats),
		.engine = cpu_engine->name,
		.cpus = cpu_possible(),
		.nodes = topology_nodes(),
		.caches = LOAD(registry_count),
		.segments = LOAD(slab_pages.segment_count),
		.segment_size = SEGMENT_SIZE,
		.slab_bytes = less(account_used(), large),
		.cached_bytes = LOAD(slab_pages.free_slab_bytes),
		.large_bytes = large,
		.metadata_bytes = cpu_area_bytes(LOAD(cpu_area_count), cpu_possible()) +
				  LOAD(slab_pages.metadata_bytes),
	};
	return 0;
}
