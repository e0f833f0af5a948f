/* SPDX-License-Identifier: MIT */
/*
 * Statistics of this process: looked at as any other is (process.h), by
 * scanning descriptors, with no lock held and nobody stopped.
 */
#include <errno.h>
#include <slab/stats.h>

#include "base/error.h"
#include "inspect/process.h"
#include "pages/topology.h"
#include "registry/init.h"
#include "registry/registry.h"
#include "stats/attributes.h"

unsigned cache_count_slabs(const struct slab_cache *cache)
{
	unsigned slabs = 0;

	for (unsigned n = 0; n < topology_nodes(); n++)
		slabs += __atomic_load_n(&cache->node[n].nr_slabs, __ATOMIC_RELAXED);
	return slabs;
}

/* A cache that is being destroyed gets no more slabs, and a slab is counted for as long as
 * it leads to its cache: the scan ends with the last one. */
void cache_each_slab(const struct slab_cache *cache, void (*fn)(struct slab *, void *), void *arg)
{
	unsigned left = cache_count_slabs(cache);
	const bool dying = cache_is_dying(cache);

	for (struct segment *segment = segment_first(); segment && left; segment = segment->next) {
		if (segment->geometry != cache->geometry && !geometry_is_debug(segment->geometry))
			continue;
		const unsigned slabs = __atomic_load_n(&segment->slabs, __ATOMIC_ACQUIRE);

		for (unsigned i = 0; i < slabs && left; i++) {
			struct slab *slab = segment_slab(segment, i);

			if (slab_user(slab) != cache)
				continue;
			fn(slab, arg);
			left -= dying;
		}
	}
}

int cache_stats(struct slab_cache *cache, struct slab_stats *stats, bool sums)
{
	struct inspect_cache room;
	struct slab_cache copy;
	struct inspection in;
	int error;

	if (!cache || cache->magic != CACHE_MAGIC || stats->struct_size != sizeof(*stats))
		return with_errno(-EINVAL);
	error = inspect_open(&in, &inspect_self, (uintptr_t)&slab_root);
	if (!error)
		error = inspect_load_one(&in, (uintptr_t)cache, &room, &copy);
	if (!error && sums)
		error = inspect_count(&in);
	if (!error)
		*stats = in.caches[0].stats;
	inspect_close(&in);
	return with_errno(error);
}

int slab_cache_stats(struct slab_cache *cache, struct slab_stats *stats)
{
	return cache_stats(cache, stats, true);
}

int slab_process_stats(struct slab_process_stats *stats)
{
	struct inspection in;
	int error;

	if (stats->struct_size != sizeof(*stats))
		return with_errno(-EINVAL);
	slab_init();
	error = inspect_open(&in, &inspect_self, (uintptr_t)&slab_root);
	if (!error)
		error = inspect_load(&in);
	if (!error)
		error = inspect_count(&in);
	if (!error)
		*stats = (struct slab_process_stats){
			.struct_size = sizeof(*stats),
			.engine = cpu_engine->name,
			.cpus = in.cpus,
			.nodes = in.process.nodes,
			.caches = (unsigned)in.count,
			.segments = in.pages.segment_count,
			.segment_size = SEGMENT_SIZE,
			.slab_bytes = in.slab_bytes,
			.cached_bytes = in.pages.free_slab_bytes,
			.large_bytes = in.pages.large_bytes,
			.metadata_bytes = in.metadata_bytes,
		};
	inspect_close(&in);
	return with_errno(error);
}
