/* SPDX-License-Identifier: MIT */
/*
 * Refill: give a CPU another current slab.
 *
 * No function here locks the CPU's slot: a thread may be preempted between any two steps and wake
 * up on another CPU. Each step is a section on the CPU that it was meant for. Between the steps a
 * slab is either isolated by one thread or where other threads find it. So the caller retries its
 * allocation after each step that changed something.
 *
 * A CPU prefers slabs of its own node. If that node has no partial slab, remote_node_defrag_ratio
 * of 100 refills first try the other nodes, as in SLUB. Only nodes with more than min_partial
 * partial slabs serve them. Without this, slabs would lie idle there while this node takes fresh
 * memory.
 */
#include <slab/slab.h>
#include <slab/stats.h>

#include "inject.h"
#include "percpu/magazines.h"
#include "percpu/refill.h"
#include "base/probe.h"
#include "core/debug_record.h"
#include "core/node.h"
#include "core/slab.h"
#include "core/upcalls.h"
#include "pages/idle.h"
#include "pages/topology.h"

/* Other threads may take the slabs that this one has stolen. */
#define STEAL_TRIES 8u

static bool is_closed(struct slab_cache *cache, int cpu)
{
	return __atomic_load_n(&cpu_slot(cache->cpu_slots, cpu)->closed, __ATOMIC_ACQUIRE) != 0;
}

/* Make a slab that `cpu` owns its current slab; if the CPU has one, list the slab instead. */
static void install(struct slab_cache *cache, int cpu, struct slab *slab)
{
	if (cpu_engine->install(cache->cpu_slots, cpu, &slab->cpu) != CPU_DONE)
		slab_push_partial(cache, cpu, slab);
}

static void own_and_install(struct slab_cache *cache, int cpu, struct slab *slab)
{
	cpu_slab_set_owner(&slab->cpu, (uint32_t)cpu);
	SLAB_PROBE(slab_acquire, cache->name, cache, slab, cpu, cpu_slab_free_count(&slab->cpu));
	install(cache, cpu, slab);
	/* Debug flags may have been switched on in the meantime. */
	if (cache_debug_flags(cache) & DEBUG_FLAGS_SLAB)
		__atomic_store_n(&cache->plain_owned, true, __ATOMIC_RELAXED);
}

/* Install an isolated slab, or make it a full slab if it gets no free objects. */
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
 * Take the exhausted current slab off the CPU in three steps: retire, disown, and the exchange in
 * slab_refill() that makes it a full slab. A step that finds free objects keeps the slab for its
 * owner.
 */
static int retire_current(struct slab_cache *cache, int cpu, struct slab *slab)
{
	if (cpu_engine->retire(cache->cpu_slots, cpu, &slab->cpu) != CPU_DONE)
		return REFILL_OK;
	cpu_inject(CPU_INJECT_RETIRED);
	if (cpu_engine->disown(cache->cpu_slots, cpu, &slab->cpu, true) != CPU_DONE) {
		slab_push_partial(cache, cpu, slab);
		return REFILL_OK;
	}
	cpu_inject(CPU_INJECT_DISOWNED);
	if (__atomic_load_n(&slab->remote, __ATOMIC_RELAXED) != REMOTE_OWNED)
		cache_event(cache, cpu, SLAB_EVENT_ALLOC_REFILL);
	return reuse(cache, cpu, slab);
}

/* Move the handed-off slabs to the CPU partial list. false: there were none. */
static bool take_handed_off(struct slab_cache *cache, int cpu)
{
	struct cpu_slot *slot = cpu_slot(cache->cpu_slots, cpu);
	uint64_t list;

	if (!__atomic_load_n(&slot->handed_off, __ATOMIC_RELAXED))
		return false;
	list = __atomic_exchange_n(&slot->handed_off, 0, __ATOMIC_ACQUIRE);
	cpu_inject(CPU_INJECT_HANDED_OFF_TAKEN);
	while (list) {
		struct slab *slab = slab_from_cpu(cpu_word_slab(list));

		list = slab->cpu.next;
		slab_push_partial(cache, cpu, slab);
	}
	return true;
}

/* Install a slab of the CPU partial list. false: the list is empty. After true the caller
 * retries. */
static bool from_partial(struct slab_cache *cache, int cpu)
{
	struct cpu_slot *slot = cpu_slot(cache->cpu_slots, cpu);
	struct cpu_slab *slab;

	if (cpu_engine->partial_pop(cache->cpu_slots, cpu, &slab) != CPU_DONE)
		return __atomic_load_n(&slot->partial, __ATOMIC_RELAXED) != 0;
	cache_event(cache, cpu, SLAB_EVENT_ALLOC_FROM_PARTIAL);
	cpu_inject(CPU_INJECT_PARTIAL_POPPED);
	install(cache, cpu, slab_from_cpu(slab));
	return true;
}

/* Take several slabs of a node at once: one becomes current, the others go to the CPU partial list.
 * One lock of the node serves several refills. */
