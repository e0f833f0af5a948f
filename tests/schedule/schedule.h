/* SPDX-License-Identifier: MIT */
/*
 * A deterministic scheduler: threads of a test run one at a time, and another one goes on only at
 * marks.
 *
 * Marks are the injection points of the library (cpu_cache/inject.h), among them each lock of four
 * bytes that is about to be taken or has been dropped; mutexes, futexes, waits and sleeps of the
 * library, which the linker leads here (wraps.cc); each access to memory in the objects that are
 * compiled for it (accesses.cc); each instruction of a restartable sequence (sections.cc); and
 * schedule_point() in tests. A generator with a seed decides at each mark who goes on, and now and
 * then that the thread goes on on another CPU, or sleeps while others go on. CPUs and the time are
 * the scheduler's own. So a seed gives the same interleaving again, as long as the program does
 * nothing else that differs.
 */
#pragma once

#include "../support/test.h"

/* A mark. Threads that no scheduler runs go on. */
void schedule_point();

/* A mark at an access to memory, or at the start of a function. There are so many that some seeds
 * pass over all of them. */
void schedule_access();
void schedule_entry();

/* The running thread goes on when this is true; after a turn of others, if there are any. */
void schedule_until(const std::function<bool()> &is_true);
void schedule_yield();

/* With the engine rseq, the thread may be stopped between any two instructions of the next
 * section. */
void schedule_steps();

/* Does another thread hold a mutex? */
bool schedule_others_hold();

/* A number below n from the seed of the run: so bodies decide by chance and replay, too. */
unsigned schedule_random(unsigned n);

/* Preemptions: at its mark number `first` the running thread gives way to thread `second`. */
using schedule_plan = std::vector<std::pair<unsigned, std::size_t>>;

/* Run bodies[] each in a thread of its own until all have returned. Returns a hash of what ran
 * when. In the child of a fork the thread goes on without a scheduler. */
std::uint64_t run_scheduled(std::uint64_t seed, const std::vector<std::function<void()>> &bodies);

/*
 * Call test(seed) for some seeds, SLAB_SCHEDULE_RUNS or `runs` of them, until one fails; it prints
 * the seed. SLAB_SCHEDULE_SEED=N, or the argument --seed=N, calls it for that seed alone.
 */
void for_seeds(unsigned runs, const std::function<void(std::uint64_t)> &test);

/*
 * Call test() with each plan of at most `preemptions` for what run_scheduled() runs in it, until
 * one fails. Without a preemption a thread runs until it waits or ends. `most` plans with one
 * preemption are tried, and as many with two; others with --gtest_repeat.
 */
void for_plans(unsigned preemptions, unsigned most, const std::function<void()> &test);

/* What the library asks the system for. */
enum class request {
	pages,    /* ENOMEM */
	fence,    /* membarrier(2); EPERM */
	visit,    /* of another CPU; EPERM */
	peek,     /* process_vm_readv(2); EFAULT */
	mappings, /* madvise(2), mprotect(2), mremap(2), munmap(2): ENOMEM */
};
/* From now on the system refuses the requests from number `first`, counted from 1, to before
 * `end`. */
void schedule_refuse(request what, unsigned first = 1, unsigned end = ~0u);
/* It refuses nothing, and begins to count. */
void schedule_refuse_nothing();
unsigned schedule_asked(request what);

/* The locks that act() takes, in their order; outside of run_scheduled(). Without marks at accesses
 * those of four bytes are not seen. */
std::vector<const void *> schedule_locks_of(const std::function<void()> &act);

/* Does the running thread hold a lock? */
bool schedule_holds();

/* The running thread is preempted when it has taken this lock for the n-th time, and stays so until
 * the others have ended or wait in vain. Has that happened; and does it last? */
void schedule_stop_holder(const void *lock, unsigned nth);
bool schedule_holder_was_stopped();
bool schedule_holder_is_stopped();

/* From now on, signals interrupt the running thread at one of `odds` marks; NULL: none does. */
void schedule_signals(const std::function<void()> *handler, unsigned odds = 0);
/* No other thread goes on meanwhile. */
void schedule_alone(const std::function<void()> &act);
/* The locks that the running thread has taken. */
unsigned schedule_locks_taken();

/* Requests the cancellation of thread i, if it still runs. */
void schedule_cancel(std::size_t i);
