/* SPDX-License-Identifier: MIT */
/*
 * When a process opens its control socket: at once with its first cache, and with slab_malloc()
 * alone once it is large. Each test runs in a child, where libslab starts.
 */
#include "../support/server.h"

#include <slab/control.h>

#include "slots.h"

namespace
{

constexpr std::size_t start_bytes = std::size_t(1) << 20;

class StartTest : public testing::Test
{
protected:
	/* The child's exit status is the first step that failed, 0: none did. */
	template <typename Steps> void expect_in_child(Steps steps)
	{
		if (under_tsan)
			GTEST_SKIP() << "ThreadSanitizer allows no new thread in a fork's child";
		EXPECT_IN_CHILD(steps);
	}

	bool has_socket() const { return exists(dir.socket(getpid())); }

	/* Does the process have the socket, and an answer from the thread that serves it? */
	bool is_served() const
	{
		return has_socket() &&
		       contains(ask(dir.socket(getpid()), "slab/2 ping\n"), "\"ok\":true");
	}

	bool has_nothing() const
	{
		return !has_socket() && find_thread(getpid(), "slab-control").empty();
	}

	runtime_dir dir;
};

/* Allocate what takes no more than `bytes` of slabs. */
bool allocate(std::size_t bytes)
{
	constexpr std::size_t size = 1000;

	for (std::size_t done = 0; done + size <= bytes; done += size)
		if (!slab_malloc(size))
			return false;
	return true;
}

TEST_F(StartTest, ASmallProcessWithoutCachesHasNoSocket)
{
	expect_in_child([this] {
		for (std::size_t size = 16; size <= 4096; size *= 2)
			slab_mfree(slab_malloc(size));
		return !allocate(start_bytes / 4) ? 1 : !has_nothing() ? 2 : 0;
	});
}

TEST_F(StartTest, ALargeProcessHasOne)
{
	expect_in_child([this] {
		return !allocate(start_bytes / 4) ? 1
		       : !has_nothing()           ? 2
		       : !allocate(start_bytes)   ? 3
		       : !is_served()             ? 4
						  : 0;
	});
}

/* The size decides, also where there is no free memory to look for. */
TEST_F(StartTest, ALargeProcessHasOneWithoutDecay)
{
	expect_in_child([this] {
		setenv("SLAB_DECAY_MS", "never", 1);
		return !allocate(2 * start_bytes) ? 1 : !is_served() ? 2 : 0;
	});
}

/* Large allocations take no slow path of a cache: the next one does. */
TEST_F(StartTest, LargeAllocationsCount)
{
	expect_in_child([this] {
		return !slab_malloc(16) || !has_nothing() ? 1
		       : !slab_malloc(2 * start_bytes)    ? 2
		       : !slab_malloc(100)                ? 3
		       : !is_served()                     ? 4
							  : 0;
	});
}

TEST_F(StartTest, ACacheStartsItAtOnce)
{
	expect_in_child([this] {
		if (!slab_malloc(100) || !has_nothing())
			return 1;
		return !slab_cache_create("start", 100, nullptr, 0) ? 2 : !is_served() ? 3 : 0;
	});
}

TEST_F(StartTest, OnStartsItAtOnce)
{
	expect_in_child([this] {
		setenv("SLAB_CONTROL", "on", 1);
		return !slab_malloc(100) ? 1 : !is_served() ? 2 : 0;
	});
}

/* A child process of the program may have a copy of the descriptor. */
TEST_F(StartTest, AClientThatWasDroppedHasNoEvents)
{
	expect_in_child([this] {
		if (slab_control_fd() < 0)
			return 1;
		const client connected(dir.socket(getpid()));

		accept_mutes();
		return client_slots_in_use() != 1 ? 2 : events_of_dropped() != 0 ? 3 : 0;
	});
}

/* The server stops accepting for a moment where the system lacks descriptors or memory, and after
 * no other error. */
TEST_F(StartTest, WithoutAConnectionTheServerListensOn)
{
	expect_in_child([] {
		if (slab_control_fd() < 0)
			return 1;
		return accept_mutes() ? 2 : 0;
	});
}

TEST_F(StartTest, AChildHasNoClientsOfItsParent)
{
	expect_in_child([this] {
		if (!slab_cache_create("start", 100, nullptr, 0) || !is_served())
			return 1;
		const client connected(dir.socket(getpid()));

		while (client_slots_in_use() != 1)
			usleep(10000);
		return run_in_child([] { return static_cast<int>(client_slots_in_use()); }).empty()
			       ? 0
			       : 2;
	});
}

/* It would have the child's descriptors, and a thread that ends with the child. */
TEST_F(StartTest, AChildOfVforkLeavesItToItsParent)
{
	expect_in_child([this] {
		int status = -1;

		if (!slab_malloc(100))
			return 1;
		/* NOLINTNEXTLINE(bugprone-unsafe-functions): what is tested */
		const pid_t child = vfork();
		if (child == 0)
			_exit(allocate(2 * start_bytes) &&
					      slab_cache_create("start", 100, nullptr, 0)
				      ? 0
				      : 1);
		if (waitpid(child, &status, 0) != child || status != 0 || !has_nothing())
			return 2;
		return !allocate(start_bytes) ? 3 : !is_served() ? 4 : 0;
	});
}

TEST_F(StartTest, ASignalStartsIt)
{
	expect_in_child([this] {
		setenv("SLAB_CONTROL", ("signal:" + std::to_string(SIGUSR2)).c_str(), 1);
		if (!allocate(2 * start_bytes) || !has_nothing())
			return 1;
		if (!slab_cache_create("start", 100, nullptr, 0) || !has_nothing())
			return 2;
		if (raise(SIGUSR2) != 0 || !has_nothing())
			return 3;
		return !allocate(start_bytes) ? 4 : !is_served() ? 5 : 0;
	});
}

/* The signal decides, also for a process that is small and has no free memory to look for. */
TEST_F(StartTest, ASignalStartsItInASmallProcessWithoutDecay)
{
	expect_in_child([this] {
		setenv("SLAB_CONTROL", "signal:12", 1);
		setenv("SLAB_DECAY_MS", "never", 1);
		if (!slab_malloc(100) || raise(12) != 0 || !has_nothing())
			return 1;
		return !slab_malloc(200) ? 2 : !is_served() ? 3 : 0;
	});
}

TEST_F(StartTest, AFailureAfterTheSignalIsReported)
{
	expect_in_child([] {
		char text[100] = {};
		int fds[2];

		setenv("SLAB_CONTROL", "signal:12", 1);
		/* No directory can be created there. */
		unsetenv("SLAB_RUNTIME_DIR");
		setenv("XDG_RUNTIME_DIR", "/proc/self", 1);
		if (pipe2(fds, O_NONBLOCK) != 0 || dup2(fds[1], STDERR_FILENO) < 0)
			return 1;
		if (!slab_malloc(100) || raise(12) != 0 || !slab_malloc(200))
			return 2;
		return read(fds[0], text, sizeof(text) - 1) <= 0 ? 3
		       : std::string(text) != "libslab: no control socket: /proc/self/slab: "
					      "No such file or directory\n"
			       ? 4
			       : 0;
	});
}

/* Where no variable says where: the child's first step makes it the user's. */
int socket_is_in(const std::string &directory, uid_t user)
{
	const std::string path = directory + "/slab/" + std::to_string(getpid()) + ".sock";

	unsetenv("SLAB_RUNTIME_DIR");
	unsetenv("XDG_RUNTIME_DIR");
	if (seteuid(user) != 0)
		return 1;
	if (!slab_cache_create("start", 100, nullptr, 0))
		return 2;
	return unlink(path.c_str()) != 0 ? 3 : 0;
}

TEST_F(StartTest, TheSocketOfRootIsInRun)
{
	if (geteuid() != 0 || access("/run", W_OK) != 0)
		GTEST_SKIP() << "needs root and a writable /run";
	expect_in_child([] { return socket_is_in("/run", 0); });
}

TEST_F(StartTest, TheSocketOfAnotherUserIsInADirectoryInTmp)
{
	const uid_t user = geteuid() ? geteuid() : 65534;
	const std::string directory = "/tmp/slab-" + std::to_string(user);

	expect_in_child([&] { return socket_is_in(directory, user); });
	rmdir((directory + "/slab").c_str());
	rmdir(directory.c_str());
}

/* A thread of the program may have a stack that is too small for a handler. */
TEST_F(StartTest, TheHandlerOfTheSignalRunsOnTheAlternateStack)
{
	expect_in_child([] {
		struct sigaction action = {};

		setenv("SLAB_CONTROL", "signal:12", 1);
		if (!slab_malloc(100) || sigaction(12, nullptr, &action) != 0)
			return 1;
		return !(action.sa_flags & SA_ONSTACK) ? 2 : 0;
	});
}

TEST_F(StartTest, OffStaysOff)
{
	expect_in_child([this] {
		setenv("SLAB_CONTROL", "off", 1);
		return !allocate(4 * start_bytes) ? 1 : !has_nothing() ? 2 : 0;
	});
}

TEST_F(StartTest, ASmallProcessMayServeItInItsLoop)
{
	expect_in_child([this] {
		if (!slab_malloc(100) || slab_control_fd() < 0 || !has_socket())
			return 1;
		return !allocate(2 * start_bytes) ? 2
						  : !find_thread(getpid(), "slab-control").empty();
	});
}

/* A child grows like its parent. */
TEST_F(StartTest, AChildOfASmallProcessStartsItsOwn)
{
	const auto child = [this] {
		return !has_nothing() ? 1 : !allocate(start_bytes) ? 2 : !is_served() ? 3 : 0;
	};

	expect_in_child([&] {
		if (!allocate(start_bytes / 4) || !run_in_child(child).empty())
			return 1;
		return has_nothing() ? 0 : 2;
	});
}

/* A child whose parent has its own loop gets a thread only when it creates a cache. */
TEST_F(StartTest, AChildOfALoopStartsNone)
{
	const auto child = [this] {
		return !allocate(2 * start_bytes) ? 1 : !has_nothing() ? 2 : 0;
	};

	expect_in_child([&] {
		if (!allocate(start_bytes / 4) || slab_control_fd() < 0)
			return 1;
		return run_in_child(child).empty() ? 0 : 2;
	});
}

} /* namespace */
