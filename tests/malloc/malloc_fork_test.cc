/* SPDX-License-Identifier: MIT */
/*
 * Forks beside busy threads, with fork handlers that allocate: of a library whose constructor
 * registers them before main() (hooks.c), and of the program, even before all constructors. A hang ends by SIGALRM.
 */
#include "preloaded.h"

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include <pthread.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "../support/process.h"

using namespace slab_test;

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
		for (std::thread &thread : threads_)
			thread.join();
	}

	busy(const busy &) = delete;
	busy &operator=(const busy &) = delete;

private:
	std::atomic<bool> stop_{false};
	std::vector<std::thread> threads_;
};

TEST(PreloadedFork, HandlersOfALibraryAllocate)
{
	const busy threads;
	const unsigned before = hooks_prepared;

	alarm(child_seconds);
	for (unsigned i = 0; i < forks; i++)
		ASSERT_EQ(run_in_child_now([i] {
				  allocate_some(i);
				  return 0;
			  }),
			  "");
	alarm(0);
	EXPECT_EQ(hooks_prepared, before + forks);
	EXPECT_GE(early_calls, 2 * forks);
}

TEST(PreloadedFork, HandlersOfTheProgramAllocate)
{
	const busy threads;

	ASSERT_EQ(pthread_atfork(program_handler, program_handler, program_handler), 0);
	alarm(child_seconds);
	for (unsigned i = 0; i < forks; i++)
		ASSERT_EQ(run_in_child_now([i] {
				  allocate_some(i);
				  return 0;
			  }),
			  "");
	alarm(0);
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
	for (std::thread &thread : threads)
		thread.join();
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

} /* namespace */
