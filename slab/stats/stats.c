/* SPDX-License-Identifier: MIT */
/*
 * Statistics of this process. libslab inspects its own process as it does any other (process.h):
 * it takes no lock and stops no thread.
 */
#include <errno.h>
#include <slab/stats.h>

#include "base/error.h"
#include "core/init.h"
#include "core/registry.h"
#include "inspect/process.h"
#include "pages/topology.h"
#include "stats/attributes.h"

/* A cache with debug slabs or legacy slabs needs a scan for most sums. */
static int fill(struct inspection *in, struct slab_cache *copy, enum stats_need need)
{
	struct inspect_cache *room = in->caches;
	bool whole = need == NEED_NOTHING;
	int error = need == NEED_SUMS ? inspect_sum(in, room, &whole) : 0;

	if (error || whole)
		return error;
	error = inspect_load_one(in, room->address, room, copy);
	return error ? error : inspect_count(in);
}

int cache_stats(struct slab_cache *cache, struct inspect_cache *room, enum stats_need need)
{
	struct slab_cache copy;
	struct inspection in;
	int error;

	if (!cache || cache->magic != CACHE_MAGIC)
		return with_errno(-EINVAL);
	error = inspect_open(&in, &inspect_self, (uintptr_t)&slab_root);
	if (!error)
		error = inspect_load_one(&in, (uintptr_t)cache, room, &copy);
	if (!error)
		error = fill(&in, &copy, need);
	inspect_close(&in);
	return with_errno(error);
}

int slab_cache_stats(struct slab_cache *cache, struct slab_stats *stats)
{
	struct inspect_cache room;
	int error;

	if (stats->struct_size != sizeof(*stats))
		return with_errno(-EINVAL);
	error = cache_stats(cache, &room, NEED_SCAN);
	if (!error)
		*stats = room.stats;
	return error;
}

/* Other threads may change one of two numbers between their reads. */
static uint64_t less(uint64_t from, uint64_t bytes)
{
	return from > bytes ? from - bytes : 0;
}

/* Counters alone: a process may have many slabs. */
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
		*stats = (struct slab_process_stats){
			.struct_size = sizeof(*stats),
			.engine = cpu_engine->name,
			.cpus = in.cpus,
			.nodes = in.process.nodes,
			.caches = (unsigned)in.count,
			.segments = in.pages.segment_count,
			.segment_size = SEGMENT_SIZE,
			.slab_bytes = less(in.pages.account.used, in.pages.large_bytes),
			.cached_bytes = in.pages.free_slab_bytes,
			.large_bytes = in.pages.large_bytes,
			.metadata_bytes =
				cpu_area_bytes(in.areas, in.cpus) + in.pages.metadata_bytes,
		};
	inspect_close(&in);
	return with_errno(error);
}