static int from_node(struct slab_cache *cache, int cpu, unsigned node)
{
	unsigned cpu_partial = __atomic_load_n(&cache->cpu_partial, __ATOMIC_RELAXED);
	struct slab *slabs = node_take(cache, node, cpu_partial / 2 + 1);
	int result = REFILL_NONE;

	cpu_inject(CPU_INJECT_NODE_TAKEN);
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
			/* This slab's constructor failed; another slab may still have free
			 * objects. */
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
	cpu_inject(CPU_INJECT_PAGES_TAKEN);
	return reuse(cache, cpu, slab);
}

/* Take slabs of other nodes that have at least `least` partial slabs. */
static int from_other_nodes(struct slab_cache *cache, int cpu, unsigned node, unsigned least)
{
	for (unsigned other = 0; other < topology_nodes(); other++)
		if (other != node &&
		    __atomic_load_n(&cache->node[other].partial.count, __ATOMIC_RELAXED) >= least &&
		    from_node(cache, cpu, other) == REFILL_OK)
			return REFILL_OK;
	return REFILL_ERROR;
}

/* Does this refill belong to the remote_node_ratio of 100 that try other nodes first? A lost update
 * of the sum does no harm. */
static bool are_other_nodes_due(struct slab_cache *cache)
{
	unsigned ratio = __atomic_load_n(&cache->remote_node_ratio, __ATOMIC_RELAXED), sum;

	if (topology_nodes() == 1)
		return false;
	sum = __atomic_load_n(&cache->remote_node_percentage, __ATOMIC_RELAXED) + ratio;
	__atomic_store_n(&cache->remote_node_percentage, sum % 100, __ATOMIC_RELAXED);
	return sum >= 100;
}

/* The node has no partial slab: take one of another node that has plenty, or a fresh one. If there
 * is no fresh one, SLAB_ALLOC_FULL takes a slab of any node. */
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

/* Deliver the remote batch. If its slab was full, the slab becomes this CPU's. */
static void flush_remote_batch(struct slab_cache *cache, int cpu)
{
	struct cpu_batch batch;

	if (cpu_engine->batch_take(cache->cpu_slots, cpu, &batch) == CPU_DONE) {
		cpu_inject(CPU_INJECT_BATCH_TAKEN);
		slab_free_remote(cache, slab_from_cpu(batch.slab), batch.count, batch.offset8);
	}
}

/*
 * The CPU's slot is closed: a thread is taking its slabs. Until they are on the node's list this
 * allocation would take a fresh slab, so wait for that thread. true: the slot is open again. false:
 * allocate from the node.
 */
static bool wait_until_open(struct slab_cache *cache, int cpu, unsigned node)
{
	for (unsigned tries = STEAL_TRIES; tries && is_closed(cache, cpu); tries--)
		if (node_has_slabs(cache, node) || !cache_list_taken(cache))
			return false;
	return !is_closed(cache, cpu);
}

/* Without slabs no CPU holds anything, so the memory of LIFOs and of other CPUs' slots, and the
 * number of CPUs, are left alone. */
int cache_refill(struct slab_cache *cache, unsigned mode)
{
	int cpu = cpu_engine->cpu();
	unsigned node = topology_node_of_cpu(cpu);
	const bool may_grow = mode & (SLAB_ALLOC_NEW | SLAB_ALLOC_FULL);
	struct cpu_slab *current;
	int result;

	if (cpu < 0)
		return REFILL_NO_CPU;
	if (is_closed(cache, cpu) && !(may_grow && wait_until_open(cache, cpu, node)))
		return REFILL_NO_CPU;
	current = __atomic_load_n(&cpu_slot(cache->cpu_slots, cpu)->current, __ATOMIC_ACQUIRE);
	if (mode & (SLAB_ALLOC_PARTIAL | SLAB_ALLOC_FULL) && magazine_get(cache, cpu))
		return REFILL_OK;
	if (current) {
		result = retire_current(cache, cpu, slab_from_cpu(current));
		if (result != REFILL_NONE)
			return result;
	}
	if (from_partial(cache, cpu) || take_handed_off(cache, cpu))
		return REFILL_OK;
	if (!cache_count_slabs(cache))
		return may_grow ? from_elsewhere(cache, cpu, node, mode) : REFILL_NONE;
	flush_remote_batch(cache, cpu);
	if (from_partial(cache, cpu))
		return REFILL_OK;
	if (mode & (SLAB_ALLOC_PARTIAL | SLAB_ALLOC_FULL)) {
		result = from_node(cache, cpu, node);
		if (result != REFILL_NONE)
			return result;
	}
	if (!may_grow)
		return REFILL_NONE;
	for (unsigned tries = STEAL_TRIES; tries && cache_steal(cache); tries--) {
		result = from_node(cache, cpu, node);
		if (result != REFILL_NONE)
			return result;
	}
	return from_elsewhere(cache, cpu, node, mode);
}
