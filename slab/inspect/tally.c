/* SPDX-License-Identifier: MIT */
/*
 * Statistics of the loaded caches: adds up the slabs of a scan, and the objects that CPUs hold.
 */
#include <slab/slab.h>
#include <slab/stats.h>

#include "inspect/process.h"

#define SLOTS_AT_ONCE 4u

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
	stats->populated += seen->populated;
	stats->node_slabs[node]++;
	stats->node_objects[node] += seen->used;
	if (slab->listed) {
		stats->partial++;
		stats->objects_partial += seen->used;
		stats->node_partial[node]++;
	} else if (seen->owner != CPU_NONE) {
		stats->cpu_slabs++;
	} else if (seen->tagged ? seen->used == slab->initialized
				: !(slab->remote & REMOTE_OWNED)) {
		stats->full++;
	}
	if (seen->tagged)
		count_tagged(cache, seen);
}

static void count_slot(struct slab_stats *stats, const struct cpu_slot *slot)
{
	for (unsigned e = 0; e < SLAB_EVENT_COUNT; e++)
		stats->event[e] += slot->event[e];
	stats->cpu_objects += cpu_word_count(slot->remote_batch);
}

/* Read a piece of the rows of n CPUs; `place` is its address in the row of CPU 0. */
static int read_rows(const struct inspection *in, const char *place, unsigned cpu, unsigned n,
		     size_t size, void *to)
{
	uint64_t first = (uintptr_t)place + ((uint64_t)cpu << CPU_AREA_SHIFT);

	return inspect_read_pieces(in, first, size, (size_t)1 << CPU_AREA_SHIFT, n, to);
}

/* Read the counts of the LIFOs of n CPUs: each count is the first word of its LIFO. */
static int read_lifo_counts(const struct inspection *in, const char *lifos, unsigned cpu,
			    unsigned n, uint64_t *ret_sum)
{
	uint64_t count[SLOTS_AT_ONCE];
	int error = read_rows(in, lifos, cpu, n, sizeof(count[0]), count);

	*ret_sum = 0;
	for (unsigned i = 0; !error && i < n; i++)
		*ret_sum += count[i] <= CPU_LIFO_MAX ? count[i] : 0;
	return error;
}

/* Objects that wait for a grace period and are still in the LIFOs of CPUs. */
static int count_waiting(const struct inspection *in, struct inspect_cache *cache)
{
	for (unsigned cpu = 0; cache->copy->rcu && cpu < in->cpus; cpu += SLOTS_AT_ONCE) {
		unsigned left = in->cpus - cpu, n = left < SLOTS_AT_ONCE ? left : SLOTS_AT_ONCE;
		uint64_t sum;
		int error = read_lifo_counts(in, cache->copy->rcu_lifos, cpu, n, &sum);

		if (error)
			return error;
		cache->stats.rcu_pending += sum;
	}
	return 0;
}

static int count_slots(const struct inspection *in, struct inspect_cache *cache)
{
	struct cpu_slot slot[SLOTS_AT_ONCE];
	struct slab_stats *stats = &cache->stats;
	uint64_t unused, sum;

	for (unsigned cpu = 0; cpu < in->cpus; cpu += SLOTS_AT_ONCE) {
		unsigned left = in->cpus - cpu, n = left < SLOTS_AT_ONCE ? left : SLOTS_AT_ONCE;
		int error = read_rows(in, cache->copy->cpu_slots, cpu, n, sizeof(slot[0]), slot);

		if (!error)
			error = read_lifo_counts(in, cache->copy->cpu_lifos, cpu, n, &sum);
		if (error)
			return error;
		for (unsigned i = 0; i < n; i++)
			count_slot(stats, &slot[i]);
		stats->cpu_objects += sum;
	}
	stats->cpu_objects += cache->copy->in_magazines;
	/* Objects that CPUs hold and those of the reserve are not in use by the application. */
	unused = stats->cpu_objects + stats->reserve_left;
	stats->objects -= unused < stats->objects ? unused : stats->objects;
	return 0;
}

int inspect_count(struct inspection *in)
{
	int error;

	in->slab_bytes = 0;
	in->populated_bytes = 0;
	in->slot_bytes = cpu_area_bytes(in->slot_areas, in->cpus);
	in->metadata_bytes = in->slot_bytes + in->pages.metadata_bytes;
	error = inspect_each_slab(in, count_slab, NULL);
	for (size_t i = 0; i < in->count && !error; i++)
		error = count_slots(in, &in->caches[i]);
	for (size_t i = 0; i < in->count && !error; i++)
		error = count_waiting(in, &in->caches[i]);
	return error;
}
