/* SPDX-License-Identifier: MIT */
/*
 * The caches of the slab side: made before the first thread starts, destroyed
 * after the last object has gone.
 */
#include "memory.h"
#include "result.h"

#include <errno.h>
#include <slab/stats.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct memory_caches memory_cache;

static int entry_construct(void *object, void *arg)
{
	struct entry *entry = object;

	(void)arg;
	return pthread_rwlock_init(&entry->lock, NULL);
}

static void entry_destruct(void *object, void *arg)
{
	struct entry *entry = object;

	(void)arg;
	pthread_rwlock_destroy(&entry->lock);
}

/* Unmerged, so that every kind of object has its own line in slabinfo. */
int memory_setup(void)
{
	const struct slab_cache_args entry_args = {.ctor = entry_construct, .dtor = entry_destruct};

	memory_cache.pblock = pblock_cache_create(NULL, SLAB_NO_MERGE);
	memory_cache.operation = operation_cache_create(NULL, SLAB_NO_MERGE);
	memory_cache.entry = entry_cache_create(&entry_args, SLAB_NO_MERGE);
	memory_cache.attribute = attribute_cache_create(NULL, SLAB_NO_MERGE);
	memory_cache.value = value_cache_create(NULL, SLAB_NO_MERGE);
	memory_cache.dn = dn_cache_create(NULL, SLAB_NO_MERGE);
	if (memory_cache.pblock && memory_cache.operation && memory_cache.entry &&
	    memory_cache.attribute && memory_cache.value && memory_cache.dn)
		return 0;
	fprintf(stderr, "directory: cannot create the caches: %s\n", strerror(errno));
	return -1;
}

int memory_teardown(void)
{
	struct slab_cache *const all[] = {memory_cache.pblock, memory_cache.operation,
					  memory_cache.entry,  memory_cache.attribute,
					  memory_cache.value,  memory_cache.dn};
	int status = 0;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		int error = slab_cache_destroy(all[i]);

		if (!error)
			continue;
		fprintf(stderr, "directory: cache %s still holds objects after teardown: %s\n",
			slab_cache_name(all[i]), strerror(-error));
		status = -1;
	}
	return status;
}

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

void memory_exhausted(size_t bytes)
{
	fprintf(stderr, "directory: out of memory: libslab has no %zu bytes more\n", bytes);
	exit(1);
}
