/* SPDX-License-Identifier: MIT */
/*
 * Processes of tests: children that cannot hang a test, running a test again with
 * another environment.
 *
 * A child ends by SIGALRM after child_seconds, which only a deadlock reaches.
 */
#pragma once

#include <filesystem>

#include "cpus.h"
#include "resident.h"

#if defined(__has_feature)
#define TESTS_HAS_FEATURE(name) __has_feature(name)
#else
#define TESTS_HAS_FEATURE(name) 0
#endif

/* A program may have AddressSanitizer in the library alone. */
extern "C" void __asan_init() __attribute__((weak));
inline const bool under_asan = __asan_init != nullptr;

/* The library counts what is executed (NAME.coverage): more frames, and files at the end. */
extern "C" void __gcov_dump() __attribute__((weak));
inline const bool under_gcov = __gcov_dump != nullptr;

#if defined(__SANITIZE_THREAD__) || TESTS_HAS_FEATURE(thread_sanitizer)
constexpr bool under_tsan = true;
#else
constexpr bool under_tsan = false;
#endif

/* SLAB_TEST_SLOWER is how many times as long as usual a test may take, where a machine is
 * emulated. */
inline unsigned seconds_of_children()
{
	const char *factor = std::getenv("SLAB_TEST_SLOWER");
	const int slower = factor ? std::atoi(factor) : 1;

	return 120 * static_cast<unsigned>(std::max(slower, 1));
}

inline const unsigned child_seconds = seconds_of_children();

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

#define EXPECT_IN_CHILD(...) EXPECT_EQ(run_in_child(__VA_ARGS__), "")

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

constexpr const char *was_skipped = "the second run skipped the test";

/* How the second run of a test ended, and what it printed. */
struct second_run {
	std::string failure; /* "" when it passed; was_skipped */
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
 * The process may use all CPUs, whatever the caller is pinned to.
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
	{
		const on_all_cpus here;

		error = posix_spawn(&child, "/proc/self/exe", &actions, nullptr, arguments,
				    pointers.data());
	}
	posix_spawn_file_actions_destroy(&actions);
	close(output[1]);
	if (error == 0) {
		run.output = read_all(output[0]);
		run.failure = child_failure(child);
		if (run.failure.empty() && run.output.find("[  SKIPPED ]") != std::string::npos)
			run.failure = was_skipped;
	} else {
		run.failure = "posix_spawn failed";
	}
	close(output[0]);
	return run;
}

/* Does the test run with these settings in its environment? If not, it runs a second time,
 * there. */
inline bool in_environment(const std::vector<std::string> &settings)
{
	if (running_again())
		return true;
	const second_run run = run_again(settings);

	EXPECT_EQ(run.failure, "") << run.output;
	return false;
}
