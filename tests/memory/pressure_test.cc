/* SPDX-License-Identifier: MIT */
/*
 * Memory pressure, told by files that stand in for the system's: of a group's folder, and
 * PSI. This program has no control thread, so that the test is who watches.
 */
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include <dirent.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <slab/control.h>
#include <slab/memory.h>

#include "../support/limits.h"
#include "../support/process.h"

extern "C" {
#include "base/descriptors.h"
#include "memory/pressure.h"
}

using namespace slab_test;

namespace
{

constexpr unsigned tag = 7;
constexpr std::size_t mib = 1 << 20;

/* Before anything asks for it; a second run says itself what it wants. */
const int without_thread = setenv("SLAB_CONTROL", "off", 0);

using std::chrono::steady_clock;

/* Is the second over that began at this moment or later? */
bool is_over(steady_clock::time_point start)
{
	return steady_clock::now() - start >= std::chrono::seconds(1);
}

/* Files of the process that lead to this name. */
unsigned descriptors_to(const std::string &name)
{
	unsigned n = 0;
	DIR *dir = opendir("/proc/self/fd");

	while (const struct dirent *entry = dir ? readdir(dir) : nullptr) {
		char to[4096] = "";
		const std::string path = std::string("/proc/self/fd/") + entry->d_name;

		n += readlink(path.c_str(), to, sizeof(to) - 1) > 0 && name == to;
	}
	if (dir)
		closedir(dir);
	return n;
}

class PressureTest : public testing::Test
{
protected:
	void SetUp() override
	{
		char name[] = "/tmp/slab-pressure-XXXXXX";
		struct slab_cache_args args = {};

		ASSERT_EQ(without_thread, 0);
		ASSERT_NE(mkdtemp(name), nullptr);
		folder = name;
		psi = folder + "/psi";
		pressure_set_paths(psi.c_str(), folder.c_str());
		if (running_again()) /* before the thread looks for it */
			write_events(0, 0);
		ASSERT_EQ(watch_open(&watch, DESCRIPTORS_FROM), 0);
		args.arg = this;
		args.reclaim = [](struct slab_cache *cache, void *arg) -> std::size_t {
			auto *self = static_cast<PressureTest *>(arg);
			std::size_t n = self->ready ? self->held.size() / 10 : 0;

			self->calls++;
			for (std::size_t i = 0; i < n; i++) {
				slab_free(cache, self->held.back());
				self->held.pop_back();
			}
			return n;
		};
		cache = slab_cache_create("asked", 1000, &args, 0);
		ASSERT_NE(cache, nullptr);
		held = alloc_many(cache, 20000);
		slab_trim();
		ready = true;
	}

	void TearDown() override
	{
		free_many(cache, held);
		EXPECT_EQ(slab_cache_destroy(cache), 0);
		pressure_close(&watch);
		pressure_set_paths(nullptr, nullptr);
		watch_close(&watch);
		for (const char *file :
		     {"psi", "memory.pressure", "memory.events", "memory.high", "memory.current"})
			unlink((folder + "/" + file).c_str());
		EXPECT_EQ(rmdir(folder.c_str()), 0);
	}

	void write(const std::string &file, const std::string &text) const
	{
		std::ofstream(folder + "/" + file) << text;
	}

	void write_events(unsigned high, unsigned max) const
	{
		write("memory.events", "low 0\nhigh " + std::to_string(high) + "\nmax " +
					       std::to_string(max) + "\noom 3\noom_kill 0\n");
	}

	void write_psi(const std::string &file, const std::string &avg10, unsigned total) const
	{
		write(file, "some avg10=" + avg10 +
				    " avg60=90.00 avg300=90.00 total=" + std::to_string(total) +
				    "\nfull avg10=99.00 avg60=0.00 avg300=0.00 total=99999\n");
	}

	std::string contents(const std::string &file) const
	{
		std::ifstream in(folder + "/" + file);

		return {std::istreambuf_iterator<char>(in), {}};
	}

