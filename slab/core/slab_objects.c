/* SPDX-License-Identifier: MIT */
/* Which objects of a debug or legacy slab are allocated: the records of the one know it, and the map of
 * the other. */
#include "core/debug_record.h"
#include "core/slab.h"

unsigned slab_used(const struct slab *slab)
{
	const struct slab_debug *debug = __atomic_load_n(&slab->debug, __ATOMIC_RELAXED);
	unsigned free, initialized;

	if (debug)
		return __atomic_load_n(&debug->used, __ATOMIC_RELAXED);
	free = slab_free_count(slab);
	initialized = slab_initialized(slab);
	return free < initialized ? initialized - free : 0;
}

bool debug_is_allocated(const struct slab *slab, unsigned index)
{
	if (!slab->debug)
		return !slab_bit(slab, index);
	return debug_record(slab, index)->state == OBJECT_ALLOCATED;
}
