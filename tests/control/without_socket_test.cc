/* SPDX-License-Identifier: MIT */
/*
 * A process whose control socket cannot be opened, or whose control thread cannot be started:
 * memory goes back all the same. Each test runs in a child, where libslab starts.
 */
#include "../support/refuse.h"
#include "../support/server.h"

#include <slab/control.h>

namespace
{

/* glibc takes it from the stack of each thread. */
thread_local std::array<char, std::size_t(512) << 10> thread_local_data;

bool no_thread_can_start;

} /* namespace */

extern "C" int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
			      void *arg)
{
	using create = int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
	static const auto real = reinterpret_cast<create>(dlsym(RTLD_NEXT, "pthread_create"));

	return no_thread_can_start ? EAGAIN : real(thread, attr, run, arg);
}

namespace
{

constexpr std::size_t object_size = 4096;
constexpr uid_t daemon_user = 65533;

struct slab_cache *create()
{
	return slab_cache_create("returned", object_size, nullptr, 0);
}

/* Allocates and frees objects; returns where they were. */
std::vector<void *> use_memory(struct slab_cache *cache)
{
	std::vector<void *> objects;

	for (int i = 0; i < 200; i++) {
		objects.push_back(slab_alloc(cache));
		std::memset(objects.back(), 1, object_size);
	}
	for (void *object : objects)
		slab_free(cache, object);
	return objects;
}

bool is_returned(const std::vector<void *> &objects)
{
	for (const void *object : objects)
		if (resident_pages(object, object_size))
			return false;
	return true;
}

/* The process only sleeps. run_in_child() has an alarm. */
void wait_for_return(const std::vector<void *> &objects)
{
	while (!is_returned(objects))
		usleep(10000);
}

/* The process uses another cache: each allocation takes a slow path. */
void wait_for_return_in_slow_paths(const std::vector<void *> &objects)
{
	struct slab_cache *other = slab_cache_create("other", 64, nullptr, 0);

	while (!is_returned(objects)) {
		slab_free(other, slab_alloc(other));
		slab_cache_shrink(other);
		usleep(1000);
	}
}

/* stderr of this process is a pipe from now on. */
int read_stderr()
{
	int fds[2];

	return pipe2(fds, O_NONBLOCK | O_CLOEXEC) == 0 && dup2(fds[1], STDERR_FILENO) >= 0 ? fds[0]
											   : -1;
}

std::string text_so_far(int fd)
{
	char text[1000];
	const ssize_t len = read(fd, text, sizeof(text));

	return std::string(text, len > 0 ? static_cast<std::size_t>(len) : 0);
}

class WithoutSocketTest : public testing::Test
{
protected:
	WithoutSocketTest() { setenv("SLAB_DECAY_MS", "100", 1); }

	~WithoutSocketTest() override
	{
		unsetenv("SLAB_DECAY_MS");
		unsetenv("XDG_RUNTIME_DIR");
	}

	/* The child's exit status is the first step that failed, 0: none did. */
	template <typename Steps> void expect_in_child(Steps steps)
	{
		if (under_tsan)
			GTEST_SKIP() << "ThreadSanitizer allows no new thread in a fork's child";
		EXPECT_IN_CHILD(steps);
	}

	bool is_served() const
	{
		return exists(dir.socket(getpid())) &&
		       contains(ask(dir.socket(getpid()), "slab/2 ping\n"), "\"ok\":true");
	}

	/* Has a process with this runtime directory no socket, but returns memory? */
	template <typename Prepare> void expect_return_in(const std::string &path, Prepare prepare)
	{
		setenv("SLAB_RUNTIME_DIR", path.c_str(), 1);
		expect_in_child([&] {
			const int errors = read_stderr();

			if (!prepare())
				return 1;
			wait_for_return(use_memory(create()));
			return text_so_far(errors).find("libslab: no control socket: " + path) == 0
				       ? 0
				       : 2;
		});
	}

