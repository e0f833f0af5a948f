/* SPDX-License-Identifier: MIT */
/*
 * Cases of mixed lifetimes, part of cases.c. Allocations and frees do not alternate:
 * where they do, the newest object of the array serves every allocation, and what it costs to
 * find one in a slab that is nearly full stays hidden.
 */
#pragma once

#include "program.h"

#define RANDOM_TURNOVERS 5u
#define ZIPF_TURNOVERS 15u /* longer than the greatest age */
#define SURVIVORS_FREED (BENCH_LIVE_OBJECTS / 10)
#define SURVIVORS_WARM_UP 30u

static void run_steps(void **slots, const uint32_t *step, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		void **slot = &slots[step[i] >> 1];

		if (step[i] & PROGRAM_ALLOC)
			*slot = obj_new(i);
		else
			OBJ_FREE(*slot);
	}
}

/* The same for a caller that uses its objects: one line written after each allocation
 * (by obj_new) and before each free. */
static void run_steps_touching(void **slots, const uint32_t *step, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		void **slot = &slots[step[i] >> 1];

		if (step[i] & PROGRAM_ALLOC) {
			*slot = obj_new(i);
		} else {
			*(volatile uintptr_t *)*slot = i;
			OBJ_FREE(*slot);
		}
	}
}

typedef void (*steps_runner)(void **slots, const uint32_t *step, unsigned n);

/* Turnovers of all objects without a clock. */
static void mixed_warm_up(void **slots, struct program *program, program_mix mix,
			  unsigned turnovers)
{
	unsigned n, batches = turnovers * (2 * BENCH_LIVE_OBJECTS / PROGRAM_STEPS);

	for (unsigned i = 0; i < batches; i++) {
		const uint32_t *step = program_next(program, mix, &n);

		run_steps(slots, step, n);
	}
}

static void mixed_measure(struct team *team, unsigned self, unsigned row, struct program *program,
			  program_mix mix, steps_runner run)
{
	void **slots = own_slots(team, self);

	team_measure(team, self, row, 1);
	while (team_lap(team, self)) {
		unsigned n;
		const uint32_t *step = program_next(program, mix, &n);
		uint64_t start;

		run(slots, step, PROGRAM_LEAD);
		team_barrier(team);
		start = bench_cycles();
		run(slots, step + PROGRAM_LEAD, n - PROGRAM_LEAD);
		team_record(team, self, 0, bench_cycles() - start, (n - PROGRAM_LEAD) / 2);
	}
}

/* A program's memory is not the allocator's; memory.random has one thread. */
static struct program *mixed_open(struct team *team, unsigned self)
{
	long before = bench_resident();
	struct program *program = program_open(seed(self));

	if (team->threads == 1)
		team->rss_base += bench_resident() - before;
	return program;
}

static void mixed_fill(void **slots, struct program *program)
{
	unsigned n;
	const uint32_t *step = program_fill(program, &n);

	run_steps(slots, step, n);
}

static void mixed_random(struct team *team, unsigned self)
{
	struct program *program = mixed_open(team, self);

	mixed_fill(own_slots(team, self), program);
	mixed_warm_up(own_slots(team, self), program, program_random, RANDOM_TURNOVERS);
	mixed_measure(team, self, 0, program, program_random, run_steps);
	if (team->threads == 1) {
		mixed_measure(team, self, 1, program, program_random, run_steps_touching);
		team_memory(team, 2);
	}
	program_close(program);
}

static void mixed_burst(struct team *team, unsigned self)
{
	struct program *program = mixed_open(team, self);

	mixed_fill(own_slots(team, self), program);
	mixed_warm_up(own_slots(team, self), program, program_burst, RANDOM_TURNOVERS);
	mixed_measure(team, self, 0, program, program_burst, run_steps);
	program_close(program);
}

static void mixed_zipf(struct team *team, unsigned self)
{
	struct program *program = mixed_open(team, self);

	mixed_warm_up(own_slots(team, self), program, program_zipf, ZIPF_TURNOVERS);
	mixed_measure(team, self, 0, program, program_zipf, run_steps);
	program_close(program);
}

/* A tenth of the objects, chosen at random, to the end in random order. */
static void choose_tenth(void **objs, uint64_t *random)
{
	for (unsigned i = 0; i < SURVIVORS_FREED; i++) {
		unsigned end = BENCH_LIVE_OBJECTS - 1 - i;
		unsigned k = (unsigned)(bench_random(random) % (end + 1));
		void *obj = objs[end];

		objs[end] = objs[k];
		objs[k] = obj;
	}
}

/* 90 % survive: free a random tenth of the objects, allocate as many again. */
static void survivors(struct team *team, unsigned self)
{
	void **freed = team->slots + BENCH_LIVE_OBJECTS - SURVIVORS_FREED;
	uint64_t random = seed(self);

	for (unsigned i = 0; i < BENCH_LIVE_OBJECTS; i++)
		team->slots[i] = obj_new(i);
	for (unsigned lap = 0; lap < SURVIVORS_WARM_UP; lap++) {
		choose_tenth(team->slots, &random);
		record_free(team, self, freed, SURVIVORS_FREED);
		record_alloc(team, self, freed, SURVIVORS_FREED);
	}
	team_measure(team, self, 0, 2);
	while (team_lap(team, self)) {
		choose_tenth(team->slots, &random);
		record_free(team, self, freed, SURVIVORS_FREED);
		record_alloc(team, self, freed, SURVIVORS_FREED);
	}
}
