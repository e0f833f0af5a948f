/* SPDX-License-Identifier: MIT */
/* Sections that are interrupted: by signals, fences, debuggers. */
#include <sys/ptrace.h>

#include "../support/process.h"
#include "fixture.h"

namespace
{

/*
 * That a point is really where sections are aborted: a section that is held up there for longer
 * than the time between two signals never commits, and commits at once when it is not.
 */
class AbortTest : public EngineTest
{
protected:
	bool run_section_of_point(int point)
	{
		void *objs[] = {object(7), object(8)};
		void *obj;

		if (point == 0 || point == 8)
			return rseq_pop(&user_, cpu_rseq_offset, &obj);
		if (point == 3 || point == 9)
			return rseq_push(&user_, object(5), cpu_rseq_offset);
		if (point == 1)
			return rseq_take(&user_, 2, objs, cpu_rseq_offset);
		if (point == 5)
			return rseq_put(&user_, 2, objs, cpu_rseq_offset);
		return rseq_is_newest(&user_, object(2), cpu_rseq_offset);
	}

	void held_up_sections_fail(int point)
	{
		interruptions often(1000);
		bool done = false;

		put(objects_from(0, 3));
		cpu_inject_loops[point] = ~0u;
		for (int i = 0; i < 10; i++) {
			EXPECT_FALSE(run_section_of_point(point));
			EXPECT_EQ(held(), objects_from(0, 3));
		}
		cpu_inject_loops[point] = 0;
		for (int i = 0; i < 1000 && !done; i++)
			done = run_section_of_point(point);
		EXPECT_TRUE(done);
		while (!take(8).empty())
			continue;
	}
};

INSTANTIATE_TEST_SUITE_P(Engines, AbortTest, testing::Values("rseq"), engine_name);

TEST_P(AbortTest, SectionsHeldUpAtThePointAreAborted)
{
	for (int point : {0, 1, 3, 5, 6, 8, 9}) {
		SCOPED_TRACE(point);
		held_up_sections_fail(point);
	}
}

/* Then calls end, and later the thread tries sections again. */
TEST_P(AbortTest, AThreadWhoseSectionsAreAlwaysAbortedCountsAsOnNoCpu)
{
	int questions = 0;

	{
		interruptions often(1000);

		cpu_inject_loops[9] = ~0u;
		EXPECT_EQ(push(0), CPU_MISS);
		cpu_inject_loops[9] = 0;
	}
	EXPECT_LT(engine_->cpu(), 0);
	EXPECT_EQ(push(0), CPU_MISS);
	while (engine_->cpu() < 0 && questions < 5000)
		questions++;
	EXPECT_LT(questions, 2000);
	EXPECT_EQ(push(0), CPU_DONE);
}

long preemptions()
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nivcsw;
}

/* So many loops of an injection point take about 20 ms. The kernel may end a longer section by
 * itself: it looks through the CPU numbers of a process ten times a second. */
unsigned long_loops(const std::function<void()> &section, unsigned &loops)
{
	double least = 1;

	loops = 10000;
	for (int i = 0; i < 3; i++) {
		const auto begun = std::chrono::steady_clock::now();

		section();
		least = std::min(least, std::chrono::duration<double>(
						std::chrono::steady_clock::now() - begun)
						.count());
	}
	loops = 0;
	return static_cast<unsigned>(10000 * 0.02 / least);
}

/*
 * What a fence did to a section that was held up. It shows nothing if one of the threads was
 * preempted: a preemption ends the section as well, or delays the fence beyond it.
 */
enum class outcome { nothing, popped, ended };

class FenceTest : public AbortTest
{
protected:
	outcome fence_beside_a_pop()
	{
		std::atomic<int> step{0};
		bool preempted = false, popped = false;
		std::thread popper([&] {
			const struct sched_param first = {1};
			void *obj;

			pin(0);
			sched_setscheduler(0, SCHED_FIFO, &first);
			const long before = preemptions();

			step = 1;
			popped = rseq_pop(&user_, cpu_rseq_offset, &obj);
			preempted = preemptions() != before;
			step = 2;
		});

		while (step == 0)
			std::this_thread::yield();
		std::this_thread::sleep_for(std::chrono::milliseconds(1));

		const long before = preemptions();
		const bool late = step == 2;

		engine_->fence();

		const bool was_delayed = late || preemptions() != before;

		popper.join();
		if (preempted || (popped && was_delayed))
			return outcome::nothing;
		return popped ? outcome::popped : outcome::ended;
	}
};

INSTANTIATE_TEST_SUITE_P(Engines, FenceTest, testing::Values("rseq"), engine_name);

/* A thread with a real-time priority, which takes privileges, is hardly ever preempted. */
TEST_P(FenceTest, EndsSectionsThatBeganBefore)
{
	outcome seen = outcome::nothing;
	void *obj;

	put(objects_from(0, 5));
	/* Pop, held up behind its reads. */
	cpu_inject_loops[8] =
		long_loops([&] { rseq_pop(&user_, cpu_rseq_offset, &obj); }, cpu_inject_loops[8]);
	close(send_away());
	user_ = all_.back();
	for (int i = 0; i < 200 && seen == outcome::nothing; i++) {
		pin(0);
		while (!take(8).empty())
			continue;
		EXPECT_EQ(put(objects_from(0, 2)), 2u);
		pin(1);
		seen = fence_beside_a_pop();
	}
	cpu_inject_loops[8] = 0;
	if (seen == outcome::nothing)
		GTEST_SKIP() << "this machine preempts every section";
	EXPECT_EQ(seen, outcome::ended);
	EXPECT_EQ(held(), objects_from(0, 2));
	pin(0);
	EXPECT_EQ(pop(), object(1));
}

/* A debugger that executes a thread instruction by instruction interrupts each of its sections. */
class SingleStepTest : public EngineTest
{
protected:
	/* The exit status of a child that executes act() in single steps; -1: it took too many. */
	static int step_through(const std::function<int()> &act)
	{
		constexpr long most_steps = 300000;
		const pid_t child = fork();
		int status = 0;

		if (child == 0) {
			ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
			raise(SIGSTOP);
			_exit(act());
		}
		for (long steps = 0; steps < most_steps; steps++) {
			if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
				return WIFEXITED(status) ? WEXITSTATUS(status)
							 : 128 + WTERMSIG(status);
			ptrace(PTRACE_SINGLESTEP, child, nullptr, nullptr);
		}
		kill(child, SIGKILL);
		waitpid(child, &status, 0);
		return -1;
	}

	/* Every operation, a few times. */
	int call_all()
	{
		std::array<void *, 4> objs = {object(0), object(1), object(2), object(3)};

		for (std::size_t i = 0; i < 4; i++) {
			engine_->push(&user_, object(9 + i));
			engine_->pop(&user_);
			engine_->put(&user_, objs.size(), objs.data());
			engine_->take(&user_, objs.size(), objs.data());
		}
		return 0;
	}
};

INSTANTIATE_TEST_SUITE_P(Engines, SingleStepTest, all_engines(), engine_name);

TEST_P(SingleStepTest, CallsEnd)
{
	if (step_through([] { return 0; }) != 0)
		GTEST_SKIP() << "this machine does not single-step programs";
	put(objects_from(20, 5));
	EXPECT_EQ(step_through([this] { return call_all(); }), 0);
}

} /* namespace */