	runtime_dir dir;
};

bool nothing()
{
	return true;
}

TEST_F(WithoutSocketTest, MemoryReturnsWithoutARuntimeDirectory)
{
	expect_return_in(dir.path() + "/missing", nothing);
}

/* CPU time of all threads, in a second in which this one sleeps. */
clock_t busy_in_a_second()
{
	const clock_t before = clock();

	usleep(1000000);
	return clock() - before;
}

/* Some sandboxes refuse what a process has not used before. */
TEST_F(WithoutSocketTest, TheThreadSleepsIfItMayNotWaitForDescriptors)
{
	expect_in_child([] {
#ifdef SYS_poll
		if (!refuse(SYS_poll, EPERM))
			return 0;
#endif
		if (!refuse(SYS_ppoll, EPERM))
			return 0;
		wait_for_return(use_memory(create()));
		return busy_in_a_second() < CLOCKS_PER_SEC / 10 ? 0 : 1;
	});
}

TEST_F(WithoutSocketTest, TheThreadSleepsIfItMayNotAcceptAClient)
{
	expect_in_child([this] {
		if (!refuse(SYS_accept4, EPERM))
			return 0;
		create();
		const client waiting(dir.socket(getpid()));

		return waiting.connected() && busy_in_a_second() < CLOCKS_PER_SEC / 10 ? 0 : 1;
	});
}

TEST_F(WithoutSocketTest, MemoryReturnsWithAReadOnlyRuntimeDirectory)
{
	expect_return_in(dir.path(), [this] {
		return chmod(dir.path().c_str(), 0555) == 0 &&
		       (geteuid() != 0 || seteuid(daemon_user) == 0);
	});
}

/* In /tmp any user can be first. */
TEST_F(WithoutSocketTest, MemoryReturnsIfAnotherUserHasTheDirectory)
{
	if (geteuid() != 0)
		GTEST_SKIP() << "needs root";
	const std::string path = "/tmp/slab-" + std::to_string(daemon_user);

	ASSERT_TRUE(mkdir(path.c_str(), 0700) == 0 || errno == EEXIST);
	expect_return_in(path, [] {
		return unsetenv("SLAB_RUNTIME_DIR") == 0 && unsetenv("XDG_RUNTIME_DIR") == 0 &&
		       seteuid(daemon_user) == 0;
	});
	rmdir(path.c_str());
}

/* Two containers may share the directory but not the pids. */
TEST_F(WithoutSocketTest, MemoryReturnsIfAnotherProcessHasTheSocketOfThisPid)
{
	expect_return_in(dir.path(), [this] {
		struct sockaddr_un address = {};
		const std::string path = dir.socket(getpid());
		const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

		address.sun_family = AF_UNIX;
		std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
		return mkdir((dir.path() + "/slab").c_str(), 0700) == 0 &&
		       bind(fd, reinterpret_cast<struct sockaddr *>(&address), sizeof(address)) ==
			       0 &&
		       listen(fd, 10) == 0;
	});
}

TEST_F(WithoutSocketTest, ALackOfDescriptorsPasses)
{
	expect_in_child([this] {
		struct rlimit limit, none;

		getrlimit(RLIMIT_NOFILE, &limit);
		none = limit;
		none.rlim_cur = 0;
		setrlimit(RLIMIT_NOFILE, &none);
		struct slab_cache *cache = create();
		const std::vector<void *> objects = use_memory(cache);

		/* Looks at memory need no descriptor. */
		wait_for_return(objects);
		setrlimit(RLIMIT_NOFILE, &limit);
		while (!is_served())
			usleep(10000);
		wait_for_return(use_memory(cache));
		return 0;
	});
}

TEST_F(WithoutSocketTest, TheSocketIsTriedAgainAndOneLineSaysWhatIsMissing)
{
	const std::string late = dir.path() + "/late";

	setenv("SLAB_RUNTIME_DIR", late.c_str(), 1);
	expect_in_child([&] {
		const int errors = read_stderr();

		if (!create())
			return 1;
		const std::string line = text_so_far(errors);

		if (line !=
		    "libslab: no control socket: " + late + "/slab: No such file or directory\n")
			return 2;
		sleep(2); /* another attempt fails */
		mkdir(late.c_str(), 0700);
		while (!exists(late + "/slab/" + std::to_string(getpid()) + ".sock"))
			usleep(10000);
		return text_so_far(errors).empty() ? 0 : 3;
	});
}

TEST_F(WithoutSocketTest, LargeThreadLocalDataKeepsTheThread)
{
	thread_local_data.fill(1);
	expect_in_child([this] {
		struct slab_cache *cache = create();

		if (!is_served())
			return 1;
		wait_for_return(use_memory(cache));
		return 0;
	});
}

TEST_F(WithoutSocketTest, SlowPathsReturnMemoryIfTheThreadCannotStart)
{
	expect_in_child([] {
		const int errors = read_stderr();

		no_thread_can_start = true;
		struct slab_cache *cache = create();

		wait_for_return_in_slow_paths(use_memory(cache));
		return text_so_far(errors) != "libslab: no control thread: "
					      "Resource temporarily unavailable\n"
			       ? 1
			       : 0;
	});
}

TEST_F(WithoutSocketTest, SlowPathsReturnMemoryIfALoopGetsNoSocket)
{
	expect_in_child([] {
		struct rlimit limit, none;

		getrlimit(RLIMIT_NOFILE, &limit);
		none = limit;
		none.rlim_cur = 0;
		setrlimit(RLIMIT_NOFILE, &none);
		if (slab_control_fd() != -EMFILE)
			return 1;
		wait_for_return_in_slow_paths(use_memory(create()));
		setrlimit(RLIMIT_NOFILE, &limit);
		return slab_control_fd() < 0 || slab_control_dispatch() < 0 ? 2 : 0;
	});
}

} /* namespace */
