/* SPDX-License-Identifier: MIT */
/* The regions of libslab: variables, heads of segments, descriptors, arrays, handles, and what
 * these lead to. Objects lie in segments behind the heads, and nowhere else. */
#include "control/own_memory.h"
#include "base/range.h"
#include "core/cache.h"
#include "core/handles.h"
#include "core/registry.h"
#include "core/reserve.h"
#include "core/root.h"
#include "pages/metadata.h"
#include "pages/segment.h"
#include "report/depot.h"
#include "report/profile.h"
#include "report/track.h"

#define LOAD(pointer) __atomic_load_n(&(pointer), __ATOMIC_ACQUIRE)

static bool variables_have(const char *start, size_t bytes)
{
	const struct slab_root *root = &slab_root;
	const struct {
		const void *start;
		size_t bytes;
	} variables[] = {
		{root, sizeof(*root)},
		{root->process, sizeof(*root->process)},
		{root->pages, sizeof(*root->pages)},
		{root->registry_changes, sizeof(*root->registry_changes)},
		{root->registry, sizeof(*root->registry)},
		{root->stacks, sizeof(*root->stacks)},
		{root->areas, sizeof(*root->areas)},
		{root->cpus, sizeof(*root->cpus)},
		{root->shards, sizeof(*root->shards)},
		{root->profile, sizeof(*root->profile)},
		{root->arenas, SLAB_STATS_MAX_NODES * sizeof(*root->arenas)},
		{root->thread_names, sizeof(*root->thread_names)},
		{root->marks, SEGMENT_MARKS * sizeof(*root->marks)},
		{root->window, sizeof(*root->window)},
		{root->far_marks, SEGMENT_FAR_TABLES * sizeof(*root->far_marks)},
	};

	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++)
		if (range_has(variables[i].start, variables[i].bytes, start, bytes))
			return true;
	return false;
}

static bool head_has(const char *start, size_t bytes)
{
	return segment_known(start) &&
	       range_has(segment_of(start), SEGMENT_HEAD_END - SEGMENT_HEAD_OFFSET, start, bytes);
}

static bool table_has(void *const *table, size_t table_bytes, const char *start, size_t bytes)
{
	const void *const at = LOAD(*table);

	return at && range_has(at, table_bytes, start, bytes);
}

static bool tables_have(const char *start, size_t bytes)
{
	bool found =
		table_has(&track_names, (size_t)TRACK_NAMES * 2 * sizeof(uint64_t), start, bytes) ||
		table_has((void *const *)&heap_profile.sites,
			  PROFILE_SITES_MAX * sizeof(struct profile_site), start, bytes);

	for (unsigned i = 0; i < SEGMENT_FAR_TABLES && !found; i++)
		found = table_has(&segment_far_marks[i], SEGMENT_MARKS, start, bytes);
	for (unsigned i = 0; i < DEPOT_CHUNKS_MAX && !found && LOAD(depot_stacks.chunk[i]); i++)
		found = table_has(&depot_stacks.chunk[i], (size_t)1 << DEPOT_CHUNK_SHIFT, start,
				  bytes);
	return found;
}

static bool reserves_have(const char *start, size_t bytes)
{
	const struct slab_cache *cache = registry_first;

	while (cache && !reserve_has(cache, start, bytes))
		cache = cache->next;
	return cache;
}

bool own_memory_has(const char *start, size_t bytes)
{
	return variables_have(start, bytes) || head_has(start, bytes) ||
	       metadata_has_range(start, bytes) || handles_have(start, bytes) ||
	       cpu_areas_have(start, bytes) || tables_have(start, bytes) ||
	       reserves_have(start, bytes);
}
