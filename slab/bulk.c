/* SPDX-License-Identifier: MIT */
/*
 * Bulk allocation and free: runs of objects in one section each.
 *
 * Allocation takes as much as the current slab has per section. Free looks for
 * runs of objects of one slab and pushes, or hands over, each run at once.
 */
#include <errno.h>
#include <string.h>

#include "slab_internal.h"

#define MODES (SLAB_ALLOC_LOCAL | SLAB_ALLOC_PARTIAL | SLAB_ALLOC_NEW | SLAB_ALLOC_FULL)

size_t slab_alloc_bulk(struct slab_cache *cache, unsigned mode, size_t n, void **objs)
{
	size_t done = 0;
	int saved = errno;

	if (!mode || mode & ~MODES || cache->magic != CACHE_MAGIC) {
		errno = EINVAL;
		return 0;
	}
	while (done < n) {
		size_t got = cpu_engine->pop_bulk(cache->cpu_slots, n - done, objs + done);
		int result;

		done += got;
		if (got)
			continue;
		/* The stack is exhausted; there may be a hot object in front of it. */
		objs[done] = cpu_pop(cache);
		if (objs[done]) {
			done++;
			continue;
		}
		result = cache_refill(cache, mode);
		if (result == REFILL_NO_CPU && mode & (SLAB_ALLOC_NEW | SLAB_ALLOC_FULL)) {
			objs[done] = node_alloc(cache, topology_node_of_cpu(cpu_engine->cpu()));
			if (!objs[done])
				break;
			done++;
		} else if (result != REFILL_OK) {
			break;
		}
	}
	if (done == n)
		errno = saved;
	if (cache->flags & SLAB_ZERO)
		for (size_t i = 0; i < done; i++)
			memset(objs[i], 0, cache->object_size);
	return done;
}

/* A run of objects of one slab. */
static void free_run(struct slab_cache *cache, struct slab *slab, unsigned n,
		     const uint16_t *offset8)
{
	for (;;) {
		int cpu = cpu_engine->cpu();
		enum cpu_result result;

		if (cpu < 0)
			break;
		result = cpu_engine->push_bulk(cache->cpu_slots, cpu, &slab->cpu, n, offset8);
		if (result == CPU_DONE)
			return;
		if (result == CPU_MISS)
			break;
	}
	cache_event(cache, cpu_engine->cpu(), SLAB_EVENT_FREE_SLOWPATH);
	slab_free_remote(cache, slab, n, offset8);
}

void slab_free_bulk(struct slab_cache *cache, size_t n, void *const *objs)
{
	uint16_t offset8[CPU_GATHER_MAX];
	size_t i = 0;

	while (i < n) {
		struct slab *slab;
		unsigned run = 0;

		if (!objs[i]) {
			i++;
			continue;
		}
		slab = slab_of(objs[i]);
		if (slab->cpu.user != cache || !slab_is_object(slab, objs[i])) {
			report_bad_free(cache, slab, objs[i++]);
			continue;
		}
		while (i < n && run < CPU_GATHER_MAX && objs[i] && slab_of(objs[i]) == slab &&
		       slab_is_object(slab, objs[i]))
			offset8[run++] = cpu_slab_offset8(&slab->cpu, objs[i++]);
		free_run(cache, slab, run, offset8);
	}
}
