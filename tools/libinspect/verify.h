/* SPDX-License-Identifier: MIT */
/*
 * Validation of a process that does not take part: a core file, or a process that stands still. It
 * checks what slab_cache_validate() checks, and what only a process that stands still shows: the
 * lists of nodes and shards.
 *
 * A thread may have stopped in the middle of a change. What it was changing is under a lock that it
 * holds; that is left out and counted.
 */
#pragma once

#include "debug/bug_info.h"
#include "process.h"

/* Called for the first problems of each cache. cache: its number; in->count: none, but a large
 * allocation. */
typedef void see_problem(const struct bug_info *bug, size_t cache, void *arg);

/* inspect_verify: validate the loaded caches, and fill in their `verified`. Returns 0, -EFAULT or
 * -ENOMEM. */
int inspect_verify(struct inspection *in, see_problem *fn, void *arg);

/* inspect_verify_large: check the red zones of large allocations. */
int inspect_verify_large(struct inspection *in, see_problem *fn, void *arg,
			 struct inspect_verified *ret_verified);

/* inspect_describe_track: track_describe() for a track of the process. `in` is a struct
 * inspection. */
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
	struct inspection *in;
	struct verify_shard *shard; /* of all caches */
	struct verify_node *node;
	size_t mapped;
};

/* verify_lists_begin: read what is locked. verify_lists_count: count a slab of a cache.
 * verify_lists_check: check the lists of a cache, after all slabs were counted. Returns 0, -EFAULT
 * or -ENOMEM. verify_lists_end: the caller calls it in any case. */
int verify_lists_begin(struct verify_lists *lists, struct inspection *in);
void verify_lists_count(struct verify_lists *lists, const struct inspect_cache *cache,
			const struct inspect_slab *slab);
int verify_lists_check(struct verify_lists *lists, const struct inspect_cache *cache,
		       see_problem *fn, void *arg);
void verify_lists_end(struct verify_lists *lists);

/* Is the slab under a lock that a thread holds? */
bool verify_is_locked(const struct verify_lists *lists, const struct inspect_cache *cache,
		      const struct inspect_slab *slab);
