/* SPDX-License-Identifier: MIT */
/*
 * Processes and threads of tests: children that cannot hang a test, running a
 * test again with another environment, resident memory, CPUs, timers.
 *
 * A child ends by SIGALRM after child_seconds, which only a deadlock reaches.
 */
#ifndef TESTS_SUPPORT_PROCESS_H
#define TESTS_SUPPORT_PROCESS_H

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <gtest/gtest.h>

#if defined(__has_feature)
#define TESTS_HAS_FEATURE(name) __has_feature(name)
#else
#define TESTS_HAS_FEATURE(name) 0
#endif

namespace slab_test
{

/* A program may have AddressSanitizer in the library alone. */
extern "C" void __asan_init() __attribute__((weak));
inline const bool under_asan = __asan_init != nullptr;

#if defined(__SANITIZE_THREAD__) || TESTS_HAS_FEATURE(thread_sanitizer)
constexpr bool under_tsan = true;
#else
constexpr bool under_tsan = false;
#endif

constexpr unsigned child_seconds = 120;

/* Death tests run the binary again instead of forking among threads. */
inline void use_threadsafe_death_tests()
{
	GTEST_FLAG_SET(death_test_style, "threadsafe");
}

/* What a child's end means: "" when it exited with 0, else words. */
inline std::string child_failure(pid_t child)
{
	int status = 0;

	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return "waitpid failed";
	if (WIFSIGNALED(status))
		return "killed by signal " + std::to_string(WTERMSIG(status));
	if (WEXITSTATUS(status) != 0)
		return "exit status " + std::to_string(WEXITSTATUS(status));
	return "";
}

/* Do all threads but this one wait in the kernel? One that is gone does. */
inline bool other_threads_sleep()
{
	for (const auto &task : std::filesystem::directory_iterator("/proc/self/task")) {
		std::string line;

		if (task.path().filename() == std::to_string(gettid()))
			continue;
		std::getline(std::ifstream(task.path() / "stat"), line);
		const std::size_t name_end = line.rfind(") ");

		if (name_end != std::string::npos && line[name_end + 2] != 'S')
			return false;
	}
	return true;
}

/*
 * gcc 12's AddressSanitizer does not hold its allocator's locks over fork(): a child that
 * is forked while another thread allocates hangs in its own first allocation. A control
 * thread that begins allocates; soon it sleeps. Threads that never do are not waited for:
 * children of such tests must not allocate with malloc.
 */
inline void finish_before_fork()
{
	const struct timespec moment = {0, 1000000};

	for (int asleep = 0, looks = 0; under_asan && asleep < 3 && looks < 50; looks++) {
		asleep = other_threads_sleep() ? asleep + 1 : 0;
		nanosleep(&moment, nullptr);
	}
}

/*
 * Run body() in a child that is forked at once; body returns the exit status. The child
 * leaves by _exit(): nothing of gtest's is run or printed twice.
 */
template <typename Body> std::string run_in_child_now(Body body)
{
	const pid_t child = fork();

	if (child < 0)
		return "fork failed";
	if (child == 0) {
		alarm(child_seconds);
		_exit(body());
	}
	return child_failure(child);
}

template <typename Body> std::string run_in_child(Body body)
{
	finish_before_fork();
	return run_in_child_now(body);
}

/* The environment variable that marks the second run of a test. */
constexpr const char *again_variable = "SLAB_TEST_AGAIN";

inline bool running_again()
{
	if (!std::getenv(again_variable))
		return false;
	alarm(child_seconds);
	return true;
}

inline std::string read_all(int fd)
{
	std::string text;
	char buffer[4096];
	ssize_t n;

	while ((n = read(fd, buffer, sizeof(buffer))) > 0 || (n < 0 && errno == EINTR))
		if (n > 0)
			text.append(buffer, static_cast<std::size_t>(n));
	return text;
}

/* How the second run of a test ended, and what it printed. */
struct second_run {
	std::string failure; /* "" when it passed */
	std::string output;
};

/* This process's environment with `settings` ("NAME=value") in it, and without
 * what gtest reads: the first run owns the result file. */
inline std::vector<std::string> environment_with(const std::vector<std::string> &settings)
{
	std::vector<std::string> result = settings;

	result.push_back(std::string(again_variable) + "=1");
	for (char **setting = environ; *setting; setting++) {
		const std::string name(*setting, std::strcspn(*setting, "="));
		const auto given = [&name](const std::string &other) {
			return other.compare(0, name.size() + 1, name + "=") == 0;
		};

		if (name.compare(0, 6, "GTEST_") != 0 &&
		    std::none_of(settings.begin(), settings.end(), given))
			result.emplace_back(*setting);
	}
	return result;
}

/*
 * Run the current test once more, in a process of its own whose environment has
 * `settings` added. Libraries read their environment when they start, so a forked
 * child would be too late. The test calls running_again() and does its work there.
 */
inline second_run run_again(const std::vector<std::string> &settings)
{
	const auto *test = testing::UnitTest::GetInstance()->current_test_info();
	std::string filter =
		std::string("--gtest_filter=") + test->test_suite_name() + "." + test->name();
	std::vector<std::string> environment = environment_with(settings);
	std::vector<char *> pointers;
	char name[] = "again";
	char *arguments[] = {name, &filter[0], nullptr};
	posix_spawn_file_actions_t actions;
	int output[2], error;
	second_run run;
	pid_t child;

	for (std::string &setting : environment)
		pointers.push_back(&setting[0]);
	pointers.push_back(nullptr);
	if (pipe2(output, O_CLOEXEC) != 0)
		return {"pipe failed", ""};
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, output[1], STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&actions, output[1], STDERR_FILENO);
	error = posix_spawn(&child, "/proc/self/exe", &actions, nullptr, arguments,
			    pointers.data());
	posix_spawn_file_actions_destroy(&actions);
	close(output[1]);
	if (error == 0) {
		run.output = read_all(output[0]);
		run.failure = child_failure(child);
	} else {
		run.failure = "posix_spawn failed";
	}
	close(output[0]);
	return run;
}

