/* SPDX-License-Identifier: MIT */
/*
 * Which objects of a slab are allocated. The answer is in the freelist of an ordinary slab, in the
 * record of a debug slab, and in the object states of a legacy-layout slab, which replace its
 * freelist.
 */
#include <string.h>

#include "core/debug_record.h"
#include "core/slab.h"

/* For a slab that CPUs are using the result is an estimate. */
unsigned slab_used(const struct slab *slab)
{
	unsigned initialized = slab_initialized(slab), unused;

	if (slab->debug || slab_is_legacy(slab))
		return debug_used(slab);
	unused = cpu_slab_free_count(&slab->cpu) +
		 (uint16_t)(__atomic_load_n(&slab->remote, __ATOMIC_RELAXED) >> 16);
	return unused < initialized ? initialized - unused : 0;
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
	cpu_slab_each(&slab->cpu, map_one, &arg);
	return arg.bad;
}

uint16_t *legacy_state(const struct slab *slab, unsigned index)
{
	return cpu_slab_stack((struct cpu_slab *)&slab->cpu) + index;
}

bool legacy_is_free(const struct slab *slab, unsigned index)
{
	return __atomic_load_n(legacy_state(slab, index), __ATOMIC_RELAXED) == LEGACY_FREE;
}

bool debug_is_allocated(const struct slab *slab, unsigned index)
{
	if (!slab->debug)
		return !legacy_is_free(slab, index);
	return debug_record(slab, index)->state == OBJECT_ALLOCATED;
}

unsigned debug_used(const struct slab *slab)
{
	unsigned used, late;

	/* Without the lock a slab may stop being a legacy slab at any time, but it never gets debug
	 * flags. */
	if (slab->debug)
		return __atomic_load_n(&slab->debug->used, __ATOMIC_RELAXED);
	/* Frees that were under way when the slab became a legacy slab are in the remote
	 * freelist. */
	used = __atomic_load_n(&slab->legacy_used, __ATOMIC_RELAXED);
	late = __atomic_load_n(&slab->remote, __ATOMIC_RELAXED) >> 16 & 0xffff;
	return late < used ? used - late : 0;
}
