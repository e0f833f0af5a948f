/* SPDX-License-Identifier: MIT */
/*
 * exit(): libslab's own work calls no callback once the destructors of static objects run, and does
 * not hang exit(). Each test exits in a child.
 */
#include "../support/server.h"

namespace
{

std::atomic<bool> no_thread_can_start;

/* What the callbacks of this child have seen. */
std::atomic<int> calls, running;
std::atomic<bool> stays; /* a call lasts for long */
std::mutex *waits_for;
int exit_code_in_callback = -1;

/* A static object of the program: its destructor judges the child that armed it. */
struct witness {
	bool armed = false;

	~witness()
	{
		if (!armed)
			return;
		const int before = calls;

		if (running)
			_exit(10);
		usleep(700000); /* several decay times */
		slab_maintain();
		_exit(calls == before ? 0 : 11);
	}
} witness;

void destroy(void *, void *)
{
	running++;
	calls++;
	if (exit_code_in_callback >= 0)
		std::exit(exit_code_in_callback);
	if (waits_for)
		waits_for->lock();
	if (stays)
		usleep(200000);
	running--;
}

/* Caches whose destructors are due in a decay time. */
void make_work()
{
	struct slab_cache_args args = {};

	args.dtor = destroy;
	for (int i = 0; i < 100; i++) {
		struct slab_cache *cache =
			slab_cache_create(("work" + std::to_string(i)).c_str(), 64, &args, 0);

		slab_free(cache, slab_alloc(cache));
	}
}

void wait_for_call()
{
	while (!calls)
		usleep(1000);
}

class ExitTest : public testing::Test
{
protected:
	ExitTest() { setenv("SLAB_DECAY_MS", "200", 1); }

	~ExitTest() override { unsetenv("SLAB_DECAY_MS"); }

	template <typename Steps> void expect_in_child(Steps steps)
	{
		if (under_tsan)
			GTEST_SKIP() << "ThreadSanitizer allows no new thread in a fork's child";
		EXPECT_IN_CHILD(steps);
	}

	runtime_dir dir;
};

TEST_F(ExitTest, NoCallbackRunsBesideDestructorsOfStaticObjects)
{
	expect_in_child([]() -> int {
		witness.armed = true;
		make_work();
		std::exit(1);
	});
}

/* As that of an object whose constructor creates the cache. */
TEST_F(ExitTest, NoCallbackRunsBesideTheDestructorOfALaterStaticObject)
{
	expect_in_child([]() -> int {
		make_work();
		static struct witness later;

		later.armed = true;
		std::exit(1);
	});
}

TEST_F(ExitTest, NoCallbackRunsAfterExitInAnotherThread)
{
	expect_in_child([]() -> int {
		witness.armed = true;
		make_work();
		std::thread([] { std::exit(1); }).join();
		return 2;
	});
}

TEST_F(ExitTest, NoCallbackRunsInSlowPathsOfOtherThreads)
{
	expect_in_child([]() -> int {
		witness.armed = true;
		no_thread_can_start = true;
		make_work();
		no_thread_can_start = false;
		std::thread([] {
			struct slab_cache *cache = slab_cache_create("busy", 64, nullptr, 0);

			for (;;) {
				slab_free(cache, slab_alloc(cache));
				slab_cache_shrink(cache);
			}
		}).detach();
		std::exit(1);
	});
}

TEST_F(ExitTest, WaitsForTheCallbackThatRuns)
{
	expect_in_child([]() -> int {
		witness.armed = true;
		stays = true;
		make_work();
		wait_for_call();
		std::exit(1);
	});
}

TEST_F(ExitTest, DoesNotHangInACallback)
{
	expect_in_child([]() -> int {
		exit_code_in_callback = 0;
		make_work();
		for (;;)
			pause();
	});
}

TEST_F(ExitTest, DoesNotHangIfACallbackNeedsALockOfItsCaller)
{
	static std::mutex lock;

	expect_in_child([]() -> int {
		lock.lock();
		waits_for = &lock;
		make_work();
		wait_for_call();
		std::exit(0);
	});
}

} /* namespace */

extern "C" int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *),
			      void *arg)
{
	using create = int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
	static const auto real = reinterpret_cast<create>(dlsym(RTLD_NEXT, "pthread_create"));

	return no_thread_can_start ? EAGAIN : real(thread, attr, run, arg);
}
