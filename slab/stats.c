/* SPDX-License-Identifier: MIT */
/*
 * Statistics, by scanning descriptors. No list is walked and no allocation lock
 * is taken for a cache's numbers: each descriptor is read as it is at that
 * moment, and the counters are sums over the CPUs' slots.
 */
#include <errno.h>
#include <string.h>

#include "debug_cache.h"

void cache_each_slab(const struct slab_cache *cache, void (*fn)(struct slab *, void *), void *arg)
{
	for (struct segment *segment = segment_first(); segment; segment = segment->next) {
		if (segment->geometry != cache->geometry && !geometry_is_debug(segment->geometry))
			continue;
		for (unsigned i = 0; i < segment->slabs; i++) {
			struct slab *slab = segment_slab(segment, i);

			if (slab_user(slab) == cache)
				fn(slab, arg);
		}
	}
}

unsigned slab_used(const struct slab *slab)
{
	uint64_t remote = __atomic_load_n(&slab->remote, __ATOMIC_RELAXED);
	unsigned carved = slab_carved(slab);
	unsigned unused = cpu_slab_free_count(&slab->cpu) + (unsigned)(remote >> 16 & 0xffff);

	if (slab_is_tagged(slab, SLAB_TAG_DEBUG))
		return debug_used(slab);
	return unused < carved ? carved - unused : 0;
}

static void count_tagged(const struct slab *slab, struct slab_stats *stats)
{
	struct slab_cache *cache = slab_user(slab);

	if (debug_is_guarded(slab))
		stats->guarded_slabs++;
	else if (slab->debug)
		stats->debug_slabs++;
	if (!slab->debug ||
	    (cache && !debug_is_guarded(slab) && !debug_has_present_layout(cache, slab)))
		stats->draining_slabs++;
}

/* What a slab looks like at this moment; the parts may be a little apart. */
static void count_slab(struct slab *slab, void *arg)
{
	struct slab_stats *stats = arg;
	uint64_t remote = __atomic_load_n(&slab->remote, __ATOMIC_RELAXED);
	unsigned used = slab_used(slab);
	bool listed = __atomic_load_n(&slab->listed, __ATOMIC_RELAXED);
	bool tagged = slab_is_tagged(slab, SLAB_TAG_DEBUG);

	stats->slabs++;
	stats->objects += used;
	stats->total_objects += __atomic_load_n(&slab->objects, __ATOMIC_RELAXED);
	stats->populated += __atomic_load_n(&slab->populated, __ATOMIC_RELAXED);
	stats->node_slabs[slab->node]++;
	stats->node_objects[slab->node] += used;
	if (listed) {
		stats->partial++;
		stats->objects_partial += used;
		stats->node_partial[slab->node]++;
	} else if (cpu_slab_owner(&slab->cpu) != CPU_NONE) {
		stats->cpu_slabs++;
	} else if (tagged ? used == slab_carved(slab) : !(remote & REMOTE_OWNED)) {
		stats->full++;
	}
	if (tagged)
		count_tagged(slab, stats);
}

static void count_slots(const struct slab_cache *cache, struct slab_stats *stats)
{
	for (unsigned cpu = 0; cpu < cpu_possible(); cpu++) {
		const struct cpu_slot *slot = cpu_slot(cache->cpu_slots, cpu);

		for (unsigned e = 0; e < SLAB_EVENT_COUNT; e++)
			stats->event[e] += __atomic_load_n(&slot->event[e], __ATOMIC_RELAXED);
		stats->gathered += cpu_word_count(__atomic_load_n(&slot->gather, __ATOMIC_RELAXED));
		stats->gathered += __atomic_load_n(&slot->hot, __ATOMIC_RELAXED) != 0;
	}
}

int slab_cache_stats(struct slab_cache *cache, struct slab_stats *stats)
{
	if (!cache || cache->magic != CACHE_MAGIC || stats->struct_size != sizeof(*stats)) {
		errno = EINVAL;
		return -EINVAL;
	}
	*stats = (struct slab_stats){
		.struct_size = sizeof(*stats),
		.flags = cache->flags | (cache_letters(cache) & SLAB_DEBUG_LETTERS),
		.object_size = cache->object_size,
		.slab_size = cache->size,
		.align = cache->align,
		.objects_per_slab = cache->objects,
		.order = cache->slab_shift - 12,
		.has_ctor = cache->ctor != NULL,
		.merged = cache->aliases,
		.min_partial = cache->min_partial,
		.cpu_partial = cache->cpu_partial,
		.errors = __atomic_load_n(&cache->errors, __ATOMIC_RELAXED),
		.nodes = topology_nodes(),
	};
	memcpy(stats->name, cache->name, sizeof(stats->name));
	cache_each_slab(cache, count_slab, stats);
	count_slots(cache, stats);
	stats->objects -= stats->gathered < stats->objects ? stats->gathered : stats->objects;
	return 0;
}

int slab_for_each_cache(int (*fn)(struct slab_cache *cache, void *arg), void *arg)
{
	int result = 0;

	pthread_mutex_lock(&registry_lock);
	for (struct slab_cache *c = registry_first; c && !result; c = c->next)
		result = fn(c, arg);
	pthread_mutex_unlock(&registry_lock);
	return result;
}

size_t slab_cache_aliases(struct slab_cache *cache, const char **names, size_t max)
{
	for (size_t i = 0; i < cache->aliases && i < max; i++)
		names[i] = cache->alias[i];
	return cache->aliases;
}

static int add_cache(struct slab_cache *cache, void *arg)
{
	struct slab_process_stats *stats = arg;

	stats->caches++;
	for (unsigned n = 0; n < topology_nodes(); n++)
		stats->slab_bytes +=
			(uint64_t)__atomic_load_n(&cache->node[n].nr_slabs, __ATOMIC_RELAXED)
			<< cache->slab_shift;
	return 0;
}

int slab_process_stats(struct slab_process_stats *stats)
{
	if (stats->struct_size != sizeof(*stats)) {
		errno = EINVAL;
		return -EINVAL;
	}
	slab_init();
	*stats = (struct slab_process_stats){
		.struct_size = sizeof(*stats),
		.engine = cpu_engine->name,
		.cpus = cpu_possible(),
		.nodes = topology_nodes(),
		.metadata_bytes = cpu_slots_bytes(),
	};
	segment_account(stats);
	slab_for_each_cache(add_cache, stats);
	return 0;
}
