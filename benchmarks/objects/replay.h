/* SPDX-License-Identifier: MIT */
/*
 * The case trace, part of cases.c: the allocations and frees of a recorded program
 * (trace.h), each thread's stream by a thread of the team.
 *
 * A lap is the whole trace: one thread sets up, all replay the load, one frees the rest.
 * Only the load is measured. `trace` is CPU time: other programs disturb it little, and
 * the time in which a thread waits for another is not part of it. `trace.elapsed` is the
 * time of the load on all its CPUs.
 */
#pragma once

#include "trace.h"

#ifdef TYPED_ALLOC

static struct replay_thread {
	_Alignas(64) uint64_t waited; /* CPU time in ns, as busy */
	uint64_t busy;
} replay_threads[TRACE_MAX_THREADS];

static uint64_t replay_cpu_time(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* The object in a slot. Another thread may be about to put it there. */
static void *replay_wait(struct replay_thread *self, _Atomic(void *) *slot)
{
	uint64_t start = replay_cpu_time();
	unsigned spins = 0;
	void *obj;

	while (!(obj = atomic_load_explicit(slot, memory_order_acquire)))
		ring_wait(&spins);
	self->waited += replay_cpu_time() - start;
	return obj;
}

static void replay_meet(struct team *team, struct replay_thread *self)
{
	uint64_t start = replay_cpu_time();

	team_barrier(team);
	self->waited += replay_cpu_time() - start;
}

static inline void *replay_take(struct replay_thread *self, _Atomic(void *) *slot)
{
	void *obj = atomic_load_explicit(slot, memory_order_acquire);

	if (!obj)
		obj = replay_wait(self, slot);
	atomic_store_explicit(slot, NULL, memory_order_relaxed);
	return obj;
}

static inline void replay_alloc(_Atomic(void *) *slot, void *obj, size_t word)
{
	*(volatile uintptr_t *)obj = word;
	atomic_store_explicit(slot, obj, memory_order_release);
}

static void replay_stream(struct team *team, unsigned self, unsigned stream)
{
	_Atomic(void *) *slots = (_Atomic(void *) *)team->slots;
	struct replay_thread *thread = &replay_threads[self];

	for (const struct trace_step *step = bench_trace->begin[stream];
	     step < bench_trace->end[stream]; step++) {
		_Atomic(void *) *slot = &slots[step->slot];
		unsigned what = step->what;

		switch (step->kind) {
		case TRACE_ALLOC:
			replay_alloc(slot, TYPED_ALLOC(what), what);
			break;
		case TRACE_FREE:
			TYPED_FREE(what, replay_take(thread, slot));
			break;
		case TRACE_MALLOC:
			replay_alloc(slot, SIZED_ALLOC(what), what);
			break;
		case TRACE_MFREE:
			SIZED_FREE(what, replay_take(thread, slot));
			break;
		default:
			replay_meet(team, thread);
		}
	}
}

/* The mean of all operations, not of the threads: thread 0 records it for all. */
static void replay_record(struct team *team, uint64_t elapsed)
{
	size_t ops = bench_trace->calls;
	unsigned cpus = team->threads < bench_cpus() ? team->threads : bench_cpus();
	uint64_t busy = 0;

	for (unsigned i = 0; i < team->threads; i++)
		busy += replay_threads[i].busy;
	team_record(team, 0, 0, (uint64_t)((double)busy * bench_cycles_per_ns), ops);
	team_record(team, 0, 1, elapsed * cpus, ops);
}

static void replay_load(struct team *team, unsigned self)
{
	struct replay_thread *thread = &replay_threads[self];
	uint64_t start, elapsed, cpu;

	thread->waited = 0;
	if (self == 0)
		replay_stream(team, 0, 0);
	team_barrier(team);
	start = bench_cycles();
	cpu = replay_cpu_time();
	replay_stream(team, self, self + 1);
	thread->busy = replay_cpu_time() - cpu - thread->waited;
	team_barrier(team);
	elapsed = bench_cycles() - start;
	if (self == 0)
		replay_record(team, elapsed);
}

static void replay_rest(struct team *team, unsigned self)
{
	if (self == 0)
		replay_stream(team, 0, team->threads + 1);
}

/* The memory is that of a fresh process at the end of the load. */
static void replay(struct team *team, unsigned self)
{
	replay_load(team, self);
	if (self == 0)
		team_memory(team, 2);
	replay_rest(team, self);
	team_measure(team, self, 0, 2);
	while (team_lap(team, self)) {
		replay_load(team, self);
		replay_rest(team, self);
	}
}

#else /* a pool of one size has no part in it: contestant_open_trace is NULL */

static void replay(struct team *team, unsigned self)
{
	(void)team;
	(void)self;
}

#endif
