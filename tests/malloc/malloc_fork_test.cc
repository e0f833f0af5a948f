/* SPDX-License-Identifier: MIT */
/*
 * Forks beside busy threads, with fork handlers that allocate: of a library whose constructor
 * registers them before main() (hooks.c), and of the program, even before all constructors. Forks
 * beside threads that allocate within stdio, and in signal handlers. A hang ends by SIGALRM.
 */
#include "preloaded.h"

#include "../support/process.h"

extern "C" unsigned hooks_prepared;

namespace
{

constexpr unsigned forks = 30, busy_threads = 3;

void allocate_some(unsigned number)
{
	char *blocks[100];

	for (unsigned i = 0; i < 100; i++) {
		const std::size_t size = 1 + (i * 977 + number * 131) % 50000;

		blocks[i] = static_cast<char *>(malloc(size));
		if (!blocks[i])
			std::abort();
		blocks[i][0] = blocks[i][size - 1] = static_cast<char>(i);
	}
	for (unsigned i = 0; i < 100; i++) {
		if (blocks[i][0] != static_cast<char>(i))
			std::abort();
		free(blocks[i]);
	}
}

void program_handler()
{
	allocate_some(3);
}

std::atomic<unsigned> early_calls;

void early_handler()
{
	early_calls++;
	allocate_some(5);
}

/* Before the constructors of all libraries but that with -z initfirst. */
void register_early()
{
	pthread_atfork(early_handler, early_handler, early_handler);
}

__attribute__((section(".preinit_array"),
	       used)) void (*const before_constructors)() = register_early;

/* Threads that allocate and free until this is gone. */
class busy
{
public:
	busy()
	{
		for (unsigned i = 0; i < busy_threads; i++)
			threads_.emplace_back([this, i] {
				while (!stop_)
					allocate_some(i);
			});
	}

	~busy()
	{
		stop_ = true;
		join_all(threads_);
	}

	busy(const busy &) = delete;
	busy &operator=(const busy &) = delete;

private:
	std::atomic<bool> stop_{false};
	std::vector<std::thread> threads_;
};

/* First those of a library, then those of the program as well. */
TEST(PreloadedFork, HandlersAllocate)
{
	const busy threads;
	const unsigned before = hooks_prepared;

	alarm(child_seconds);
	for (unsigned i = 0; i < 2 * forks; i++) {
		if (i == forks) {
			ASSERT_EQ(pthread_atfork(program_handler, program_handler, program_handler),
				  0);
		}
		ASSERT_EQ(run_in_child_now([i] {
				  allocate_some(i);
				  return 0;
			  }),
			  "");
	}
	alarm(0);
	EXPECT_EQ(hooks_prepared, before + 2 * forks);
	EXPECT_GE(early_calls, 4 * forks);
}

TEST(PreloadedFork, SeveralThreadsFork)
{
	std::atomic<unsigned> failures{0};
	std::vector<std::thread> threads;

	alarm(child_seconds);
	for (unsigned t = 0; t < busy_threads; t++)
		threads.emplace_back([&failures, t] {
			for (unsigned i = 0; i < forks / 4; i++) {
				allocate_some(t);
				failures += !run_in_child_now([i] {
						     allocate_some(i);
						     return 0;
					     }).empty();
			}
		});
	join_all(threads);
	alarm(0);
	EXPECT_EQ(failures, 0U);
}

TEST(PreloadedFork, ChildrenStartThreadsAndFork)
{
	const busy threads;

	alarm(child_seconds);
	for (unsigned i = 0; i < forks / 4; i++)
		ASSERT_EQ(run_in_child_now([i] {
				  std::thread([] { allocate_some(1); }).join();
				  return run_in_child_now([i] {
						 allocate_some(i);
						 return 0;
					 }).empty()
						 ? 0
						 : 1;
			  }),
			  "");
	alarm(0);
}

/* --- stdio ---------------------------------------------------------------------------------- */

constexpr unsigned stdio_forks = 120;

/* The C library's locks are not fair: a thread that locks them without a pause keeps them from
 * others. */
void pause_briefly()
{
	usleep(100);
}

/* A stream with one line, which getline() enlarges its buffer for several times. */
FILE *long_line()
{
	FILE *file = std::tmpfile();

	if (!file)
		std::abort();
	for (unsigned i = 0; i < 60000; i++)
		std::fputc('x', file);
	std::fputc('\n', file);
	return file;
}

void read_until(const std::atomic<bool> &stop)
{
	FILE *file = long_line();

	while (!stop) {
		char *line = nullptr;
		std::size_t size = 0;

		std::rewind(file);
		if (getline(&line, &size, file) < 0)
			std::abort();
		free(line);
		pause_briefly();
	}
	std::fclose(file);
}

/* Children read and flush, too: no stream of theirs is locked. */
int use_stdio()
{
	FILE *file = long_line();
	char *line = nullptr;
	std::size_t size = 0;

	std::rewind(file);
	if (getline(&line, &size, file) < 0 || std::fflush(nullptr) != 0)
		return 1;
	free(line);
	return std::fclose(file);
}

TEST(PreloadedFork, WaitsForNoStreamThatWaitsForIt)
{
	std::atomic<bool> stop{false};
	std::atomic<unsigned> forked{0}, failures{0};
	std::vector<std::thread> threads, forking;

	alarm(child_seconds);
	for (unsigned i = 0; i < 2 * busy_threads; i++)
		threads.emplace_back([&stop] { read_until(stop); });
	threads.emplace_back([&stop] {
		while (!stop) {
			std::fflush(nullptr);
			pause_briefly();
		}
	});
	for (unsigned i = 0; i < busy_threads; i++)
		forking.emplace_back([&] {
			while (forked++ < stdio_forks)
				failures += !run_in_child_now([&] {
						     return forked % 50 == 0 ? use_stdio() : 0;
					     }).empty();
		});
	join_all(forking);
	stop = true;
	join_all(threads);
	alarm(0);
	EXPECT_EQ(failures, 0U);
}

/* --- handlers ------------------------------------------------------------------------------- */

/* fork() without fork handlers, from glibc 2.34 on: the only one for handlers in a process with
 * threads. */
pid_t (*const fork_alone)() = find_function<pid_t()>("_Fork");
std::atomic<unsigned> forked_in_handler, failed_in_handler;

void fork_in_handler(int)
{
	const int saved = errno;
	const pid_t child = fork_alone();
	int status = 0;

	if (child == 0)
		_exit(0);
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	failed_in_handler += child < 0 || status != 0;
	forked_in_handler++;
	errno = saved;
}

TEST(PreloadedFork, HandlersForkAloneBesideThreads)
{
	const struct itimerval often = {{0, 1000}, {0, 1000}}, never = {};

	if (!fork_alone)
		GTEST_SKIP() << "a C library without _Fork()";
	alarm(child_seconds);
	signal(SIGPROF, fork_in_handler);
	{
		const busy threads;

		setitimer(ITIMER_PROF, &often, nullptr);
		for (unsigned i = 0; forked_in_handler < forks; i++)
			allocate_some(i);
		setitimer(ITIMER_PROF, &never, nullptr);
	}
	alarm(0);
	EXPECT_EQ(failed_in_handler, 0U);
}

} /* namespace */
