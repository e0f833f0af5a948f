/* SPDX-License-Identifier: MIT */
/* Files of memory pressure are watched: by the test, and by control threads. */
#include <slab/control.h>

#include "../support/process.h"
#include "pressure_files.h"

namespace
{

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
