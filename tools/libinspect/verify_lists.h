/* SPDX-License-Identifier: MIT */
/* Validation of the lists that slabs are on: those of shards, and those of debug slabs. */
#pragma once

#include "process.h"
#include "verify.h"

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
