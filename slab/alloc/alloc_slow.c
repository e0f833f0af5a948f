/* SPDX-License-Identifier: MIT */
/*
 * Allocation off the fast path: finding the CPU its next slab.
 *
 * Nothing here holds a CPU's slot. A thread may be preempted and wake up on
 * another CPU between any two steps; each step is a section on the CPU it was
 * meant for, and a slab is either in the hand of one thread or where others find
 * it. Every function therefore ends in "look again".
 *
 * A CPU takes slabs of its own node. When that has no partial one, those of other nodes
 * would lie idle while fresh memory is taken; so, as in SLUB, in remote_node_defrag_ratio
 * of 100 such cases one of a node that has more than min_partial of them serves first.
 *
 * An attempt that fails takes back what is free, then asks caches to free some (reclaim.h),
 * and in the end takes an object from the cache's reserve; all that with no lock held.
 */
#include <errno.h>
#include <string.h>

#include "memory/reclaim.h"
#include "registry/count_window.h"
#include "debug/debug_cache.h"
#include "memory/decay.h"
#include "config/fail.h"
#include "debug/guard.h"
#include "memory/limit.h"
#include "registry/reserve.h"
#include "rseq.h"

static bool is_closed(struct slab_cache *cache, int cpu)
{
	return __atomic_load_n(&cpu_slot(cache->cpu_slots, cpu)->closed, __ATOMIC_ACQUIRE) != 0;
}

/* A slab that `cpu` owns becomes current there, or is listed. */
static void install(struct slab_cache *cache, int cpu, struct slab *slab)
{
	if (cpu_engine->install(cache->cpu_slots, cpu, &slab->cpu) != CPU_DONE)
		slab_list(cache, cpu, slab);
}

static void own_and_install(struct slab_cache *cache, int cpu, struct slab *slab)
{
	cpu_slab_set_owner(&slab->cpu, (uint32_t)cpu);
	install(cache, cpu, slab);
	if (cache_letters(cache) & LETTERS_SLAB) /* switched on meanwhile */
		__atomic_store_n(&cache->undrained, true, __ATOMIC_RELAXED);
}

/* A slab in hand without free objects: make it ready, or let it be full. */
static int reuse(struct slab_cache *cache, int cpu, struct slab *slab)
{
	int error = 0;

	decay_begin_use(slab);
	if (slab_make_ready(cache, slab, &error)) {
		own_and_install(cache, cpu, slab);
		return REFILL_OK;
	}
	if (!error) {
		cache_event(cache, cpu, SLAB_EVENT_DEACTIVATE_FULL);
		return REFILL_NONE;
	}
	slab->next = NULL;
	node_put(cache, slab);
	return REFILL_ERROR;
}

/*
 * The current slab is exhausted: take it off the CPU, step by step (retire,
 * disown, and in slab_make_ready() the exchange that declares it full). Any
 * step that finds it has free objects again lists it for its owner.
 */
static int retire_current(struct slab_cache *cache, int cpu, struct slab *slab)
{
	if (cpu_engine->retire(cache->cpu_slots, cpu, &slab->cpu) != CPU_DONE)
		return REFILL_OK;
	if (cpu_engine->disown(cache->cpu_slots, cpu, &slab->cpu, true) != CPU_DONE) {
		slab_list(cache, cpu, slab);
		return REFILL_OK;
	}
	if (__atomic_load_n(&slab->remote, __ATOMIC_RELAXED) != REMOTE_OWNED)
		cache_event(cache, cpu, SLAB_EVENT_ALLOC_REFILL);
	return reuse(cache, cpu, slab);
}

/* Slabs listed for this CPU from elsewhere; false when there are none. */
static bool take_incoming(struct slab_cache *cache, int cpu)
{
	struct cpu_slot *slot = cpu_slot(cache->cpu_slots, cpu);
	uint64_t list;

	if (!__atomic_load_n(&slot->incoming, __ATOMIC_RELAXED))
		return false;
	list = __atomic_exchange_n(&slot->incoming, 0, __ATOMIC_ACQUIRE);
	while (list) {
		struct slab *slab = slab_from_cpu(cpu_word_slab(list));

		list = slab->cpu.next;
		slab_list(cache, cpu, slab);
	}
	return true;
}

