/* SPDX-License-Identifier: MIT */
/*
 * Finding a CPU its next slab.
 *
 * Nothing here holds a CPU's slot. A thread may be preempted and wake up on
 * another CPU between any two steps. Each step is a section on the CPU it was
 * meant for, and a slab is either isolated by one thread or where other threads
 * find it. Every function therefore ends in "look again".
 *
 * A CPU takes slabs of its own node. When that has no partial one, those of other nodes
 * would lie idle while fresh memory is taken; so, as in SLUB, in remote_node_defrag_ratio
 * of 100 such cases one of a node that has more than min_partial of them serves first.
 */
#include <slab/slab.h>
#include <slab/stats.h>

#include "percpu/refill.h"
#include "core/debug_record.h"
#include "core/node.h"
#include "core/slab.h"
#include "core/upcalls.h"
#include "pages/idle.h"
#include "pages/topology.h"

static bool is_closed(struct slab_cache *cache, int cpu)
{
	return __atomic_load_n(&cpu_slot(cache->cpu_slots, cpu)->closed, __ATOMIC_ACQUIRE) != 0;
}

/* A slab that `cpu` owns becomes current there, or is listed. */
static void install(struct slab_cache *cache, int cpu, struct slab *slab)
{
	if (cpu_engine->install(cache->cpu_slots, cpu, &slab->cpu) != CPU_DONE)
		slab_push_partial(cache, cpu, slab);
}

static void own_and_install(struct slab_cache *cache, int cpu, struct slab *slab)
{
	cpu_slab_set_owner(&slab->cpu, (uint32_t)cpu);
	install(cache, cpu, slab);
	if (cache_debug_flags(cache) & DEBUG_FLAGS_SLAB) /* switched on meanwhile */
		__atomic_store_n(&cache->plain_owned, true, __ATOMIC_RELAXED);
}

/* An isolated slab without free objects: make it ready, or let it be full. */
static int reuse(struct slab_cache *cache, int cpu, struct slab *slab)
{
	int error = 0;

	decay_begin_use(slab);
	if (slab_refill(cache, slab, &error)) {
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
 * disown, and in slab_refill() the exchange that declares it full). Any
 * step that finds it has free objects again lists it for its owner.
 */
static int retire_current(struct slab_cache *cache, int cpu, struct slab *slab)
{
	if (cpu_engine->retire(cache->cpu_slots, cpu, &slab->cpu) != CPU_DONE)
		return REFILL_OK;
	if (cpu_engine->disown(cache->cpu_slots, cpu, &slab->cpu, true) != CPU_DONE) {
		slab_push_partial(cache, cpu, slab);
		return REFILL_OK;
	}
	if (__atomic_load_n(&slab->remote, __ATOMIC_RELAXED) != REMOTE_OWNED)
		cache_event(cache, cpu, SLAB_EVENT_ALLOC_REFILL);
	return reuse(cache, cpu, slab);
}

/* Slabs listed for this CPU from elsewhere; false when there are none. */
static bool take_handed_off(struct slab_cache *cache, int cpu)
{
	struct cpu_slot *slot = cpu_slot(cache->cpu_slots, cpu);
	uint64_t list;

	if (!__atomic_load_n(&slot->handed_off, __ATOMIC_RELAXED))
		return false;
	list = __atomic_exchange_n(&slot->handed_off, 0, __ATOMIC_ACQUIRE);
	while (list) {
		struct slab *slab = slab_from_cpu(cpu_word_slab(list));

		list = slab->cpu.next;
		slab_push_partial(cache, cpu, slab);
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

/* From nodes that have enough partial slabs. */
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
static bool are_other_nodes_due(struct slab_cache *cache)
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

	if (are_other_nodes_due(cache) && from_other_nodes(cache, cpu, node, plenty) == REFILL_OK)
		return REFILL_OK;
	result = from_pages(cache, cpu, node);
	if (result == REFILL_ERROR && mode & SLAB_ALLOC_FULL)
		return from_other_nodes(cache, cpu, node, 0);
	return result;
}

/* The remote batch is handed over: its slab may become this CPU's. */
static void flush_remote_batch(struct slab_cache *cache, int cpu)
{
	struct cpu_batch batch;

	if (cpu_engine->batch_take(cache->cpu_slots, cpu, &batch) == CPU_DONE)
		slab_free_remote(cache, slab_from_cpu(batch.slab), batch.count, batch.offset8);
}

/*
 * The last-freed object of a CPU without a current slab is returned to its slab; or one of
 * its LIFO, when it has none. As long as these served allocations themselves, the CPU would
 * never get a current slab, and without one nothing is allocated on the fast path. The slab
 * of the object may become this CPU's by that.
 */
static void flush_held(struct slab_cache *cache)
{
	void *obj = cpu_engine->pop_held(cache->cpu_slots);

	if (obj && !slab_deliver_held(cache, obj))
		cache->checks->full(cache, slab_of(obj), obj, NULL);
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
	if (from_partial(cache, cpu) || take_handed_off(cache, cpu))
		return REFILL_OK;
	flush_remote_batch(cache, cpu);
	if (from_partial(cache, cpu))
		return REFILL_OK;
	if (mode & ~SLAB_ALLOC_LOCAL)
		flush_held(cache);
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
