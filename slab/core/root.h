/* SPDX-License-Identifier: MIT */
/*
 * The root: a table from which a tool that only reads memory finds all structures of libslab, and
 * checks that it knows their layout.
 *
 * An ELF note leads to the root (<slab/inspect.h>). `layout` has the sizes and offsets of all
 * members that are read. A tool compares it with its own: two builds of libslab understand each
 * other exactly when these are equal. So there is no version number that a developer could forget
 * to change.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "core/debug_record.h"
#include "core/init.h"
#include "core/reserve.h"
#include "core/slab.h"
#include "pages/account.h"
#include "pages/space.h"
#include "report/depot.h"
#include "report/profile.h"
#include "report/track.h"

#define ROOT_MAGIC UINT64_C(0x30746f6f72626c73) /* "slbroot0" */

/* magic, bytes and version keep their places in all versions. */
#define ROOT_FIELDS_MAX 168

struct slab_root {
	uint64_t magic;
	uint32_t bytes;   /* of this structure */
	uint32_t spare;
	char version[16]; /* of libslab */
	uint32_t layout[ROOT_FIELDS_MAX];
	/* The addresses of the other structures. */
	const struct slab_process *process;
	const struct pages *pages;
	const uint64_t *registry_changes; /* see core/registry.h */
	struct slab_cache *const *registry;
	const struct stack_depot *stacks;
	const unsigned *areas, *cpus, *shards; /* shards: of each node */
	const struct profile *profile;
	struct arena *const *arenas; /* of each node */
	void *const *thread_names;
	const uint8_t *marks; /* of segments in the window */
	const uintptr_t *window;
	void *const *far_marks;
};

/* Nothing writes to it, but it is not const: core files contain the writable data of a process, and
 * often not its constants. */
extern struct slab_root slab_root;

/* --- the layout -------------------------------------------------------------------------- */

/* Offset and size of a member; the size is at most 31. */
#define MEMBER_SIZE(type, member) sizeof(((type *)0)->member)
#define FIELD(type, member)                                                                        \
	((uint32_t)(offsetof(type, member) << 5 |                                                  \
		    (MEMBER_SIZE(type, member) < 31 ? MEMBER_SIZE(type, member) : 31)))