/* false: the list is empty. Anything else is a reason to look again. */
static bool from_partial(struct slab_cache *cache, int cpu)
{
	struct cpu_slot *slot = cpu_slot(cache->cpu_slots, cpu);
	struct cpu_slab *slab;

	if (cpu_engine->partial_pop(cache->cpu_slots, cpu, &slab) != CPU_DONE)
		return __atomic_load_n(&slot->partial, __ATOMIC_RELAXED) != 0;
	cache_event(cache, cpu, SLAB_EVENT_ALLOC_FROM_PARTIAL);
	install(cache, cpu, slab_from_cpu(slab));
	return true;
}

/* Several slabs of a node at once: one to work on, the others for later. */
static int from_node(struct slab_cache *cache, int cpu, unsigned node)
{
	unsigned cpu_partial = __atomic_load_n(&cache->cpu_partial, __ATOMIC_RELAXED);
	struct slab *slabs = node_take(cache, node, cpu_partial / 2 + 1);
	int result = REFILL_NONE;

	while (slabs) {
		struct slab *slab = slabs;

		slabs = slab->next;
		cache_event(cache, cpu, SLAB_EVENT_ALLOC_FROM_NODE);
		if (node != topology_node_of_cpu(cpu))
			cache_event(cache, cpu, SLAB_EVENT_ALLOC_NODE_MISMATCH);
		switch (reuse(cache, cpu, slab)) {
		case REFILL_OK:
			result = REFILL_OK;
			break;
		case REFILL_ERROR:
			/* No constructed object to be had; another slab may have one. */
			if (result == REFILL_NONE)
				result = REFILL_ERROR;
			break;
		default:
			break;
		}
	}
	return result;
}

static int from_pages(struct slab_cache *cache, int cpu, unsigned node)
{
	struct slab *slab = slab_create(cache, node);

	if (!slab)
		return REFILL_ERROR;
	cache_event(cache, cpu, SLAB_EVENT_ALLOC_SLAB);
	return reuse(cache, cpu, slab);
}

/* From nodes that have so many partial slabs. */
static int from_other_nodes(struct slab_cache *cache, int cpu, unsigned node, unsigned least)
{
	for (unsigned other = 0; other < topology_nodes(); other++)
		if (other != node &&
		    __atomic_load_n(&cache->node[other].partial.count, __ATOMIC_RELAXED) >= least &&
		    from_node(cache, cpu, other) == REFILL_OK)
			return REFILL_OK;
	return REFILL_ERROR;
}

/* Is this one of remote_node_ratio in 100 times? A lost count does no harm. */
static bool is_other_nodes_turn(struct slab_cache *cache)
{
	unsigned ratio = __atomic_load_n(&cache->remote_node_ratio, __ATOMIC_RELAXED), sum;

	if (topology_nodes() == 1)
		return false;
	sum = __atomic_load_n(&cache->remote_node_percentage, __ATOMIC_RELAXED) + ratio;
	__atomic_store_n(&cache->remote_node_percentage, sum % 100, __ATOMIC_RELAXED);
	return sum >= 100;
}

/* No partial slab of this node: another node's, if it has plenty, or a fresh one. */
static int from_elsewhere(struct slab_cache *cache, int cpu, unsigned node, unsigned mode)
{
	unsigned plenty = __atomic_load_n(&cache->min_partial, __ATOMIC_RELAXED) + 1;
	int result;

	if (is_other_nodes_turn(cache) && from_other_nodes(cache, cpu, node, plenty) == REFILL_OK)
		return REFILL_OK;
	result = from_pages(cache, cpu, node);
	if (result == REFILL_ERROR && mode & SLAB_ALLOC_FULL)
		return from_other_nodes(cache, cpu, node, 0);
	return result;
}

/* What this CPU freed into others' slabs: some of it may become ours. */
static void flush_gather(struct slab_cache *cache, int cpu)
{
	struct cpu_batch batch;

	if (cpu_engine->gather_take(cache->cpu_slots, cpu, &batch) == CPU_DONE)
		slab_free_remote(cache, slab_from_cpu(batch.slab), batch.count, batch.offset8);
}

/*
 * The last-freed object of a CPU without a current slab goes back to its slab. As long as
 * it served allocations itself, the CPU would never get a current slab, and without one
 * nothing is allocated on the fast path. Its slab may become this CPU's by that.
 */
