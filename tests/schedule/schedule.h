/* SPDX-License-Identifier: MIT */
/*
 * A deterministic scheduler: threads of a test run one at a time, and another one goes on only at
 * marks.
 *
 * Marks are the injection points of the library (cpu_cache/inject.h), among them each lock of four
 * bytes that is about to be taken or has been dropped; mutexes, waits and sleeps of the library,
 * which the linker leads here (schedule.cc); each access to memory of the rooms core and percpu and
 * of the engines mutex and cmpxchg16b (accesses.cc); and schedule_point() in tests. A generator
 * with a seed decides at each mark who goes on, and now and then that the thread goes on on another
 * CPU. Time advances by a step with each look at the clock. So a seed gives the same interleaving
 * again, as long as the program does nothing else that differs.
 *
 * Between two marks a thread runs undisturbed: the assembly of the engine rseq has no marks. What
 * happens within its sections is the matter of tests/cpu_cache.
 */
#pragma once

#include "../support/test.h"

/* A mark. Threads that no scheduler runs go on. */
void schedule_point();

/* A mark at an access to memory. There are so many that some seeds pass over all of them. */
void schedule_access();

/* A number below n from the seed of the run: so bodies decide by chance and replay, too. */
unsigned schedule_random(unsigned n);

/* Run bodies[] each in a thread of its own until all have returned. Returns a hash of what ran
 * when. In the child of a fork the thread goes on without a scheduler. */
std::uint64_t run_scheduled(std::uint64_t seed, const std::vector<std::function<void()>> &bodies);

/*
 * Call test(seed) for some seeds, SLAB_SCHEDULE_RUNS or `runs` of them, until one fails; it prints
 * the seed. SLAB_SCHEDULE_SEED=N, or the argument --seed=N, calls it for that seed alone.
 */
void for_seeds(unsigned runs, const std::function<void(std::uint64_t)> &test);
