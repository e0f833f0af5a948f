/* SPDX-License-Identifier: MIT */
/*
 * From the CPUs to a phase. The objects of a CPU's LIFO are sorted by slab: those of one slab are
 * linked, a *run*, and join the slab's waiting objects by one exchange. So the exchange costs little
 * for each object, in whatever order they were freed.
 */
#include "base/compiler.h"
#include "base/probe.h"
#include "core/slab.h"
#include "inject.h"
#include "rcu/grace_period.h"

#include <errno.h>

/* Runs under way at a time, one for each of as many neighbouring slabs. */
#define RUNS 128u

/* Objects of one slab that links[] links: index of the first + 1, of the last + 1, number. */
struct run {
	struct slab *slab;
	uint16_t first, last, count;
};

uint32_t rcu_forking;

void rcu_push(struct slab **stack, struct slab *slab, struct slab **next)
{
	struct slab *head = __atomic_load_n(stack, __ATOMIC_RELAXED);

	do
		__atomic_store_n(next, head, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(stack, &head, slab, true, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED));
}

/* Link a run in front of the slab's waiting objects. */
static void add_run(struct cache_rcu *rcu, unsigned phase, const struct run *run)
{
	struct slab *slab = run->slab;
	uint64_t waiting = __atomic_load_n(&slab->waiting[phase], __ATOMIC_RELAXED), value;

	do {
		__atomic_store_n(&slab->links[run->last - 1], (uint16_t)RCU_FIRST(waiting),
				 __ATOMIC_RELAXED);
		value = run->first |
			(uint64_t)(RCU_LAST(waiting) ? RCU_LAST(waiting) : run->last) << 16 |
			(uint64_t)(RCU_COUNT(waiting) + run->count) << 32;
		cpu_inject(CPU_INJECT_RUN_LINKED);
	} while (!__atomic_compare_exchange_n(&slab->waiting[phase], &waiting, value, true,
					      __ATOMIC_RELEASE, __ATOMIC_RELAXED));
	if (!waiting)
		rcu_push(&rcu->slabs[phase], slab, &slab->next_waiting[phase]);
}

static inline uintptr_t number_of(const struct slab *slab)
{
	return (uintptr_t)slab->cpu.base >> __builtin_ctzl(slab_bytes(slab));
}

/* The run of an object's slab. The run of another slab makes room for it. */
static inline struct run *find_run(struct cache_rcu *rcu, unsigned phase, struct run *runs,
				   const void *obj)
{
	struct slab *slab = slab_of(obj);
	struct run *run = &runs[number_of(slab) % RUNS];

	if (SLAB_LIKELY(run->slab == slab))
		return run;
	if (run->slab)
		add_run(rcu, phase, run);
	*run = (struct run){.slab = slab};
	return run;
}

/* Link the first objects, as many as lie in the run's slab; returns their number. */
static inline size_t link_objects(struct run *run, size_t n, void *const *objs)
{
	/* Copies, which the stores to links[] cannot change. */
	const struct cpu_slab where = {.reciprocal = run->slab->cpu.reciprocal};
	const char *base = run->slab->cpu.base;
	const size_t bytes = slab_bytes(run->slab);
	uint16_t *links = run->slab->links;
	unsigned first = run->first, last = run->last;
	size_t i = 0;

	for (; i < n; i++) {
		size_t offset = (size_t)((const char *)objs[i] - base);
		unsigned index = cpu_slab_index(&where, (uint16_t)(offset / 8));

		if (offset >= bytes)
			break;
		__atomic_store_n(&links[index], (uint16_t)first, __ATOMIC_RELAXED);
		first = index + 1;
		last = last ? last : first;
	}
	run->first = (uint16_t)first;
	run->last = (uint16_t)last;
	run->count = (uint16_t)(run->count + i);
	return i;
}

uint64_t rcu_wait_for(struct cache_rcu *rcu, size_t n, void *const *objs)
{
	struct run runs[RUNS] = {0};
	/* Both sequentially consistent: the objects are unlinked and freed before the phase is read. An
	 * acquire alone may come before the store of the sum (ldapr of ARMv8.3). */
	uint64_t pending = __atomic_add_fetch(&rcu->cache->memory.rcu_pending, n, __ATOMIC_SEQ_CST);
	unsigned phase = __atomic_load_n(&rcu->phase, __ATOMIC_SEQ_CST) & 1;

	SLAB_PROBE(rcu_defer, rcu->cache->name, rcu->cache, n, pending);
	for (size_t i = 0; i < n;)
		i += link_objects(find_run(rcu, phase, runs, objs[i]), n - i, objs + i);
	for (unsigned i = 0; i < RUNS; i++)
		if (runs[i].slab)
			add_run(rcu, phase, &runs[i]);
	return pending;
}

