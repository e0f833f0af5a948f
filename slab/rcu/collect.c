/* SPDX-License-Identifier: MIT */
/*
 * From the CPUs to a phase: each object's bit in its slab's map of waiting objects is set.
 * Neighbours that were freed one after the other, a *run*, take one atomic operation.
 *
 * A slab with waiting objects is on the stack of its phase once: the thread that changes its link
 * from NULL pushes it. The object that waits keeps the slab. Nobody takes slabs off the stack while
 * threads add to the phase (rcu_enter_phase()).
 */
#include "base/compiler.h"
#include "base/probe.h"
#include "core/slab.h"
#include "debug/debug_cache.h"
#include "inject.h"
#include "rcu/grace_period.h"

#include <errno.h>

/* Objects of one word of a slab's map. */
struct run {
	struct slab *slab;
	unsigned word;
	uint64_t bits;
};

uint32_t rcu_forking;

void rcu_push(struct slab **stack, struct slab *slab, struct slab **next)
{
	struct slab *head = __atomic_load_n(stack, __ATOMIC_RELAXED);

	do
		__atomic_store_n(next, head ? head : RCU_END, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(stack, &head, slab, true, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED));
}

/* --- phases ------------------------------------------------------------------------------- */

/* All sequentially consistent: the objects are unlinked and freed before the phase is read, and the
 * thread that flips the phase reads `users` afterwards. */
unsigned rcu_enter_phase(struct cache_rcu *rcu)
{
	for (;;) {
		unsigned phase = __atomic_load_n(&rcu->phase, __ATOMIC_SEQ_CST) & 1;

		GUARD_STEP(rcu_users, __atomic_fetch_add(&rcu->users[phase], 1, __ATOMIC_SEQ_CST));
		if (GUARD(rcu_phase_again,
			  (__atomic_load_n(&rcu->phase, __ATOMIC_SEQ_CST) & 1) == phase))
			return phase;
		rcu_leave_phase(rcu, phase);
	}
}

void rcu_leave_phase(struct cache_rcu *rcu, unsigned phase)
{
	GUARD_STEP(rcu_users, __atomic_fetch_sub(&rcu->users[phase], 1, __ATOMIC_RELEASE));
}

/* --- adding to a phase -------------------------------------------------------------------- */

/* Objects on their way to a phase. */
struct adding {
	struct cache_rcu *rcu;
	unsigned phase;
	struct run run;
	uint64_t refused;
	struct put_bad *bad;
};

/* The object at a bit of the run: only ordinary and legacy slabs have bad ones. */
static void refuse(struct adding *adding, uint64_t bits)
{
	const struct run *run = &adding->run;

	for (; bits; bits &= bits - 1, adding->refused++)
		put_note(adding->bad,
			 slab_object(adding->rcu->cache, run->slab,
				     run->word * 64 + (unsigned)__builtin_ctzll(bits)),
			 PUT_FREE_ALREADY);
}

/* The bits of a run that are free, or wait in the other phase. A debug slab knows from its records
 * before. */
static uint64_t free_already(const struct adding *adding)
{
	const struct run *run = &adding->run;
	const uint64_t *other = slab_waiting(run->slab, !adding->phase);

	if (run->slab->debug)
		return 0;
	return run->bits &
	       (GUARD_AGAINST(rcu_free_already,
			      __atomic_load_n(&run->slab->map[run->word], __ATOMIC_RELAXED)) |
		GUARD_AGAINST(rcu_waits_already,
			      __atomic_load_n(&other[run->word], __ATOMIC_RELAXED)));
}

static void stack_once(struct adding *adding, struct slab *slab)
{
	struct slab **next = slab_next_waiting(slab, adding->phase), *none = NULL;

	if (!__atomic_load_n(next, __ATOMIC_RELAXED) &&
	    GUARD(rcu_stack_once, __atomic_compare_exchange_n(next, &none, RCU_END, false,
							      __ATOMIC_RELAXED, __ATOMIC_RELAXED)))
		rcu_push(&adding->rcu->slabs[adding->phase], slab, next);
}

static void end_run(struct adding *adding)
{
	const struct run *run = &adding->run;
	uint64_t bad = free_already(adding), old;

	if (run->bits & ~bad) {
		old = __atomic_fetch_or(&slab_waiting(run->slab, adding->phase)[run->word],
					run->bits & ~bad, __ATOMIC_ACQ_REL);
		stack_once(adding, run->slab);
		bad |= GUARD_AGAINST(rcu_twice, old & run->bits);
	}
	if (SLAB_UNLIKELY(bad))
		refuse(adding, bad);
}

