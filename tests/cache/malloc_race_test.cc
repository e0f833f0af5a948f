/* SPDX-License-Identifier: MIT */
/*
 * Two threads free one large allocation at once: a mistake of the program, which is reported
 * once. The first thread is stopped behind each of its instructions in turn; the second one frees
 * there.
 */
#include <ucontext.h>
#ifdef __x86_64__
#include <x86intrin.h>
#endif

#include "../support/objects.h"
#include "../support/process.h"
#include "../support/reports.h"
#include "../support/without_thread.h"

namespace
{

constexpr std::size_t size = 100000;

void free_sized(void *memory)
{
	slab_free_sized(memory, size);
}

void free_any(void *memory)
{
	EXPECT_TRUE(slab_free_any(memory));
}

using function = void (*)(void *);

class LargeFreedTwice : public testing::TestWithParam<function>
{
};

/* A program's mistake, so ThreadSanitizer has a right to complain. */
TEST_P(LargeFreedTwice, IsReportedOnce)
{
	if (under_tsan)
		GTEST_SKIP() << "two frees of one object are a race";
	for (unsigned i = 0; i < 200; i++) {
		report_capture reports;
		void *memory = slab_malloc(size);
		std::thread other([memory] { slab_mfree(memory); });

		GetParam()(memory);
		other.join();
		EXPECT_EQ(reports.count(), 1u) << reports.text();
		EXPECT_EQ(process_stats().large_bytes, 0u);
	}
}

#ifdef __x86_64__

constexpr unsigned trap_flag = 0x100;

std::atomic<unsigned> steps; /* instructions until the first thread stops */
std::atomic<bool> is_freed;  /* by the second thread */
sem_t stopped;

/* Wait until the second thread has freed the memory, or sleeps: the first one may hold a lock that
 * it needs. */
void wait_for_free()
{
	const struct timespec pause = {0, 20000};

	for (unsigned i = 0; i < 1000 && !is_freed && !other_threads_sleep(); i++)
		nanosleep(&pause, nullptr);
}

void on_step(int /* signal */, siginfo_t * /* info */, void *context)
{
	if (--steps)
		return;
	static_cast<ucontext_t *>(context)->uc_mcontext.gregs[REG_EFL] &=
		~static_cast<long>(trap_flag);
	sem_post(&stopped);
	wait_for_free();
}

/* Call a function that frees the memory, and stop behind this many of its instructions. false: it
 * has fewer. */
bool free_with_a_stop(function free, void *memory, unsigned after)
{
	steps = after;
	is_freed = false;
	__writeeflags(__readeflags() | trap_flag);
	free(memory);
	__writeeflags(__readeflags() & ~static_cast<unsigned long long>(trap_flag));
	return steps == 0;
}

TEST_P(LargeFreedTwice, IsReportedOnceAtEachInstruction)
{
	struct sigaction action = {}, former;
	bool has_stopped = true;

	ASSERT_TRUE(without_thread);
	if (under_tsan)
		GTEST_SKIP() << "two frees of one object are a race";
	if (under_asan || under_gcov)
		GTEST_SKIP() << "stepping takes long in instrumented code, which users do not run";
	sem_init(&stopped, 0, 0);
	action.sa_sigaction = on_step;
	action.sa_flags = SA_SIGINFO;
	sigaction(SIGTRAP, &action, &former);
	for (unsigned after = 1; has_stopped && !HasFailure(); after++) {
		report_capture reports;
		void *memory = slab_malloc(size);
		std::thread other([memory] {
			sem_wait(&stopped);
			slab_mfree(memory);
			is_freed = true;
		});

		has_stopped = free_with_a_stop(GetParam(), memory, after);
		if (!has_stopped)
			sem_post(&stopped);
		other.join();
		EXPECT_EQ(reports.count(), 1u) << after << reports.text();
		EXPECT_EQ(process_stats().large_bytes, 0u);
	}
	sigaction(SIGTRAP, &former, nullptr);
	sem_destroy(&stopped);
}

#endif

INSTANTIATE_TEST_SUITE_P(Functions, LargeFreedTwice,
			 testing::Values(slab_mfree, free_sized, free_any));

} /* namespace */
