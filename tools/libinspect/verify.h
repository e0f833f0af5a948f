/* SPDX-License-Identifier: MIT */
/*
 * Validation of a process that does not take part: a core file, or a process that stands still. It
 * checks what slab_cache_validate() checks, and what only a process that stands still shows: the lists
 * of nodes and shards.
 *
 * A thread may have stopped in the middle of a change. What it was changing is under a lock that it
 * holds; that is left out and counted.
 */
#pragma once

#include "debug/bug_info.h"
#include "process.h"

/* Called for each problem. */
typedef void see_problem(const struct bug_info *bug, void *arg);

struct verify_counts {
	long problems;
	unsigned slabs;     /* that were checked */
	unsigned left_out;  /* slabs of a node or shard whose lock is taken */
	unsigned locked;    /* nodes and shards whose lists are left out */
};

/* inspect_verify: validate the only loaded cache. Returns 0, -EFAULT or -ENOMEM. */
int inspect_verify(struct inspection *in, see_problem *fn, void *arg,
		   struct verify_counts *ret_counts);

/* inspect_verify_large: check the red zones of large allocations. */
int inspect_verify_large(struct inspection *in, see_problem *fn, void *arg,
			 struct verify_counts *ret_counts);

/* inspect_describe_track: track_describe() for a track of the process. `in` is a struct inspection. */
void inspect_describe_track(void *in, const struct track *track, struct slab_track *to);

struct verify_shard {
	bool locked; /* a thread holds its lock, and may be changing its slabs */
	unsigned slabs, partial, empty; /* of the shard, found by the scan of descriptors */
};

struct verify_node {
	bool locked;
	unsigned slabs;
};

struct verify_lists {
	struct inspection *in; /* with one loaded cache */
	struct verify_node node[SLAB_STATS_MAX_NODES];
	struct verify_shard shard[SLAB_STATS_MAX_NODES * SHARDS_MAX];
	unsigned locked; /* nodes and shards that are left out */
};

/* verify_lists_begin: read what is locked. verify_lists_count: count a slab of the cache.
 * verify_lists_end: check the lists, after all slabs were counted. Both return 0 or -EFAULT. */
int verify_lists_begin(struct verify_lists *lists, struct inspection *in);
void verify_lists_count(struct verify_lists *lists, const struct inspect_slab *slab);
int verify_lists_end(struct verify_lists *lists, see_problem *fn, void *arg);

/* Is the slab under a lock that a thread holds? */
bool verify_is_locked(const struct verify_lists *lists, const struct inspect_slab *slab);
