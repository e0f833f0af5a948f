/* SPDX-License-Identifier: MIT */
/*
 * One attempt at an allocation: a sample of the heap profile or a guarded object if one is due, an object of a debug slab if
 * the cache has debug flags, else an object of this CPU or of the requested node. The attempt
 * refills the CPU as often as necessary.
 */
#include "alloc/attempt.h"
#include "alloc/alloc.h"
#include "base/compiler.h"
#include "base/fail.h"
#include "core/cache.h"
#include "core/debug_record.h"
#include "core/node.h"
#include "percpu/refill.h"
#include "debug/debug_cache.h"
#include "debug/guard.h"
#include "pages/os.h"
#include "pages/segment.h"
#include "pages/topology.h"

#include <errno.h>
#include <slab/slab.h>

/* An estimate of how many allocations this CPU serves before the next refill: the free objects of
 * the current slab and of the LIFO. A magazine fills the LIFO of a CPU without a current slab, too. */
static unsigned long count_current(struct slab_cache *cache)
{
	int cpu = cpu_engine->cpu();
	struct cpu_slab *slab;
	unsigned long n;

	if (cpu < 0)
		return 1;
	slab = __atomic_load_n(&cpu_slot(cache->cpu_slots, cpu)->current, __ATOMIC_ACQUIRE);
	n = __atomic_load_n(&cpu_lifo(cache->cpu_lifos, cpu)->count, __ATOMIC_RELAXED);
	if (slab)
		return n + cpu_slab_free_count(slab);
	return n ? n : 1;
}

/* `n` allocations have passed since sampling counted last. Guard this one if sampling is due. */
static void *alloc_sampled(struct slab_cache *cache, unsigned long n, size_t requested,
			   const void *caller)
{
	if (SLAB_LIKELY(!sample_is_due(cache, n)))
		return NULL;
	return guard_alloc(cache, requested, caller);
}

static void *alloc_object(struct slab_cache *cache, bool may_guard, size_t requested,
			  const void *caller)
{
	void *obj = NULL;

	if (may_guard && sample_gate_open(cache))
		obj = alloc_sampled(cache, 1, requested, caller);
	while (!obj) {
		if (cache_debug_flags(cache) & DEBUG_FLAGS_SLAB)
			return debug_alloc(cache, -1, false, requested, caller);
		obj = cpu_pop(cache);
		if (obj)
			break;
		switch (cache_refill(cache, SLAB_ALLOC_FULL)) {
		case REFILL_NO_CPU:
			return node_alloc(cache, topology_node_of_cpu(cpu_engine->cpu()), false);
		case REFILL_ERROR:
			errno = ENOMEM;
			return NULL;
		default:
			if (may_guard && sample_is_on(cache) && !sample_gate_open(cache))
				obj = alloc_sampled(cache, count_current(cache), requested, caller);
			break;
		}
	}
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
	slab_free_from(cache, obj, slab_of(obj), NULL);
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