/* The index of an object; < 0: its slab is not the cache's any more, since it was freed twice. */
static int index_of(const struct slab_cache *cache, const struct slab *slab, const void *obj)
{
	unsigned index;
	size_t into;
	bool start;

	if (SLAB_UNLIKELY(GUARD_AGAINST(rcu_user, slab_user(slab) != cache)))
		return -1;
	if (SLAB_UNLIKELY(slab->debug != NULL))
		return debug_find_object(slab, obj, &index, &into) ? (int)index : -1;
	index = slab_index_at(cache->reciprocal, (size_t)((const char *)obj - slab->base), &start);
	return index < slab_initialized(slab) ? (int)index : -1;
}

static void add(struct adding *adding, void *obj)
{
	struct slab *slab = slab_of(obj);
	const int index = index_of(adding->rcu->cache, slab, obj);
	const struct run now = {slab, (unsigned)index / 64, UINT64_C(1) << (index & 63)};

	if (SLAB_UNLIKELY(index < 0)) {
		put_note(adding->bad, obj, PUT_FREE_ALREADY);
		adding->refused++;
		return;
	}
	if (adding->run.slab == slab && adding->run.word == now.word &&
	    SLAB_LIKELY(!(adding->run.bits & now.bits))) {
		adding->run.bits |= now.bits;
		return;
	}
	if (adding->run.slab)
		end_run(adding);
	adding->run = now;
}

uint64_t rcu_wait_for(struct cache_rcu *rcu, size_t n, void *const *objs, struct put_bad *ret_bad)
{
	uint64_t pending = __atomic_add_fetch(&rcu->cache->memory.rcu_pending, n, __ATOMIC_SEQ_CST);
	struct adding adding = {.rcu = rcu, .phase = rcu_enter_phase(rcu), .bad = ret_bad};

	SLAB_PROBE(rcu_defer, rcu->cache->name, rcu->cache, n, pending);
	for (size_t i = 0; i < n; i++)
		add(&adding, objs[i]);
	if (adding.run.slab)
		end_run(&adding);
	rcu_leave_phase(rcu, adding.phase);
	__atomic_fetch_sub(&rcu->cache->memory.rcu_pending, adding.refused, __ATOMIC_RELEASE);
	return pending;
}

/* --- the CPUs' objects -------------------------------------------------------------------- */

static unsigned held_by(const struct cache_rcu *rcu, unsigned cpu)
{
	return cpu_array_count(cpu_array(rcu->arrays, cpu));
}

bool rcu_begin_taking(struct cache_rcu *rcu)
{
	__atomic_fetch_add(&rcu->taking, 1, __ATOMIC_SEQ_CST);
	if (GUARD(rcu_forking, !__atomic_load_n(&rcu_forking, __ATOMIC_SEQ_CST)))
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

/* Empty the arrays, which were fenced. With an engine that cannot fence its sections, an object may
 * still come into an array that looks empty; the next collection finds it. */
static void empty_arrays(struct cache_rcu *rcu, struct put_bad *ret_bad)
{
	void *objs[RCU_ARRAY_MAX];

	for (unsigned cpu = 0; cpu < cpu_possible(); cpu++) {
		if (!held_by(rcu, cpu))
			continue;
		rcu_wait_for(rcu, cpu_engine->close(rcu->arrays, (int)cpu, objs), objs, ret_bad);
		cpu_engine->open(rcu->arrays, (int)cpu);
	}
}

static int close_and_empty(struct cache_rcu *rcu, struct put_bad *ret_bad)
{
	int error = 0;

	GUARD_STEP(rcu_close_pointer,
		   __atomic_store_n(&rcu->cache->rcu_arrays, cpu_arrays_none(), __ATOMIC_SEQ_CST));
	cpu_inject(CPU_INJECT_RCU_CLOSED);
	if (GUARD(rcu_close_fence, cpu_engine->fence())) {
		cpu_inject(CPU_INJECT_RCU_FENCED);
		empty_arrays(rcu, ret_bad);
	} else {
		error = -EPERM;
	}
	__atomic_store_n(&rcu->cache->rcu_arrays, rcu->arrays, __ATOMIC_RELEASE);
	return error;
}

int rcu_collect(struct cache_rcu *rcu)
{
	struct put_bad bad = {0};
	int error = 0;

	if (!rcu_begin_taking(rcu))
		return -EAGAIN;
	if (rcu_cpus_hold(rcu))
		error = close_and_empty(rcu, &bad);
	rcu_end_taking(rcu);
	if (SLAB_UNLIKELY(bad.n))
		objects_report(rcu->cache, &bad, NULL);
	return error;
}
