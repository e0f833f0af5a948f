/* SPDX-License-Identifier: MIT */
/*
 * A process with one thread. Its signal handlers may fork at any moment: the children return from
 * them, as the parent does.
 * No test here starts a thread. A hang ends by SIGALRM.
 */
#include "preloaded.h"

#include <cerrno>
#include <cstring>
#include <random>

#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "../support/process.h"

using namespace slab_test;

namespace
{

/* Blocks of all sizes, which come, go and change. They keep their contents, or the process ends. */
class churn
{
public:
	explicit churn(unsigned seed) : random_(seed) {}

	void step()
	{
		block &chosen = blocks_[random_() % count];

		check(chosen);
		if (random_() % 3 == 0) {
			free(chosen.start);
			chosen.start = nullptr;
		}
		chosen.size = std::size_t{1} << random_() % 21;
		chosen.size -= random_() % ((chosen.size + 1) / 2);
		chosen.start = static_cast<unsigned char *>(realloc(chosen.start, chosen.size));
		if (!chosen.start)
			std::abort();
		chosen.byte = static_cast<unsigned char>(random_());
		chosen.start[0] = chosen.start[chosen.size - 1] = chosen.byte;
	}

	void free_all()
	{
		for (block &each : blocks_) {
			check(each);
			free(each.start);
			each.start = nullptr;
		}
	}

private:
	static constexpr unsigned count = 200;

	struct block {
		unsigned char *start;
		std::size_t size;
		unsigned char byte;
	};

	static void check(const block &each)
	{
		if (each.start &&
		    (each.start[0] != each.byte || each.start[each.size - 1] != each.byte))
			std::abort();
	}

	std::minstd_rand random_;
	block blocks_[count] = {};
};

/* The process's CPU time in ms: signals that come by it cannot come faster than it goes on. */
void interrupt_each(long ms)
{
	const struct itimerval times = {{0, ms * 1000}, {0, ms * 1000}};

	setitimer(ITIMER_PROF, &times, nullptr);
}

constexpr int forks = 100;
volatile sig_atomic_t forked, failed, is_child;

/* Children of fork() have no timer. */
void fork_in_handler(int)
{
	const int saved = errno;
	const pid_t child = fork();
	int status = 0;

	if (child == 0) {
		is_child = 1;
		errno = saved;
		return;
	}
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	forked = forked + 1;
	failed = failed || child < 0 || status != 0;
	if (forked >= forks || failed)
		interrupt_each(0);
	errno = saved;
}

TEST(OneThread, ForksInHandlersWhereverTheyInterruptIt)
{
	const unsigned seed = std::random_device()();
	churn blocks(seed);

	SCOPED_TRACE("seed " + std::to_string(seed));
	alarm(child_seconds);
	signal(SIGPROF, fork_in_handler);
	interrupt_each(1);
	while (forked < forks && !failed && !is_child)
		blocks.step();
	if (is_child) {
		alarm(child_seconds);
		for (int i = 0; i < 500; i++)
			blocks.step();
		blocks.free_all();
		_exit(0);
	}
	EXPECT_FALSE(failed);
	blocks.free_all();
	alarm(0);
}

} /* namespace */
