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
#include <string.h>

#include "rseq.h"
#include "alloc/alloc.h"
#include "alloc/attempt.h"
#include "base/compiler.h"
#include "base/maintenance.h"
#include "base/probe.h"
#include "core/slab.h"
#include "debug/debug_cache.h"
#include "inject.h"
#include "memory/growth.h"
#include "memory/reclaim.h"
#include "pages/account.h"
#include "pages/topology.h"
#include "percpu/lifo_length.h"
#include "core/count.h"
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
	};
	void *obj = NULL;

	/* The reserve comes first: freed memory refills it before it serves this request. */
	while (!obj && alloc_retry(&retry)) {
		reserve_refill(cache, request->caller);
		alloc_failure_clear();
		obj = alloc_attempt(request);
	}
	if (!obj && !request->strict)
		obj = reserve_take(cache, request->requested, request->caller);
	if (!obj)
		limit_failed(cache);
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
		SLAB_PROBE(alloc_failed, cache->name, cache, request->caller, request->requested);
		return NULL;
	}
	growth_check();
	errno = saved;
	count_slow(cache, 1);
	if (cache->flags & SLAB_ZERO)
		memset(obj, 0, zeroed_size(cache, obj, request->requested));
	return obj;
}

static SLAB_SLOWPATH void *alloc_anywhere(struct slab_cache *cache, size_t requested,
					  const void *caller, bool sampled)
{
	const struct alloc_request request = {cache, -1, false, requested, caller, sampled};

	if (cache->magic == CACHE_NONE_MAGIC) /* errno says why there is no cache */
		return NULL;
	if (cache->magic != CACHE_MAGIC) {
		errno = EINVAL;
		return NULL;
	}
	return serve_request(&request);
}

/* Does the heap profile sample this allocation? */
static inline bool is_sampled(const struct slab_cache *cache)
{
	return cache_gate_has(cache, GATE_PROFILE) &&
	       SLAB_UNLIKELY(profile_is_due(cache->object_size));
}

/* While a client asks for counts or the heap profile is on, this is the path of every allocation.
 * So it is not marked as a cold function. */
__attribute__((noinline)) void *slab_alloc_requested(struct slab_cache *cache, size_t requested,
						     const void *caller)
{
	const bool sampled = is_sampled(cache);

	if (!sampled && count_is_light(cache)) {
		void *obj = count_pop(cache);

		if (SLAB_LIKELY(obj))
			return obj;
	}
	return alloc_anywhere(cache, requested, caller, sampled);
}

/* Has the LIFO objects although the fast path missed? Its limit is below its count if the LIFOs of the
 * cache became shorter; then only lifo_pop takes them. */
static inline bool holds_objects(const struct slab_cache *cache, int cpu)
{
	char *lifos = __atomic_load_n(&cache->lifos, __ATOMIC_RELAXED);

	return __atomic_load_n(&cpu_lifo(lifos, cpu)->count, __ATOMIC_RELAXED);
}

/* Most objects that an allocation moves from the current slab to the LIFO. */
#define LIFO_REFILL 63u

/* A slab that gives so few objects has been in use for long, so they are in no cache. Most callers write
 * to an object at once. More prefetches than these would hold up the refill. */
#define REFILL_PREFETCH 32u

/* A slab of another node serves one object, since such objects never go to LIFOs. So does the slab of
 * a closed slot, whose LIFO would refuse the others. */
static inline size_t refill_count(const struct slab_cache *cache, char *slots, int cpu)
{
	const struct cpu_slot *slot = cpu_slot(slots, cpu);
	struct cpu_slab *current = __atomic_load_n(&slot->current, __ATOMIC_RELAXED);
	const uint64_t half = lifo_length(cache) / 2;

	if (!current)
		return 0;
	if (SLAB_UNLIKELY(!slab_is_near(slab_from_cpu(current), cpu)) ||
	    SLAB_UNLIKELY(__atomic_load_n(&slot->closed, __ATOMIC_RELAXED)))
		return 1;
	return 1 + (half < LIFO_REFILL ? half : LIFO_REFILL);
}

/* Allocate from the current slab, and move some of its objects to the LIFO, which was empty, in the
 * order in which the slab would have served them. NULL: there is no current slab, or it is
 * exhausted. */
static inline void *refill_lifo(struct slab_cache *cache, int cpu)
{
	char *slots = __atomic_load_n(&cache->slots, __ATOMIC_RELAXED);
	void *objs[LIFO_REFILL + 1];
	size_t n = cpu_engine->pop_bulk(slots, refill_count(cache, slots, cpu), objs);

	if (!n)
		return NULL;
	for (size_t i = n; n <= REFILL_PREFETCH && i-- > 0;)
		__builtin_prefetch(objs[i], 1);
	n--;
	cpu_inject(CPU_INJECT_LIFO_REFILLED);
	if (n && SLAB_UNLIKELY(cpu_engine->lifo_push_bulk(cache->cpu_slots, cpu, n, objs,
							  lifo_length(cache)) != CPU_DONE))
		for (size_t i = 0; i < n; i++)
			slab_free_from(cache, objs[i], slab_of(objs[i]), NULL);
	return objs[n];
}

__attribute__((noinline, aligned(CPU_CACHELINE))) void *slab_alloc_second(struct slab_cache *cache,
									  size_t requested,
									  const void *caller)
{
	const int cpu = cpu_rseq_number(); /* < 0: the slow path calls the engine */
	void *obj = NULL;

	SLAB_PROBE(alloc_miss, cache->name, cache, caller, cpu);
	if (SLAB_LIKELY(cpu >= 0))
		obj = SLAB_UNLIKELY(holds_objects(cache, cpu))
			      ? cpu_engine->lifo_pop(cache->cpu_slots)
			      : refill_lifo(cache, cpu);
	return SLAB_LIKELY(obj) ? obj : slab_alloc_requested(cache, requested, caller);
}

void *slab_alloc_from(struct slab_cache *cache, const void *caller)
{
	void *obj;

	if (SLAB_LIKELY(rseq_pop(&cache->lifos, cpu_rseq_offset, &obj)))
		return obj;
	return slab_alloc_second(cache, cache->object_size, caller);
}

void *slab_zalloc(struct slab_cache *cache)
{
	void *obj;

	if (!rseq_pop(&cache->lifos, cpu_rseq_offset, &obj))
		obj = slab_alloc_second(cache, cache->object_size, __builtin_return_address(0));
	return obj ? memset(obj, 0, cache->object_size) : NULL;
}

void *slab_alloc_node(struct slab_cache *cache, int wanted)
{
	bool strict = wanted >= 0 && wanted & SLAB_NODE_STRICT;
	int node = strict ? wanted & ~SLAB_NODE_STRICT : wanted;
	struct alloc_request request = {
		cache, node, strict, cache->object_size, __builtin_return_address(0), false};

	if (node == -1) {
		void *obj;

		if (rseq_pop(&cache->lifos, cpu_rseq_offset, &obj))
			return obj;
		return slab_alloc_second(cache, request.requested, request.caller);
	}
	if (cache->magic != CACHE_MAGIC || node < 0 || (unsigned)node >= topology_nodes()) {
		errno = EINVAL;
		return NULL;
	}
	/* A sample may lie on another node than the slab says, and a strict request must not. */
	request.sampled = !strict && is_sampled(cache);
	return serve_request(&request);
}
