/* SPDX-License-Identifier: MIT */
/*
 * Allocation off the fast path.
 *
 * If an attempt (attempt.c) fails, the thread first takes back free slabs, then calls reclaim
 * callbacks (reclaim.h), and at last takes an object from the cache's reserve. It holds no lock
 * while it does so.
 */
#include <errno.h>
#include <slab/slab.h>

#include "rseq.h"
#include "alloc/alloc.h"
#include "alloc/attempt.h"
#include "base/compiler.h"
#include "base/maintenance.h"
#include "base/probe.h"
#include "core/count.h"
#include "core/slab.h"
#include "debug/debug_cache.h"
#include "memory/soft.h"
#include "memory/reclaim.h"
#include "pages/account.h"
#include "pages/topology.h"
#include "report/profile.h"

/* The first attempt failed, and alloc_failure has the cause. Make room and retry. At last take an
 * object of the reserve; that may lie on any node, so a strict request does not get it. */
static SLAB_SLOWPATH void *alloc_again(const struct alloc_request *request)
{
	struct slab_cache *cache = request->cache;
	struct retry retry = {
		.cache = cache,
		.bytes = cache_least_bytes(cache),
		.placement = {.node = request->node, .strict = request->strict},
		.takes_object = !request->strict,
	};
	void *obj = NULL;

	/* The reserve comes first: freed memory refills it before it serves this request. */
	while (!obj && alloc_retry(&retry)) {
		reserve_refill(cache, request->caller);
		alloc_failure_clear();
		obj = retry.obj ? retry.obj : alloc_attempt(request);
	}
	if (!obj && !request->strict)
		obj = reserve_take(cache, request->requested, request->caller);
	return obj;
}

/* Zero all bytes that the application may use, but not the red zone behind them. */
static size_t zeroed_size(const struct slab_cache *cache, const void *obj, size_t requested)
{
	if (requested < cache->object_size && slab_is_tagged(slab_of(obj), SLAB_TAG_DEBUG))
		return debug_usable_size(slab_of(obj), obj);
	return cache->object_size;
}

/* On success errno keeps its value; on failure it is ENOMEM. */
static void *serve_request(const struct alloc_request *request)
{
	struct slab_cache *cache = request->cache;
	int saved = errno;
	void *obj;

	SLAB_PROBE(alloc_slow_begin, cache->name, cache, request->caller, cpu_rseq_number());
	maintenance_poll();
	/* Another thread may still be completing the cache, if both use its definition. */
	if (SLAB_UNLIKELY(__atomic_load_n(&cache->reserve, __ATOMIC_ACQUIRE) != NULL))
		reserve_refill(cache, request->caller);
	alloc_failure_clear();
	obj = alloc_is_to_fail(cache) ? NULL : alloc_attempt(request);
	if (SLAB_UNLIKELY(!obj))
		obj = alloc_again(request);
	SLAB_PROBE(alloc_slow_end, cache->name, cache, request->caller, obj);
	if (!obj) {
		limit_failed(cache, cache_least_bytes(cache));
		SLAB_PROBE(alloc_failed, cache->name, cache, request->caller, request->requested);
		return NULL;
	}
	soft_check();
	errno = saved;
	count_slow(cache, 1);
	if (cache->flags & SLAB_ZERO)
		memset(obj, 0, zeroed_size(cache, obj, request->requested));
	return obj;
}

bool alloc_is_cache(struct slab_cache *cache, const void *caller)
{
	if (SLAB_LIKELY(cache->magic == CACHE_MAGIC))
		return true;
	if (cache->magic == CACHE_DESTROYED_MAGIC)
		debug_report_destroyed(cache, "Allocation from a destroyed cache", NULL, caller);
	if (cache->magic != CACHE_NONE_MAGIC) /* else its creation has set errno */
		errno = EINVAL;
	return false;
}

/* Does the heap profile sample this allocation? */
static inline bool is_sampled(const struct slab_cache *cache)
{
	return cache_gate_has(cache, GATE_PROFILE) &&
	       SLAB_UNLIKELY(profile_is_due(cache->object_size));
}

/* While a client asks for counts or the heap profile is on, and with engines other than rseq, this
 * is the path of every allocation. So it is not marked as a cold function. */
__attribute__((noinline)) void *slab_alloc_slow(struct slab_cache *cache, size_t requested,
						const void *caller)
{
	const int cpu = cpu_rseq_number(); /* < 0: the fast path cannot use the array */
	const bool sampled = is_sampled(cache);
	void *obj = NULL;

	if (!sampled && count_is_light(cache))
		obj = count_pop(cache);
	else if (cpu < 0 && SLAB_LIKELY(cache->magic == CACHE_MAGIC))
		obj = cpu_engine->pop(&cache->alloc_arrays);
	if (SLAB_LIKELY(obj))
		return obj;
	SLAB_PROBE(alloc_miss, cache->name, cache, caller, cpu);
	if (!alloc_is_cache(cache, caller))
		return NULL;
	return serve_request(&(struct alloc_request){cache, -1, false, requested, caller, sampled});
}

static inline void *alloc_from(struct slab_cache *cache, const void *caller)
{
	void *obj;

	if (SLAB_LIKELY(rseq_pop(&cache->alloc_arrays, cpu_rseq_offset, &obj)))
		return obj;
	return slab_alloc_slow(cache, cache->object_size, caller);
}

void *slab_alloc_from(struct slab_cache *cache, const void *caller)
{
	return alloc_from(cache, caller);
}

void *slab_zalloc(struct slab_cache *cache)
{
	void *obj = alloc_from(cache, __builtin_return_address(0));

	return obj ? memset(obj, 0, cache->object_size) : NULL;
}

void *slab_alloc_node(struct slab_cache *cache, int wanted)
{
	const bool strict = wanted >= 0 && wanted & SLAB_NODE_STRICT;
	const int node = strict ? wanted & ~SLAB_NODE_STRICT : wanted;
	struct alloc_request request = {
		cache, node, strict, cache->object_size, __builtin_return_address(0), false};

	if (node == -1)
		return alloc_from(cache, request.caller);
	if (!alloc_is_cache(cache, request.caller))
		return NULL;
	if (node < 0 || (unsigned)node >= topology_nodes()) {
		errno = EINVAL;
		return NULL;
	}
	/* A sample may lie on another node than the slab says, and a strict request must not. */
	request.sampled = !strict && is_sampled(cache);
	return serve_request(&request);
}