/* --- the CPUs' objects -------------------------------------------------------------------- */

static uint64_t held_by(const struct cache_rcu *rcu, unsigned cpu)
{
	return __atomic_load_n(&cpu_lifo(rcu->cache->rcu_lifos, cpu)->count, __ATOMIC_RELAXED);
}

bool rcu_begin_taking(struct cache_rcu *rcu)
{
	__atomic_fetch_add(&rcu->taking, 1, __ATOMIC_SEQ_CST);
	if (!__atomic_load_n(&rcu_forking, __ATOMIC_SEQ_CST))
		return true;
	rcu_end_taking(rcu);
	return false;
}

void rcu_end_taking(struct cache_rcu *rcu)
{
	__atomic_fetch_sub(&rcu->taking, 1, __ATOMIC_RELEASE);
}

bool rcu_cpus_hold(const struct cache_rcu *rcu)
{
	for (unsigned cpu = 0; cpu < cpu_possible(); cpu++)
		if (held_by(rcu, cpu))
			return true;
	return false;
}

static bool close_slots(struct cache_rcu *rcu)
{
	bool any = false;

	for (unsigned cpu = 0; cpu < cpu_possible(); cpu++) {
		if (!held_by(rcu, cpu))
			continue;
		__atomic_store_n(&cpu_slot(rcu->slots, cpu)->closed, 1, __ATOMIC_SEQ_CST);
		any = true;
	}
	return any;
}

/* After a fence no thread opens the LIFO of a closed slot. */
static void close_lifos(struct cache_rcu *rcu)
{
	for (unsigned cpu = 0; cpu < cpu_possible(); cpu++)
		if (__atomic_load_n(&cpu_slot(rcu->slots, cpu)->closed, __ATOMIC_RELAXED))
			__atomic_store_n(&cpu_lifo(rcu->cache->rcu_lifos, cpu)->limit, 0,
					 __ATOMIC_SEQ_CST);
}

/* Empty the LIFOs of closed slots, which were fenced. In the child of a fork no object may be found
 * twice, so the count comes first. */
static void empty_closed(struct cache_rcu *rcu)
{
	for (unsigned cpu = 0; cpu < cpu_possible(); cpu++) {
		struct cpu_lifo *lifo = cpu_lifo(rcu->cache->rcu_lifos, cpu);
		uint64_t n = held_by(rcu, cpu);

		if (!n || !__atomic_load_n(&cpu_slot(rcu->slots, cpu)->closed, __ATOMIC_RELAXED))
			continue;
		__atomic_store_n(&lifo->count, 0, __ATOMIC_RELAXED);
		rcu_wait_for(rcu, n, lifo->obj);
	}
}

static void open_slots(struct cache_rcu *rcu)
{
	for (unsigned cpu = 0; cpu < cpu_possible(); cpu++) {
		struct cpu_slot *slot = cpu_slot(rcu->slots, cpu);

		if (__atomic_load_n(&slot->closed, __ATOMIC_RELAXED))
			__atomic_store_n(&slot->closed, 0, __ATOMIC_RELEASE);
	}
}

/* No section uses the LIFOs of closed slots any more. false: the kernel refuses the fences. */
static bool end_use(struct cache_rcu *rcu)
{
	cpu_inject(CPU_INJECT_RCU_CLOSED);
	if (!cpu_engine->fence(rcu->slots))
		return false;
	close_lifos(rcu);
	cpu_inject(CPU_INJECT_RCU_LIMITED);
	return cpu_engine->fence(rcu->slots);
}

int rcu_collect(struct cache_rcu *rcu)
{
	int error = 0;

	if (!rcu_begin_taking(rcu))
		return -EAGAIN;
	if (close_slots(rcu)) {
		if (end_use(rcu))
			empty_closed(rcu);
		else
			error = -EPERM;
		open_slots(rcu);
	}
	rcu_end_taking(rcu);
	return error;
}
