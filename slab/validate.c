/* SPDX-License-Identifier: MIT */
/*
 * Checking slabs: freelists must name each free object once and nothing else,
 * and have as many as they say.
 *
 * Slabs are checked in hand: validation takes them back from the CPUs, off the
 * node's list, looks, and puts them back; full slabs have nothing to look at
 * but their remote word.
 */
#include <errno.h>
#include <string.h>

#include "report.h"
#include "slab_internal.h"

/* One thread validates at a time; the map is too large for a stack. */
static pthread_mutex_t map_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t map[SLAB_MAP_WORDS];

void validate_lock(void)
{
	pthread_mutex_lock(&map_lock);
}

void validate_unlock(void)
{
	pthread_mutex_unlock(&map_lock);
}

struct map_arg {
	struct slab *slab;
	uint64_t *map;
	long bad;
};

static void map_one(void *arg, uint16_t offset8)
{
	struct map_arg *m = arg;
	unsigned index = cpu_slab_index(&m->slab->cpu, offset8);

	if (!slab_is_object(m->slab, cpu_slab_object(&m->slab->cpu, offset8)) ||
	    m->map[index / 64] >> index % 64 & 1) {
		m->bad++;
		return;
	}
	m->map[index / 64] |= UINT64_C(1) << index % 64;
}

long slab_map_free(struct slab *slab, uint64_t *free_map)
{
	struct map_arg arg = {slab, free_map, 0};

	memset(free_map, 0, (slab->objects + 63u) / 64 * sizeof(free_map[0]));
	cpu_slab_hand_each(&slab->cpu, map_one, &arg);
	return arg.bad;
}

static void report_slab(struct slab_cache *cache, struct slab *slab, const char *what, long bad)
{
	struct slab_report report;

	slab_report_begin(&report, cache->name, "%s", what);
	slab_report_line(&report, "Slab %p objects=%u used=%u bad=%ld base=%p", (void *)slab,
			 slab->objects, slab->carved - cpu_slab_free_count(&slab->cpu), bad,
			 (void *)slab->cpu.base);
	slab_report_emit(&report);
}

long slab_check(struct slab_cache *cache, struct slab *slab)
{
	unsigned count = cpu_slab_free_count(&slab->cpu);
	long problems = 0, bad;

	if (count > slab->carved || slab->carved > slab->objects) {
		report_slab(cache, slab, "Wrong object count", count);
		return 1;
	}
	pthread_mutex_lock(&map_lock);
	bad = slab_map_free(slab, map);
	pthread_mutex_unlock(&map_lock);
	if (bad) {
		report_slab(cache, slab, "Freechain corrupt", bad);
		problems++;
	}
	return problems;
}

static long check_node(struct slab_cache *cache, unsigned n)
{
	struct slab *slabs = node_take(cache, n, ~0u);
	long problems = 0;

	for (struct slab *slab = slabs; slab; slab = slab->next) {
		slab_collect(slab);
		problems += slab_check(cache, slab);
	}
	node_put(cache, slabs);
	return problems;
}

long slab_cache_validate(struct slab_cache *cache)
{
	long problems = 0;

	if (!cache || cache->magic != CACHE_MAGIC) {
		errno = EINVAL;
		return -EINVAL;
	}
	cache_flush(cache);
	for (unsigned n = 0; n < topology_nodes(); n++)
		problems += check_node(cache, n);
	return problems;
}

/* --- leaks ------------------------------------------------------------------- */

struct leak_arg {
	struct slab_cache *cache;
	struct slab_report report;
	unsigned long leaked;
};

static void leak_object(struct leak_arg *leak, struct slab *slab, unsigned index)
{
	size_t offset = (size_t)index * slab->cpu.size8 * 8;

	leak->leaked++;
	/* As many reports as it takes to list every object. */
	if (leak->report.len + 128 > sizeof(leak->report.text)) {
		slab_report_emit(&leak->report);
		slab_report_begin(&leak->report, leak->cache->name,
				  "Objects remaining in %s on slab_cache_destroy (continued)",
				  leak->cache->name);
	}
	slab_report_line(&leak->report, "Object %p @offset=%zu", (void *)(slab->cpu.base + offset),
			 offset);
}

static void leak_slab(struct slab *slab, void *arg)
{
	struct leak_arg *leak = arg;

	if (slab_is_empty(slab))
		return;
	slab_map_free(slab, map);
	for (unsigned i = 0; i < slab->carved; i++)
		if (!(map[i / 64] >> i % 64 & 1))
			leak_object(leak, slab, i);
}

/* After a flush, with nobody using the cache: every slab is listed or full, so
 * all can be looked at as if in hand. */
void cache_report_leaks(struct slab_cache *cache)
{
	static struct leak_arg leak;

	pthread_mutex_lock(&map_lock);
	leak.cache = cache;
	leak.leaked = 0;
	slab_report_begin(&leak.report, cache->name,
			  "Objects remaining in %s on slab_cache_destroy", cache->name);
	cache_each_slab(cache, leak_slab, &leak);
	slab_report_line(&leak.report, "%lu objects remain", leak.leaked);
	slab_report_emit(&leak.report);
	pthread_mutex_unlock(&map_lock);
}