static void flush_last_freed(struct slab_cache *cache)
{
	void *obj = cpu_engine->pop_hot(cache->cpu_slots);
	struct slab *slab;
	uint16_t offset8;

	if (!obj)
		return;
	slab = slab_of(obj);
	offset8 = cpu_slab_offset8(&slab->cpu, obj);
	slab_free_remote(cache, slab, 1, &offset8);
}

int cache_refill(struct slab_cache *cache, unsigned mode)
{
	int cpu = cpu_engine->cpu();
	unsigned node = topology_node_of_cpu(cpu);
	struct cpu_slab *current;
	int result;

	if (cpu < 0 || is_closed(cache, cpu))
		return REFILL_NO_CPU;
	current = __atomic_load_n(&cpu_slot(cache->cpu_slots, cpu)->current, __ATOMIC_ACQUIRE);
	if (current) {
		result = retire_current(cache, cpu, slab_from_cpu(current));
		if (result != REFILL_NONE)
			return result;
	}
	if (from_partial(cache, cpu) || take_incoming(cache, cpu))
		return REFILL_OK;
	flush_gather(cache, cpu);
	if (from_partial(cache, cpu))
		return REFILL_OK;
	if (mode & ~SLAB_ALLOC_LOCAL)
		flush_last_freed(cache);
	if (from_partial(cache, cpu))
		return REFILL_OK;
	if (mode & (SLAB_ALLOC_PARTIAL | SLAB_ALLOC_FULL)) {
		result = from_node(cache, cpu, node);
		if (result != REFILL_NONE)
			return result;
	}
	if (!(mode & (SLAB_ALLOC_NEW | SLAB_ALLOC_FULL)))
		return REFILL_NONE;
	if (cache_steal(cache)) {
		result = from_node(cache, cpu, node);
		if (result != REFILL_NONE)
			return result;
	}
	return from_elsewhere(cache, cpu, node, mode);
}

/* About as many objects as the CPU got with its new slab will be taken without
 * coming here again. */
static unsigned long count_current(struct slab_cache *cache)
{
	int cpu = cpu_engine->cpu();
	struct cpu_slab *slab;

	if (cpu < 0)
		return 1;
	slab = __atomic_load_n(&cpu_slot(cache->cpu_slots, cpu)->current, __ATOMIC_ACQUIRE);
	return slab ? cpu_slab_free_count(slab) : 1;
}

/* n allocations went by: one between guard pages, if it is time for it. */
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
		if (cache_letters(cache) & LETTERS_SLAB)
			return debug_alloc(cache, -1, false, requested, caller);
		obj = cpu_engine->pop(cache->cpu_slots);
		if (obj)
			break;
		switch (cache_refill(cache, SLAB_ALLOC_FULL)) {
		case REFILL_NO_CPU:
			return node_alloc(cache, topology_node_of_cpu(cpu_engine->cpu()), false);
		case REFILL_ERROR:
			errno = ENOMEM;
			return NULL;
		default:
			if (may_guard && !sample_gate_open(cache))
				obj = alloc_sampled(cache, count_current(cache), requested, caller);
			break;
		}
	}
	return obj;
}

/* Fault injection. */
static bool is_to_fail(const struct slab_cache *cache)
{
	if (!(cache_letters(cache) & SLAB_FAILSLAB) || !fail_object(cache->name, true))
		return false;
	errno = ENOMEM;
	return true;
}

void *cache_alloc_plain(struct slab_cache *cache, const void *caller)
{
	return is_to_fail(cache) ? NULL : alloc_object(cache, false, cache->object_size, caller);
}

/* All that may be used, and no red zone. */
static size_t zeroed_size(const struct slab_cache *cache, const void *obj, size_t requested)
{
	if (requested < cache->object_size && slab_is_tagged(slab_of(obj), SLAB_TAG_DEBUG))
		return debug_usable_size(slab_of(obj), obj);
	return cache->object_size;
}

/* An allocation. */
struct wish {
	struct slab_cache *cache;
	int node; /* -1: any */
	bool strict;
	size_t requested;
	const void *caller;
};

/*
 * A slab's memory is bound to its node, but preferably: the system may have put a page
 * elsewhere. So who insists on a node has a look where the object lies; made-up nodes
 * have no memory to look at.
 */
static void *refuse_elsewhere(struct slab_cache *cache, void *obj, unsigned node)
{
	if (!obj || !topology_is_real() || os_lies_on(obj, cache->object_size, node))
		return obj;
	slab_free_from(cache, obj, slab_of(obj), NULL);
	errno = ENOMEM;
	return NULL;
}