/* How many pages of [start, start + size) hold memory. Pages that are not
 * mapped at all hold none. */
inline std::size_t resident_pages(const void *start, std::size_t size)
{
	const std::uintptr_t page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
	const std::uintptr_t first = reinterpret_cast<std::uintptr_t>(start) & ~(page - 1);
	const std::uintptr_t end = reinterpret_cast<std::uintptr_t>(start) + size;
	std::vector<unsigned char> in_core((end - first + page - 1) / page);
	std::size_t pages = 0;

	/* All at once, or one by one where some are not mapped. */
	if (mincore(reinterpret_cast<void *>(first), end - first, in_core.data()) != 0)
		for (std::size_t i = 0; i < in_core.size(); i++)
			if (mincore(reinterpret_cast<void *>(first + i * page), page, &in_core[i]))
				in_core[i] = 0;
	for (const unsigned char state : in_core)
		pages += state & 1;
	return pages;
}

/* A number of /proc/self/statm, in bytes: 0 address space, 1 resident. */
inline std::size_t statm(unsigned field)
{
	const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
	unsigned long values[2] = {0, 0};
	FILE *file = std::fopen("/proc/self/statm", "r");

	if (!file)
		return 0;
	if (std::fscanf(file, "%lu %lu", &values[0], &values[1]) != 2)
		values[0] = values[1] = 0;
	std::fclose(file);
	return values[field] * page;
}

inline std::size_t address_space()
{
	return statm(0);
}

inline std::size_t resident_memory()
{
	return statm(1);
}

inline pid_t thread_id()
{
	return static_cast<pid_t>(syscall(SYS_gettid));
}

/* The CPUs that this process may run on, as it started. */
inline const std::vector<int> &allowed_cpus()
{
	static const std::vector<int> cpus = [] {
		std::vector<int> found;
		cpu_set_t set;

		CPU_ZERO(&set);
		sched_getaffinity(0, sizeof(set), &set);
		for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
			if (CPU_ISSET(cpu, &set))
				found.push_back(cpu);
		return found;
	}();

	return cpus;
}

/* Keep thread `tid` (0: the caller) on one of the allowed CPUs, counted round. */
inline void pin(std::size_t index, pid_t tid = 0)
{
	const std::vector<int> &cpus = allowed_cpus();
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpus[index % cpus.size()], &set);
	/* A thread that has just ended is no failure. */
	(void)sched_setaffinity(tid, sizeof(set), &set);
}

inline void unpin()
{
	cpu_set_t set;

	CPU_ZERO(&set);
	for (int cpu : allowed_cpus())
		CPU_SET(cpu, &set);
	(void)sched_setaffinity(0, sizeof(set), &set);
}

/* Keeps the caller on one CPU while this object lives: a slab's free objects are its
 * owner's, and another CPU would begin slabs of its own. */
class on_one_cpu
{
public:
	on_one_cpu()
	{
		(void)sched_getaffinity(0, sizeof(before_), &before_);
		pin(0);
	}

	~on_one_cpu()
	{
		(void)sched_setaffinity(0, sizeof(before_), &before_);
	}

	on_one_cpu(const on_one_cpu &) = delete;
	on_one_cpu &operator=(const on_one_cpu &) = delete;

private:
	cpu_set_t before_;
};

/*
 * Interrupts the calling thread by a signal, many times a second, for as long as
 * this object lives. The handler, unless you give one, lets another thread have the CPU: preemption,
 * between any two instructions, in places where it is rare otherwise.
 */
class interruptions
{
public:
	explicit interruptions(long per_second, void (*handler)(int) = [](int) { sched_yield(); })
	{
		struct sigaction action = {};
		struct sigevent event = {};
		struct itimerspec times = {};

		action.sa_handler = handler;
		action.sa_flags = SA_RESTART;
		sigaction(SIGUSR1, &action, nullptr);
		event.sigev_notify = SIGEV_THREAD_ID;
		event.sigev_signo = SIGUSR1;
		event._sigev_un._tid = thread_id();
		active_ = timer_create(CLOCK_MONOTONIC, &event, &timer_) == 0;
		times.it_interval.tv_nsec = 1000000000L / per_second;
		times.it_value = times.it_interval;
		if (active_)
			timer_settime(timer_, 0, &times, nullptr);
	}

	~interruptions()
	{
		if (active_)
			timer_delete(timer_);
	}

	interruptions(const interruptions &) = delete;
	interruptions &operator=(const interruptions &) = delete;

private:
	timer_t timer_ = nullptr;
	bool active_ = false;
};

} /* namespace slab_test */

#endif /* TESTS_SUPPORT_PROCESS_H */
