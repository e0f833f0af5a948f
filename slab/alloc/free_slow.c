/* SPDX-License-Identifier: MIT */
/*
 * Frees off the fast path: the array is full or closed, the engine has no sequences, the slab has a
 * tag, or the pointer is no object of this cache.
 */
#include "rseq.h"
#include "alloc/alloc.h"
#include "base/compiler.h"
#include "base/maintenance.h"
#include "core/shard.h"
#include "core/slab.h"
#include "debug/debug_cache.h"
#include "pages/idle.h"
#include "percpu/refill.h"

/* Does an ordinary slab of this cache have obj, which may be any pointer? So segment_known() comes
 * first. */
static bool is_ordinary(const struct slab_cache *cache, const void *obj)
{
	return segment_known(obj) && segment_user(obj) == (uintptr_t)cache_user(cache);
}

/* The free has not tried the array yet: the engine has no sequences, or the slab has a tag. */
static bool push(struct slab_cache *cache, void *obj)
{
	const int cpu = cpu_engine->cpu();

	if (!slab_is_near(obj, cpu) || cpu_engine->push(&cache->arrays, obj) != CPU_DONE)
		return false;
	idle_begin();
	return true;
}

/* Set the object's bit in this call, so that a double free is found in it. */
static SLAB_SLOWPATH void free_hardened(struct slab_cache *cache, void *obj, const void *caller)
{
	void *objs[2] = {obj};

	cache_event(cache, cpu_engine->cpu(), SLAB_EVENT_FREE_SLOWPATH);
	objects_free(cache, 1, objs, caller);
	maintenance_resume();
}

/* With engines other than rseq this is the path of every free. So it is not marked as a cold
 * function. */
__attribute__((noinline)) void slab_free_slow(struct slab_cache *cache, void *obj,
					      const void *caller)
{
	if (!obj)
		return;
	while (SLAB_UNLIKELY(!is_ordinary(cache, obj)))
		if (debug_free(cache, obj, caller))
			return;
	if (SLAB_UNLIKELY(!slab_is_object(cache, slab_of(obj), obj))) {
		debug_report_interior(cache, slab_of(obj), obj, caller);
		return;
	}
	slab_clear_freed(slab_of(obj), obj);
	if (cache->tag & SLAB_TAG_HARDEN)
		free_hardened(cache, obj, caller);
	else if (!(cache->tag || cpu_rseq_number() < 0) || !push(cache, obj))
		cache_free(cache, obj, caller);
}
