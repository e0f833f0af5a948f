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
