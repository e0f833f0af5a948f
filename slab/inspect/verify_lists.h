/* SPDX-License-Identifier: MIT */
/* Validation of the lists that slabs are on: those of nodes, and those of CPUs. */
#ifndef SLAB_INSPECT_VERIFY_LISTS_H
#define SLAB_INSPECT_VERIFY_LISTS_H

#include "inspect/process.h"
#include "inspect/verify.h"

struct verify_node {
	bool locked; /* a thread holds its lock, and may be changing its lists */
	bool sorting;
	unsigned slabs, listed; /* of the cache, found by the scan of descriptors */
	unsigned counted;       /* slabs on its lists */
};

struct verify_lists {
	struct inspection *in; /* with one loaded cache */
	struct verify_node node[SLAB_STATS_MAX_NODES];
	unsigned locked; /* nodes and CPUs that are left out */
};

/* verify_lists_begin: read the nodes. verify_lists_count: count a slab of the cache.
 * verify_lists_end: check the lists, after all slabs were counted. Both return 0 or -EFAULT. */
int verify_lists_begin(struct verify_lists *lists, struct inspection *in);
void verify_lists_count(struct verify_lists *lists, const struct inspect_slab *slab);
int verify_lists_end(struct verify_lists *lists, see_problem *fn, void *arg);

bool verify_node_is_locked(const struct verify_lists *lists, unsigned node);

#endif /* SLAB_INSPECT_VERIFY_LISTS_H */
