/* SPDX-License-Identifier: MIT */
/*
 * Memory pressure, as files stand in for it: those of a control group's folder, and PSI.
 */
#include <climits>

#include <slab/control.h>

#include "../support/limits.h"
#include "pressure_files.h"

namespace
{

/* --- looking --------------------------------------------------------------------------- */

TEST_F(PressureTest, WithoutFilesNothingHappens)
{
	EXPECT_GT(pressure_poll(), 0);
	EXPECT_GT(pressure_poll(), 0);
	EXPECT_EQ(calls, 0U);
}

TEST_F(PressureTest, BeingHeldUpAtHighIsPressure)
{
	write_events(10, 0);
	pressure_poll();
	EXPECT_EQ(calls, 0U) << "what was before";
	pressure_poll();
	EXPECT_EQ(calls, 0U);
	write_events(11, 0);
	pressure_poll();
	EXPECT_GT(calls, 0U);
}

/* Nor does a name that was cut to fit: "memory.events" is "memory." here. */
TEST_F(PressureTest, AFileWhosePathIsTooLongIsLeftOut)
{
	std::string path = files.path;

	while (path.size() < PATH_MAX - 1 - std::strlen("/memory."))
		path += path.size() % 2 ? "/" : "/.";
	path.resize(PATH_MAX - 1 - std::strlen("/memory."));
	pressure_set_paths(psi.c_str(), path.c_str());
	for (unsigned high : {10, 11}) {
		write("memory.", "high " + std::to_string(high) + "\nmax 0\n");
		pressure_poll();
		pressure_poll();
	}
	EXPECT_EQ(calls, 0U);
}

TEST_F(PressureTest, SoItIsAtMax)
{
	write_events(0, 0);
	pressure_poll();
	write_events(0, 1);
	pressure_poll();
	EXPECT_GT(calls, 0U);
}

TEST_F(PressureTest, SoItIsAtMaxAfterItWasThrottled)
{
	write_events(5, 1);
	pressure_poll();
	write_events(5, 2);
	pressure_poll();
	EXPECT_GT(calls, 0U);
}

TEST_F(PressureTest, OtherEventsAreNone)
{
	write("memory.events", "low 1\nhigh 2\nmax 3\noom 4\n");
	pressure_poll();
	write("memory.events", "low 100\nhigh 2\nmax 3\noom 400\n");
	pressure_poll();
	EXPECT_EQ(calls, 0U);
}

TEST_F(PressureTest, StallsArePressureWhileTheyGoOn)
{
	for (const char *file : {"psi", "memory.pressure"}) {
		const unsigned before = calls;

		pressure_set_paths(psi.c_str(), files.path.c_str());
		write_psi(file, "50.00", 1000);
		pressure_poll();
		EXPECT_EQ(calls, before) << "the first look";
		pressure_poll();
		EXPECT_EQ(calls, before) << "no thread stood still since";
		write_psi(file, "7.49", 2000);
		pressure_poll();
		EXPECT_EQ(calls, before) << "not long enough";
		write_psi(file, "7.50", 3000);
		pressure_poll();
		EXPECT_GT(calls, before) << file;
		unlink((files.path + "/" + file).c_str());
	}
}

TEST_F(PressureTest, FilesThatAreNoSuchFilesAreLeftOut)
{
	write("psi", "nonsense\n");
	write("memory.pressure", "");
	write("memory.events", "high\nmax\n");
	for (int i = 0; i < 3; i++)
		EXPECT_GT(pressure_poll(), 0);
	EXPECT_EQ(calls, 0U);
}

TEST_F(PressureTest, ASixteenthIsReclaimedAtLeast)
{
	const std::size_t before = used_bytes();

	write_events(0, 0);
	pressure_poll();
	write_events(1, 0);
	pressure_poll();
	EXPECT_LE(used_bytes(), before - before / 16);
	EXPECT_GT(used_bytes(), before / 2);
}

TEST_F(PressureTest, WhatIsAboveHighIsReclaimed)
{
	const std::size_t before = used_bytes();

	write("memory.high", "100000000\n");
	write("memory.current", std::to_string(100000000 + 8 * mib) + "\n");
	write_events(0, 0);
	pressure_poll();
	write_events(1, 0);
	pressure_poll();
	EXPECT_LE(used_bytes(), before - 8 * mib);
}

TEST_F(PressureTest, NoHighIsNoExcess)
{
	const std::size_t before = used_bytes();

	write("memory.high", "max\n");
	write("memory.current", "999999999999\n");
	write_events(0, 0);
	pressure_poll();
	write_events(1, 0);
	pressure_poll();
	EXPECT_GT(calls, 0U);
	EXPECT_GT(used_bytes(), before / 2);
}

TEST_F(PressureTest, NotTwiceInASecond)
{
	unsigned before;

	write_events(0, 0);
	pressure_poll();
	const auto start = steady_clock::now();
	write_events(1, 0);
	pressure_poll();
	before = calls;
	for (unsigned i = 2; i < 20; i++) {
		write_events(i, 0);
		pressure_poll();
		if (is_over(start))
			break;
		EXPECT_EQ(calls, before);
	}
	usleep(1100000);
	write_events(20, 0);
	pressure_poll();
	EXPECT_GT(calls, before);
}

TEST_F(PressureTest, MaintenanceLooks)
{
	write_events(0, 0);
	EXPECT_GT(slab_maintain(), 0);
	write_events(1, 0);
	EXPECT_GT(slab_maintain(), 0);
	EXPECT_GT(calls, 0U);
}

TEST_F(PressureTest, AChildLooksItself)
{
	write_events(0, 0);
	EXPECT_IN_CHILD([&] {
		pressure_poll();
		write_events(1, 0);
		pressure_poll();
		return calls > 0 ? 0 : 1;
	});
	EXPECT_EQ(calls, 0U);
}

/* The thread that looked in the parent does not hold up the child. (The child of a process that
 * never had a second thread goes on in the same look.) */
TEST_F(PressureTest, NoThreadLooksInTheChildOfAReclaimFunction)
{
	std::string failure = "not called";

	std::thread([] {}).join();
	on_call = [&] {
		failure = run_in_child([&] {
			alarm(20);
			pressure_set_paths(psi.c_str(), files.path.c_str()); /* waits for others */
			return 0;
		});
	};
	write_events(0, 0);
	pressure_poll();
	write_events(1, 0);
	pressure_poll();
	EXPECT_EQ(failure, "");
}

/* Files of memory pressure are watched: by the test, and by control threads. */

/* --- watching ------------------------------------------------------------------------------ */

TEST_F(PressureTest, WithoutFilesNothingIsWatched)
{
	EXPECT_GT(pressure_period(), 0);
	pressure_tick(&watch, tag);
	EXPECT_EQ(pressure_period(), 0);
	EXPECT_FALSE(serve());
}

TEST_F(PressureTest, AChangeOfTheEventsWakes)
{
	write_events(5, 5);
	pressure_tick(&watch, tag);
	EXPECT_FALSE(serve());
	write_events(6, 5);
	EXPECT_TRUE(serve());
	EXPECT_GT(calls, 0U);
	EXPECT_EQ(pressure_poll(), -1) << "the thread that watches does it";
}

TEST_F(PressureTest, AChangeOfOthersWakesForNothing)
{
	write_events(5, 5);
	pressure_tick(&watch, tag);
	write_events(5, 5);
	EXPECT_TRUE(serve());
	EXPECT_EQ(calls, 0U);
}

TEST_F(PressureTest, AFileThatReportedIsIgnoredForASecond)
{
	write_events(0, 0);
	pressure_tick(&watch, tag);
	const auto start = steady_clock::now();
	write_events(1, 0);
	EXPECT_TRUE(serve());
	EXPECT_GT(pressure_period(), 0) << "ticks are wanted";
	for (unsigned i = 2; i < 50; i++) {
		write_events(i, 0);
		pressure_tick(&watch, tag);
		const bool served = serve();

		if (is_over(start))
			break;
		EXPECT_FALSE(served);
	}
	write_events(50, 0);
	usleep(1100000);
	pressure_tick(&watch, tag);
	EXPECT_EQ(pressure_period(), 0);
	EXPECT_TRUE(serve()) << "what came meanwhile";
}

TEST_F(PressureTest, ATriggerIsWrittenIntoPsi)
{
	/* Ordinary files cannot be watched by epoll. */
	write("psi", "");
	write("memory.pressure", "");
	pressure_tick(&watch, tag);
	EXPECT_EQ(contents("psi"), std::string("some 150000 2000000") + '\0');
	EXPECT_EQ(contents("memory.pressure"), contents("psi"));
	EXPECT_EQ(pressure_period(), 0);
}

TEST_F(PressureTest, AFifoIsWatchedAndItsEventIsPressure)
{
	int fd;
	char text[64] = "";

	ASSERT_EQ(mkfifo(psi.c_str(), 0600), 0);
	pressure_tick(&watch, tag);
	fd = open(psi.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	ASSERT_GE(fd, 0);
	EXPECT_EQ(read(fd, text, sizeof(text)), 20);
	EXPECT_STREQ(text, "some 150000 2000000");
	close(fd);
	/* A fifo has no urgent data: so the test delivers the event. */
	pressure_event(&watch, 0, EPOLLPRI);
	EXPECT_GT(calls, 0U);
}

TEST_F(PressureTest, AFileThatIsGoneIsClosed)
{
	ASSERT_EQ(mkfifo(psi.c_str(), 0600), 0);
	pressure_tick(&watch, tag);
	pressure_event(&watch, 0, EPOLLERR);
	EXPECT_EQ(calls, 0U);
	EXPECT_EQ(pressure_period(), 0);
	EXPECT_EQ(open(psi.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC), -1) << "no process reads";
	EXPECT_EQ(errno, ENXIO);
}

TEST_F(PressureTest, ClosingAndWatchingAgain)
{
	write_events(1, 0);
	pressure_tick(&watch, tag);
	pressure_close(&watch);
	write_events(2, 0);
	EXPECT_FALSE(serve());
	EXPECT_GT(pressure_period(), 0);
	pressure_tick(&watch, tag);
	write_events(3, 0);
	EXPECT_TRUE(serve());
	EXPECT_GT(calls, 0U);
}

/* --- the real thing ------------------------------------------------------------------------- */

TEST_F(PressureTest, TheControlThreadWatches)
{
	if (running_again()) {
		wait_until_asked();
		_exit(HasFailure());
	}

	const second_run run = run_again({"SLAB_CONTROL=on", "SLAB_RUNTIME_DIR=" + files.path});

	EXPECT_EQ(run.failure, "") << run.output;
}

TEST_F(PressureTest, AChildsControlThreadWatches)
{
	if (under_tsan)
		GTEST_SKIP() << "ThreadSanitizer ends children that start threads";
	if (running_again()) {
		const std::string failure = run_in_child([&] {
			for (unsigned n = 0; n < 1000; n++) /* not without a slow path */
				held.push_back(slab_alloc(cache));
			wait_until_asked();
			return 0;
		});

		EXPECT_EQ(failure, ""); /* its parent watches the same file */
		_exit(HasFailure());
	}

	const second_run run = run_again(
		{"SLAB_CONTROL=on", "SLAB_DECAY_MS=never", "SLAB_RUNTIME_DIR=" + files.path});

	EXPECT_EQ(run.failure, "") << run.output;
}

TEST_F(PressureTest, TheMachinesPsiTakesTheTrigger)
{
	pressure_set_paths(nullptr, files.path.c_str());
	const int fd = open("/proc/pressure/memory", O_RDWR | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		GTEST_SKIP() << "no PSI";
	const bool permitted = ::write(fd, "some 150000 2000000", 20) > 0;

	close(fd);
	if (!permitted)
		GTEST_SKIP() << "not permitted";
	pressure_tick(&watch, tag);
	EXPECT_EQ(descriptors_to("/proc/pressure/memory"), 1U);
}

} /* namespace */
