/* SPDX-License-Identifier: MIT */
/* The statistics of one cache as JSON, with the member names of docs/schema. */
#include <errno.h>

#include <slab/debug.h>
#include <slab/slab.h>
#include <slab/stats.h>

#include "base/names.h"
#include "process.h"
#include "answer.h"
#include "control/reply.h"

static void put_flags(struct slab_json *json, uint64_t flags)
{
	const char *name;
	uint64_t flag;

	slab_json_number(json, "flags", flags);
	slab_json_open(json, "flag_names", '[');
	for (unsigned i = 0; (name = flag_name(i, &flag)); i++) {
		if (flags & flag)
			slab_json_string(json, NULL, name);
	}
	slab_json_close(json, ']');
}

static void put_sizes(struct slab_json *json, const struct slab_stats *stats,
		      const struct slab_cache *copy)
{
	slab_json_number(json, "object_size", stats->object_size);
	slab_json_number(json, "slab_size", stats->slab_size);
	slab_json_number(json, "align", stats->align);
	slab_json_number(json, "objects_per_slab", stats->objects_per_slab);
	slab_json_number(json, "order", stats->order);
	slab_json_number(json, "has_ctor", stats->has_ctor);
	slab_json_number(json, "has_dtor", copy->dtor != NULL);
	slab_json_number(json, "has_rcu", copy->rcu != NULL);
	slab_json_number(json, "min_partial", stats->min_partial);
	slab_json_number(json, "limit", stats->limit);
	slab_json_number(json, "address_bytes", stats->address_bytes);
}

static void put_counts(struct slab_json *json, const struct inspect_cache *cache)
{
	const struct slab_stats *stats = &cache->stats;

	slab_json_number(json, "slabs", stats->slabs);
	slab_json_number(json, "slab_bytes", stats->slab_bytes);
	slab_json_number(json, "partial", stats->partial);
	slab_json_number(json, "full", stats->full);
	slab_json_number(json, "empty", stats->empty);
	slab_json_number(json, "objects", stats->objects);
	slab_json_number(json, "total_objects", stats->total_objects);
	slab_json_number(json, "objects_partial", cache->objects_partial);
	slab_json_number(json, "cpu_objects", stats->cpu_objects);
	slab_json_number(json, "populated", cache->populated);
	if (cache->copy->above.objects) {
		slab_json_number(json, "large_objects", cache->copy->above.objects);
		slab_json_number(json, "large_bytes", cache->copy->above.bytes);
	}
	slab_json_number(json, "counted", stats->counted);
	slab_json_number(json, "counted_us", stats->counted_us);
}

static void put_memory(struct slab_json *json, const struct slab_stats *stats)
{
	slab_json_number(json, "rcu_pending", stats->rcu_pending);
	slab_json_number(json, "rcu_freed", stats->rcu_freed);
	slab_json_number(json, "rcu_helped", stats->rcu_helped);
	slab_json_number(json, "limit_hits", stats->limit_hits);
	slab_json_number(json, "reserve", stats->reserve);
	slab_json_number(json, "reserve_left", stats->reserve_left);
	slab_json_number(json, "reclaims", stats->reclaims);
	slab_json_number(json, "reclaimed", stats->reclaimed);
	slab_json_number(json, "moved", stats->moved);
}

static void put_legacy_slabs(struct slab_json *json, const char *debug_flags, uint64_t slabs)
{
	if (!slabs)
		return;
	slab_json_open(json, NULL, '{');
	slab_json_string(json, "debug_flags", debug_flags);
	slab_json_number(json, "slabs", slabs);
	slab_json_close(json, '}');
}

static void put_legacy(struct slab_json *json, const struct inspect_cache *cache)
{
	slab_json_open(json, "legacy", '[');
	put_legacy_slabs(json, "-", cache->legacy_plain);
	for (unsigned i = 0; i < INSPECT_LAYOUTS; i++) {
		uint64_t debug_flags = inspect_layout_flags(i);
		char text[DEBUG_FLAGS_TEXT];

		debug_flags_format(debug_flags ? debug_flags : SLAB_CONSISTENCY_CHECKS, text);
		put_legacy_slabs(json, text, cache->legacy[i]);
	}
	slab_json_close(json, ']');
	slab_json_number(json, "legacy_slabs", cache->stats.legacy_slabs);
}

static void put_debug(struct slab_json *json, const struct inspect_cache *cache)
{
	const struct slab_stats *stats = &cache->stats;

	control_put_debug_flags(json, "debug_flags", stats->flags);
	slab_json_number(json, "errors", stats->errors);
	slab_json_number(json, "debug_slabs", stats->debug_slabs);
	slab_json_number(json, "guarded_slabs", stats->guarded_slabs);
	put_legacy(json, cache);
	slab_json_number(json, "sample", cache->copy->sample.interval);
	slab_json_number(json, "sample_missed", cache->copy->sample.missed);
}

static void put_events(struct slab_json *json, const struct slab_stats *stats)
{
	slab_json_open(json, "events", '{');
	for (unsigned i = 0; i < SLAB_EVENT_COUNT; i++)
		slab_json_number(json, slab_event_name(i), stats->event[i]);
	slab_json_close(json, '}');
}

static void put_nodes(struct slab_json *json, const struct slab_stats *stats)
{
	slab_json_open(json, "nodes", '[');
	for (unsigned i = 0; i < stats->nodes; i++) {
		slab_json_open(json, NULL, '{');
		slab_json_number(json, "slabs", stats->node_slabs[i]);
		slab_json_number(json, "partial", stats->node_partial[i]);
		slab_json_number(json, "objects", stats->node_objects[i]);
		slab_json_close(json, '}');
	}
	slab_json_close(json, ']');
}

void inspect_put_cache(struct slab_json *json, const struct inspect_cache *cache)
{
	slab_json_open(json, NULL, '{');
	slab_json_string(json, "name", cache->stats.name);
	put_flags(json, cache->stats.flags);
	put_sizes(json, &cache->stats, cache->copy);
	put_counts(json, cache);
	put_memory(json, &cache->stats);
	put_debug(json, cache);
	put_events(json, &cache->stats);
	put_nodes(json, &cache->stats);
	slab_json_close(json, '}');
}

int inspect_load_meant(struct inspection *in, const char *name, struct slab_json *json)
{
	struct inspect_cache *cache;
	int error = inspect_load(in);

	if (error || !*name)
		return error;
	cache = inspect_find(in, name);
	if (!cache) {
		slab_control_refuse(json, "no cache is called \"%.100s\"", name);
		return -ENOENT;
	}
	inspect_keep(in, cache);
	return 0;
}