	/* What epoll has to say now: tags. */
	std::vector<unsigned> events() const
	{
		struct epoll_event events[8];
		const int n = epoll_wait(watch.epoll.fd, events, 8, 0);
		std::vector<unsigned> tags;

		for (int i = 0; i < n; i++)
			tags.push_back(events[i].data.u32);
		return tags;
	}

	/* As the server does: true when there was something. */
	bool serve() const
	{
		const std::vector<unsigned> tags = events();

		for (unsigned each : tags)
			pressure_event(&watch, each - tag, EPOLLIN);
		return !tags.empty();
	}

	/* The thread begins to watch within a moment; the alarm says when that takes too
	 * long. */
	void wait_until_asked() const
	{
		while (!descriptors_to("anon_inode:inotify"))
			usleep(1000);
		usleep(100000);
		for (unsigned i = 1; calls == 0; i++) {
			write_events(i, 0);
			usleep(10000);
		}
	}

	std::string folder, psi;
	struct watch watch = WATCH_NONE;
	struct slab_cache *cache = nullptr;
	std::vector<void *> held;
	std::atomic<bool> ready{false}; /* for another thread: all of the above is */
	std::atomic<unsigned> calls{0};
};

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

TEST_F(PressureTest, SoItIsAtMax)
{
	write_events(0, 0);
	pressure_poll();
	write_events(0, 1);
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

		pressure_set_paths(psi.c_str(), folder.c_str());
		write_psi(file, "50.00", 1000);
		pressure_poll();
		EXPECT_EQ(calls, before) << "the first look";
		pressure_poll();
		EXPECT_EQ(calls, before) << "nobody stood still since";
		write_psi(file, "7.49", 2000);
		pressure_poll();
		EXPECT_EQ(calls, before) << "not long enough";
		write_psi(file, "7.50", 3000);
		pressure_poll();
		EXPECT_GT(calls, before) << file;
		unlink((folder + "/" + file).c_str());
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

TEST_F(PressureTest, ASixteenthIsAskedForAtLeast)
{
	const std::size_t before = used_bytes();

	write_events(0, 0);
	pressure_poll();
	write_events(1, 0);
	pressure_poll();
	EXPECT_LE(used_bytes(), before - before / 16);
	EXPECT_GT(used_bytes(), before / 2);
}

TEST_F(PressureTest, WhatIsAboveHighIsAskedFor)
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
	EXPECT_EQ(run_in_child([&] {
			  pressure_poll();
			  write_events(1, 0);
			  pressure_poll();
			  return calls > 0 ? 0 : 1;
		  }),
		  "");
	EXPECT_EQ(calls, 0U);
}

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
	EXPECT_EQ(pressure_poll(), -1) << "who watches does it";
}

TEST_F(PressureTest, AChangeOfOthersWakesForNothing)
{
	write_events(5, 5);
	pressure_tick(&watch, tag);
	write_events(5, 5);
	EXPECT_TRUE(serve());
	EXPECT_EQ(calls, 0U);
}

TEST_F(PressureTest, WhatToldIsNotListenedToForASecond)
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
	/* A fifo has no urgent data: that it came is said here. */
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
	EXPECT_EQ(open(psi.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC), -1) << "nobody reads";
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

	char name[] = "/tmp/slab-pressure-XXXXXX";

	ASSERT_NE(mkdtemp(name), nullptr);

	const second_run run =
		run_again({"SLAB_CONTROL=on", std::string("SLAB_RUNTIME_DIR=") + name});

	EXPECT_EQ(run.failure, "") << run.output;
	EXPECT_EQ(system(("rm -rf " + std::string(name)).c_str()), 0);
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

	char name[] = "/tmp/slab-pressure-XXXXXX";

	ASSERT_NE(mkdtemp(name), nullptr);

	const second_run run = run_again({"SLAB_CONTROL=on", "SLAB_DECAY_MS=never",
					  std::string("SLAB_RUNTIME_DIR=") + name});

	EXPECT_EQ(run.failure, "") << run.output;
	EXPECT_EQ(system(("rm -rf " + std::string(name)).c_str()), 0);
}

TEST_F(PressureTest, TheMachinesPsiTakesTheTrigger)
{
	pressure_set_paths(nullptr, folder.c_str());
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
