/* SPDX-License-Identifier: MIT */
/*
 * Statistics of the loaded caches: adds up the slabs of a scan, and the objects that CPUs and
 * magazines hold.
 */
#include <slab/slab.h>
#include <slab/stats.h>

#include "core/shard.h"
#include "process.h"

#define ROWS_AT_ONCE 16u

static const uint64_t layout_flags[] = {SLAB_RED_ZONE, SLAB_POISON, SLAB_STORE_USER};

#define LAYOUT_FLAGS (sizeof(layout_flags) / sizeof(layout_flags[0]))

_Static_assert(1u << LAYOUT_FLAGS == INSPECT_LAYOUTS, "each combination has a number");

uint64_t inspect_layout_flags(unsigned index)
{
	uint64_t debug_flags = 0;

	for (unsigned i = 0; i < LAYOUT_FLAGS; i++)
		debug_flags |= index >> i & 1 ? layout_flags[i] : 0;
	return debug_flags;
}

static unsigned layout_index(uint64_t debug_flags)
{
	unsigned index = 0;

	for (unsigned i = 0; i < LAYOUT_FLAGS; i++)
		index |= (unsigned)!!(debug_flags & layout_flags[i]) << i;
	return index;
}

static void count_tagged(struct inspect_cache *cache, const struct inspect_slab *seen)
{
	struct slab_stats *stats = &cache->stats;

	stats->guarded_slabs += seen->guarded;
	stats->debug_slabs += seen->slab.debug && !seen->guarded;
	if (!seen->is_legacy)
		return;
	stats->legacy_slabs++;
	/* libslab sets DEBUG_FLAG_TOOL itself: for the user, these slabs have no debug flags. */
	if (!seen->slab.debug || seen->debug.debug_flags == DEBUG_FLAG_TOOL)
		cache->legacy_plain++;
	else
		cache->legacy[layout_index(seen->debug.debug_flags)]++;
}

static void count_place(struct inspect_cache *cache, const struct inspect_slab *seen, unsigned node)
{
	struct slab_stats *stats = &cache->stats;
	const bool debug = seen->tagged && seen->slab.debug;

	if (debug ? seen->used == seen->slab.initialized : seen->slab.bucket == SLAB_FULL) {
		stats->full++;
	} else if (debug ? !seen->is_legacy && !seen->guarded && !seen->debug.disabled
			 : seen->slab.bucket < SLAB_EMPTY) {
		stats->partial++;
		cache->objects_partial += seen->used;
		stats->node_partial[node]++;
	} else if (!debug && seen->slab.bucket == SLAB_EMPTY) {
		stats->empty++;
	}
}

static void count_slab(struct inspection *in, struct inspect_cache *cache,
		       const struct inspect_slab *seen, void *arg)
{
	struct slab_stats *stats = &cache->stats;
	const struct slab *slab = &seen->slab;
	unsigned node = slab->node < SLAB_STATS_MAX_NODES ? slab->node : 0;

	(void)arg;
	in->slab_bytes += seen->bytes;
	in->populated_bytes += seen->populated;
	stats->slabs++;
	stats->slab_bytes += seen->bytes;
	stats->objects += seen->used;
	stats->total_objects += slab->objects;
	cache->populated += seen->populated;
	stats->node_slabs[node]++;
	stats->node_objects[node] += seen->used;
	count_place(cache, seen, node);
	if (seen->tagged)
		count_tagged(cache, seen);
}

/* The number of objects in the arrays of all CPUs. */
static int count_arrays(const struct inspection *in, const char *arrays, uint64_t *ret_sum)
{
	uint64_t count[ROWS_AT_ONCE];
	int error = 0;

	*ret_sum = 0;
	for (unsigned cpu = 0; cpu < in->cpus && !error; cpu += ROWS_AT_ONCE) {
		const unsigned left = in->cpus - cpu, n = left < ROWS_AT_ONCE ? left : ROWS_AT_ONCE;

		error = inspect_read_pieces(in, inspect_array_row(arrays, cpu) + CPU_ARRAY_COUNT,
					    sizeof(count[0]), (size_t)1 << CPU_ROW_SHIFT, n, count);
		for (unsigned i = 0; i < n && !error; i++)
			*ret_sum += inspect_array_count(in, count[i]);
	}
	return error;
}

static int count_depots(const struct inspection *in, struct inspect_cache *cache)
{
	struct cache_node node;
	int error = 0;

	for (unsigned n = 0; n < in->process.nodes && !error; n++) {
		error = inspect_node(in, cache, n, &node);
		cache->stats.cpu_objects += error ? 0 : node.depot.objects;
	}
	return error;
}

/* What is free, but beside its slab. */
static int count_held(const struct inspection *in, struct inspect_cache *cache)
{
	struct slab_stats *stats = &cache->stats;
	uint64_t held, waiting = 0;
	int error = count_arrays(in, cache->copy->own_arrays, &held);

	if (!error && cache->copy->rcu)
		error = count_arrays(in, cache->copy->rcu_arrays, &waiting);
	stats->cpu_objects += held;
	stats->rcu_pending += waiting;
	return error ? error : count_depots(in, cache);
}

static int count_events(const struct inspection *in, struct inspect_cache *cache)
{
	struct shard shard;
	int error = 0;

	for (unsigned i = 0; i < inspect_shards(in) && !error; i++) {
		error = inspect_shard(in, cache, i, &shard);
		for (unsigned e = 0; e < SLAB_EVENT_COUNT && !error; e++)
			cache->stats.event[e] += shard.event[e];
	}
	return error;
}

/* Objects that CPUs hold and those of the reserve are not in use by the application. */
static void subtract_unused(struct slab_stats *stats)
{
	const uint64_t unused = stats->cpu_objects + stats->reserve_left;

	stats->objects -= unused < stats->objects ? unused : stats->objects;
}

int inspect_count(struct inspection *in)
{
	int error;

	in->slab_bytes = 0;
	in->populated_bytes = 0;
	in->array_bytes = cpu_area_bytes(in->areas, in->cpus);
	in->metadata_bytes = in->array_bytes + in->pages.metadata_bytes;
	error = inspect_each_slab(in, count_slab, NULL);
	for (size_t i = 0; i < in->count && !error; i++) {
		error = count_held(in, &in->caches[i]);
		if (!error)
			error = count_events(in, &in->caches[i]);
		subtract_unused(&in->caches[i].stats);
	}
	return error;
}
