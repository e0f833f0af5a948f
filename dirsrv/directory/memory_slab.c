/* SPDX-License-Identifier: MIT */
/* The slab side: what libslab says of its caches. */
#include "memory.h"

#include <slab/stats.h>

const char memory_name[] = "libslab";

static int add_pblocks(struct slab_cache *cache, void *arg)
{
	struct slab_stats stats = {.struct_size = sizeof(stats)};
	uint64_t *sum = arg;

	if (strncmp(slab_cache_name(cache), "pblock", strlen("pblock")) == 0 &&
	    slab_cache_stats(cache, &stats) == 0)
		*sum += stats.objects;
	return 0;
}

uint64_t memory_pblocks(void)
{
	uint64_t sum = 0;

	slab_for_each_cache(add_pblocks, &sum);
	return sum;
}

void memory_exhausted(void)
{
	fprintf(stderr, "directory: out of memory: libslab has no more\n");
	exit(1);
}