/* All members that tools read. */
#define ROOT_LAYOUT                                                                                \
	{                                                                                          \
		sizeof(void *),                                                                    \
		SLAB_EVENT_COUNT,                                                                  \
		SEGMENT_SHIFT,                                                                     \
		SEGMENT_UNIT_SHIFT,                                                                \
		SEGMENT_TABLE_OFFSET,                                                              \
		SLAB_MAX_NAME,                                                                     \
		DEPOT_BUCKET_BITS,                                                                 \
		DEPOT_CHUNKS_MAX,                                                                  \
		DEPOT_UNIT,                                                                        \
		DEPOT_CHUNK_SHIFT,                                                                 \
		DEPOT_COUNT_BITS,                                                                  \
		sizeof(struct slab),                                                               \
		FIELD(struct slab, base),                                                          \
		FIELD(struct slab, user),                                                          \
		FIELD(struct slab, debug),                                                         \
		FIELD(struct slab, populated),                                                     \
		FIELD(struct slab, unbacked),                                                      \
		FIELD(struct slab, objects),                                                       \
		FIELD(struct slab, initialized),                                                   \
		FIELD(struct slab, node),                                                          \
		FIELD(struct slab, side),                                                          \
		FIELD(struct slab, shift),                                                         \
		sizeof(struct segment),                                                            \
		FIELD(struct segment, magic),                                                      \
		FIELD(struct segment, next),                                                       \
		sizeof(struct pages),                                                              \
		FIELD(struct pages, segments),                                                     \
		FIELD(struct pages, segment_count),                                                \
		FIELD(struct pages, metadata_bytes),                                               \
		FIELD(struct pages, free_slab_bytes),                                              \
		FIELD(struct pages, account.limit),                                                \
		FIELD(struct pages, account.used),                                                 \
		FIELD(struct pages, limit_hits),                                                   \
		FIELD(struct pages, large_bytes),                                                  \
		sizeof(struct slab_cache),                                                         \
		FIELD(struct slab_cache, rcu),                                                     \
		FIELD(struct slab_cache, size),                                                    \
		FIELD(struct slab_cache, object_size),                                             \
		FIELD(struct slab_cache, align),                                                   \
		FIELD(struct slab_cache, flags),                                                   \
		FIELD(struct slab_cache, small),                                                   \
		FIELD(struct slab_cache, large),                                                   \
		sizeof(struct slab_order),                                                         \
		FIELD(struct slab_cache, account.used),                                            \
		SMALL_UP_TO_LARGE,                                                                 \
		FIELD(struct slab_cache, min_partial),                                             \
		FIELD(struct slab_cache, ctor),                                                    \
		FIELD(struct slab_cache, magic),                                                   \
		FIELD(struct slab_cache, debug_flags),                                             \
		FIELD(struct slab_cache, errors),                                                  \
		FIELD(struct slab_cache, sample.interval),                                         \
		FIELD(struct slab_cache, sample.missed),                                           \
		FIELD(struct slab_cache, count.counted),                                           \
		FIELD(struct slab_cache, count.counted_us),                                        \
		FIELD(struct slab_cache, memory),                                                  \
		sizeof(struct memory_counts),                                                      \
		FIELD(struct slab_cache, above),                                                   \
		FIELD(struct slab_cache, token),                                                   \
		FIELD(struct slab_cache, account.limit),                                           \
		FIELD(struct slab_cache, space),                                                   \
		FIELD(struct space, bytes),                                                        \
		FIELD(struct slab_cache, next),                                                    \
		FIELD(struct slab_cache, prev_next),                                               \
		FIELD(struct slab_cache, name),                                                    \
		sizeof(struct slab_debug),                                                         \
		FIELD(struct slab_debug, debug_flags),                                             \
		FIELD(struct slab_debug, object_size),                                             \
		FIELD(struct slab_debug, stride),                                                  \
		FIELD(struct slab_debug, used),                                                    \
		FIELD(struct slab_debug, guarded),                                                 \
		sizeof(struct debug_object),                                                       \
		FIELD(struct debug_object, requested),                                             \
		FIELD(struct debug_object, state),                                                 \
		sizeof(struct track),                                                              \
		FIELD(struct track, stack),                                                        \
		FIELD(struct track, tid),                                                          \
		TRACK_WHEN_BITS,                                                                   \
		TRACK_CPU_BITS,                                                                    \
		TRACK_NAME_BITS,                                                                   \
		FIELD(struct stack_depot, chunk),                                                  \
		FIELD(struct stack_depot, next),                                                   \
		FIELD(struct stack_depot, count),                                                  \
		sizeof(struct stack_record),                                                       \
		FIELD(struct stack_record, signature),                                             \
		FIELD(struct profile, period),                                                     \
		FIELD(struct profile, sites),                                                      \
		FIELD(struct profile, missed),                                                     \
		FIELD(struct profile, count),                                                      \
		FIELD(struct profile, peak_ms),                                                    \
		FIELD(struct profile, peaks),                                                      \
		sizeof(struct profile),                                                            \
		PROFILE_SITES_MAX,                                                                 \
		sizeof(struct profile_site),                                                       \
		FIELD(struct profile_site, stack),                                                 \
		FIELD(struct profile_site, size),                                                  \
		FIELD(struct profile_site, period),                                                \
		FIELD(struct profile_site, weight),                                                \
		FIELD(struct profile_site, allocated),                                             \
		FIELD(struct profile_site, freed),                                                 \
		FIELD(struct profile_site, kept),                                                  \
		FIELD(struct profile_site, token),                                                 \
		FIELD(struct profile_site, here),                                                  \
		offsetof(struct profile_site, lifetime),                                           \
		PROFILE_LIFETIMES,                                                                 \
		FIELD(struct profile_sample, site),                                                \
		FIELD(struct slab, next),                                                          \
		FIELD(struct slab, large),                                                         \
		FIELD(struct segment, mapped),                                                     \
		FIELD(struct segment, red_zone),                                                   \
		FIELD(struct segment, base),                                                       \
		METADATA_ARENA_BYTES,                                                              \
		SEGMENT_MARKS,                                                                     \
		SEGMENT_FAR_TABLES,                                                                \
		SEGMENT_MARK_LARGE,                                                                \
		FIELD(struct slab, prev),                                                          \
		offsetof(struct slab_cache, node),                                                 \
		sizeof(struct cache_node),                                                         \
		FIELD(struct cache_node, lock),                                                    \
		FIELD(struct cache_node, debug),                                                   \
		FIELD(struct cache_node, nr_slabs),                                                \
		sizeof(struct magazine),                                                           \
		FIELD(struct slab_cache, reserve),                                                 \
		offsetof(struct cache_reserve, obj),                                               \
		FIELD(struct slab_cache, by_size),                                                 \
		FIELD(struct slab_process, started),                                               \
		FIELD(struct slab_process, mark),                                                  \
		sizeof(struct slab_process),                                                       \
		FIELD(struct slab, shard),                                                         \
		FIELD(struct slab, free),                                                          \
		FIELD(struct slab, up),                                                            \
		FIELD(struct slab, bucket),                                                        \
		offsetof(struct slab, map),                                                        \
		FIELD(struct slab_debug, size),                                                    \
		FIELD(struct slab_debug, red_left),                                                \
		FIELD(struct slab_debug, disabled),                                                \
		CPU_ROW_SHIFT,                                                                     \
		CPU_ARRAY_MAX,                                                                     \
		CPU_AREA_ROWS_BEFORE,                                                              \
		FIELD(struct cpu_array, stamp),                                                    \
		FIELD(struct cpu_array, streak),                                                   \
		FIELD(struct cpu_array, count),                                                    \
		offsetof(struct cpu_array, obj),                                                   \
		FIELD(struct slab_cache, own_arrays),                                              \
		FIELD(struct slab_cache, short_arrays),                                            \
		FIELD(struct slab_cache, rcu_arrays),                                              \
		FIELD(struct slab_cache, shard),                                                   \
		FIELD(struct slab_cache, had_debug_flags),                                         \
		SHARD_BUCKETS,                                                                     \
		sizeof(struct shard),                                                              \
		FIELD(struct shard, lock),                                                         \
		FIELD(struct shard, buckets),                                                      \
		FIELD(struct shard, bucket),                                                       \
		FIELD(struct shard, empty),                                                        \
		FIELD(struct shard, empties),                                                      \
		FIELD(struct shard, slabs),                                                        \
		FIELD(struct shard, partial),                                                      \
		FIELD(struct shard, room),                                                         \
		FIELD(struct shard, used),                                                         \
		FIELD(struct shard, event),                                                        \
		FIELD(struct cache_node, profile),                                                 \
		FIELD(struct cache_node, depot),                                                   \
		FIELD(struct depot, full),                                                         \
		FIELD(struct depot, objects),                                                      \
		FIELD(struct depot, magazine),                                                     \
		FIELD(struct magazine, count),                                                     \
		offsetof(struct magazine, obj),                                                    \
		sizeof(struct slab_root),                                                          \
	}
