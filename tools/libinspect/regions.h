/* SPDX-License-Identifier: MIT */
/* The memory that libslab has in a process: where its segments, descriptors, arrays and stacks lie,
 * and the large allocations. */
#pragma once

#include "process.h"

enum region_kind {
	REGION_SEGMENT, /* of slabs, or of one large allocation; with its head */
	REGION_LARGE, /* the bytes of one large allocation, in a segment */
	REGION_ARENA, /* descriptors */
	REGION_ARRAYS, /* an area: arrays of CPUs of many caches */
	REGION_STACKS, /* a chunk of the stack depot */
};

typedef void see_region(enum region_kind kind, uint64_t address, uint64_t bytes, void *arg);

/* inspect_each_region: call fn for each region; those of arrays belong to the loaded caches.
 * Returns 0, -EFAULT or -ENOMEM. */
int inspect_each_region(struct inspection *in, see_region *fn, void *arg);
/* inspect_each_segment: for each segment, and then for each large allocation in it.
 * inspect_each_listed_segment: the same, without large allocations that are mappings of their
 * own. */
int inspect_each_segment(struct inspection *in, see_region *fn, void *arg);
int inspect_each_listed_segment(struct inspection *in, see_region *fn, void *arg);