static void *alloc_on_node(const struct wish *wish)
{
	struct slab_cache *cache = wish->cache;
	void *obj;

	if (cache_letters(cache) & LETTERS_SLAB)
		obj = debug_alloc(cache, wish->node, wish->strict, wish->requested, wish->caller);
	else
		obj = node_alloc(cache, (unsigned)wish->node, wish->strict);
	return wish->strict ? refuse_elsewhere(cache, obj, (unsigned)wish->node) : obj;
}

static void *attempt(const struct wish *wish)
{
	if (wish->node < 0)
		return alloc_object(wish->cache, true, wish->requested, wish->caller);
	return alloc_on_node(wish);
}

/* It failed, and limit_cause() says why: make room, and in the end take from the reserve,
 * which may be on any node. */
static SLAB_SLOWPATH void *alloc_again(const struct wish *wish)
{
	struct slab_cache *cache = wish->cache;
	struct retry retry = {
		.cache = cache,
		.bytes = (size_t)1 << cache->slab_shift,
		.wish = {.node = wish->node, .strict = wish->strict},
	};
	void *obj = NULL;

	/* What came free belongs to the reserve, too. */
	while (!obj && retry_allocation(&retry)) {
		reserve_refill(cache, wish->caller);
		limit_clear();
		obj = attempt(wish);
	}
	if (!obj && !wish->strict)
		obj = reserve_take(cache, wish->requested, wish->caller);
	if (!obj)
		limit_failed(cache);
	return obj;
}

/* errno is as it was, or ENOMEM. */
static void *alloc_wish(const struct wish *wish)
{
	struct slab_cache *cache = wish->cache;
	int saved = errno;
	void *obj;

	if (SLAB_UNLIKELY(cache->reserve != NULL))
		reserve_refill(cache, wish->caller);
	limit_clear();
	obj = is_to_fail(cache) ? NULL : attempt(wish);
	if (SLAB_UNLIKELY(!obj))
		obj = alloc_again(wish);
	if (!obj)
		return NULL;
	errno = saved;
	count_slow(cache, 1);
	if (cache->flags & SLAB_ZERO)
		memset(obj, 0, zeroed_size(cache, obj, wish->requested));
	return obj;
}

static SLAB_SLOWPATH void *alloc_anywhere(struct slab_cache *cache, size_t requested,
					  const void *caller)
{
	const struct wish wish = {cache, -1, false, requested, caller};

	if (cache->magic != CACHE_MAGIC) {
		errno = EINVAL;
		return NULL;
	}
	return alloc_wish(&wish);
}

/* In a window of counting it is the fast path that ends here, and hardly longer. It has a
 * sequence, so it must not lie in the section of cold functions, where the sequences put
 * their abort handlers. */
__attribute__((noinline)) void *slab_alloc_requested(struct slab_cache *cache, size_t requested,
						     const void *caller)
{
	if (count_is_light(cache)) {
		void *obj = count_pop(cache);

		if (SLAB_LIKELY(obj))
			return obj;
	}
	return alloc_anywhere(cache, requested, caller);
}

SLAB_SLOWPATH void *slab_alloc_slow(struct slab_cache *cache)
{
	return slab_alloc_requested(cache, cache->object_size, __builtin_return_address(0));
}

void *slab_zalloc(struct slab_cache *cache)
{
	void *obj;

	if (!rseq_pop(&cache->slots, cpu_rseq_offset, &obj))
		obj = slab_alloc_requested(cache, cache->object_size, __builtin_return_address(0));
	return obj ? memset(obj, 0, cache->object_size) : NULL;
}

void *slab_alloc_node(struct slab_cache *cache, int wanted)
{
	bool strict = wanted >= 0 && wanted & SLAB_NODE_STRICT;
	int node = strict ? wanted & ~SLAB_NODE_STRICT : wanted;
	const struct wish wish = {cache, node, strict, cache->object_size,
				  __builtin_return_address(0)};

	if (node == -1)
		return slab_alloc(cache);
	if (cache->magic != CACHE_MAGIC || node < 0 || (unsigned)node >= topology_nodes()) {
		errno = EINVAL;
		return NULL;
	}
	return alloc_wish(&wish);
}
