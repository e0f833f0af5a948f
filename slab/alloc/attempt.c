/* SPDX-License-Identifier: MIT */
/*
 * One attempt at an allocation: a sample of the heap profile or a guarded object if one is due, an
 * object of a debug slab if the cache has debug flags, else an object of this CPU or of the
 * requested node.
 */
#include "alloc/attempt.h"
#include "alloc/alloc.h"
#include "base/compiler.h"
#include "base/fail.h"
#include "core/cache.h"
#include "core/debug_record.h"
#include "core/slab.h"
#include "debug/debug_cache.h"
#include "debug/guard.h"
#include "pages/os.h"
#include "pages/topology.h"
#include "percpu/refill.h"

#include <errno.h>
#include <slab/slab.h>

/* An estimate of how many allocations this CPU serves before the next refill, with the present
 * one. */
static unsigned long count_held(struct slab_cache *cache)
{
	const char *arrays = __atomic_load_n(&cache->arrays, __ATOMIC_RELAXED);
	const int cpu = cpu_engine->cpu();

	return 1 + (cpu < 0 ? 0ul : cpu_array_count(cpu_array(arrays, cpu)));
}

/* `n` allocations have passed since sampling counted last. Guard this one if sampling is due. */
static void *alloc_sampled(struct slab_cache *cache, unsigned long n, size_t requested,
			   const void *caller)
{
	if (SLAB_LIKELY(!sample_is_due(cache, n)))
		return NULL;
	return guard_alloc(cache, requested, caller);
}

/* The array was refilled, and obj is the first of its objects: count them all. */
static SLAB_SLOWPATH void *sample_refill(struct slab_cache *cache, void *obj, size_t requested,
					 const void *caller)
{
	void *guarded = alloc_sampled(cache, count_held(cache), requested, caller);

	if (!guarded)
		return obj;
	slab_free_slow(cache, obj, NULL);
	return guarded;
}

/* In a cache with hardened frees each object is free in its slab or in use, never in an array: so
 * each free can tell whether it is a double one. */
static bool has_arrays(const struct slab_cache *cache)
{
	return SLAB_LIKELY(!(cache->tag & SLAB_TAG_HARDEN));
}

static void *take_from_slabs(struct slab_cache *cache)
{
	return has_arrays(cache)
		       ? cache_refill(cache)
		       : node_alloc(cache, topology_node_of_cpu(cpu_engine->cpu()), false);
}

static void *alloc_object(struct slab_cache *cache, bool may_guard, size_t requested,
			  const void *caller)
{
	void *obj = NULL;

	if (may_guard && sample_gate_open(cache))
		obj = alloc_sampled(cache, 1, requested, caller);
	if (obj)
		return obj;
	if (cache_debug_flags(cache) & DEBUG_FLAGS_SLAB)
		return debug_alloc(cache, -1, false, requested, caller);
	obj = cpu_pop(cache);
	if (obj)
		return obj;
	obj = take_from_slabs(cache);
	if (obj && may_guard && sample_is_on(cache) && !sample_gate_open(cache))
		obj = sample_refill(cache, obj, requested, caller);
	return obj;
}

bool alloc_is_to_fail(const struct slab_cache *cache)
{
	if (!(cache_debug_flags(cache) & SLAB_FAILSLAB) || !fail_object(cache->name, true))
		return false;
	errno = ENOMEM;
	return true;
}

void *cache_alloc_plain(struct slab_cache *cache, const void *caller)
{
	return alloc_is_to_fail(cache) ? NULL
				       : alloc_object(cache, false, cache->object_size, caller);
}

/*
 * The memory policy of a slab only prefers its node, so the kernel may have put a page elsewhere. A
 * strict allocation therefore checks where the object lies. Simulated nodes have no memory of their
 * own, so there is nothing to check.
 */
static void *refuse_elsewhere(struct slab_cache *cache, void *obj, unsigned node)
{
	if (!obj || !topology_is_real() || os_lies_on(obj, cache->object_size, node))
		return obj;
	slab_free_slow(cache, obj, NULL);
	errno = ENOMEM;
	return NULL;
}

static void *alloc_on_node(const struct alloc_request *request)
{
	struct slab_cache *cache = request->cache;
	void *obj;

	if (cache_debug_flags(cache) & DEBUG_FLAGS_SLAB)
		obj = debug_alloc(cache, request->node, request->strict, request->requested,
				  request->caller);
	else
		obj = node_alloc(cache, (unsigned)request->node, request->strict);
	return request->strict ? refuse_elsewhere(cache, obj, (unsigned)request->node) : obj;
}

void *alloc_attempt(const struct alloc_request *request)
{
	void *obj = NULL;

	if (SLAB_UNLIKELY(request->sampled))
		obj = debug_alloc_sampled(request->cache, request->node, request->requested,
					  request->caller);
	if (obj)
		return obj;
	if (request->node < 0)
		return alloc_object(request->cache, true, request->requested, request->caller);
	return alloc_on_node(request);
}
