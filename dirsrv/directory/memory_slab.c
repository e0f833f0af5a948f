/* SPDX-License-Identifier: MIT */
/* The slab side: what libslab says of its caches. */
#include "memory.h"
#include "result.h"

#include <slab/stats.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char memory_name[] = "libslab";
const bool memory_is_malloc = false;

static int add_line(struct slab_cache *cache, void *arg)
{
	struct result *result = arg;
	struct slab_stats stats = {.struct_size = sizeof(stats)};
	struct cache_line *line = &result->cache[result->caches];

	if (slab_cache_stats(cache, &stats) || !stats.slabs)
		return 0;
	if (result->caches == RESULT_CACHES_MAX)
		return 1;
	memcpy(line->name, stats.name, sizeof(line->name));
	line->object_size = stats.object_size;
	line->objects = stats.objects;
	line->held = stats.populated;
	result->caches++;
	return 0;
}

void memory_caches(struct result *result)
{
	result->caches = 0;
	slab_for_each_cache(add_line, result);
}

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

struct wanted {
	const char *name;
	size_t size;
};

static int find_size(struct slab_cache *cache, void *arg)
{
	struct slab_stats stats = {.struct_size = sizeof(stats)};
	struct wanted *wanted = arg;

	if (strcmp(slab_cache_name(cache), wanted->name) != 0 || slab_cache_stats(cache, &stats))
		return 0;
	wanted->size = stats.object_size;
	return 1;
}

size_t memory_object_size(const char *cache)
{
	struct wanted wanted = {.name = cache};

	slab_for_each_cache(find_size, &wanted);
	return wanted.size;
}

void memory_exhausted(void)
{
	fprintf(stderr, "directory: out of memory: libslab has no more\n");
	exit(1);
}
