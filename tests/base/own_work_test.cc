/* SPDX-License-Identifier: MIT */
/* Work of libslab in another thread while exit() begins. Each test exits in a child. */
#include "../support/process.h"
#include "../support/without_thread.h"
#include "../support/rooms.h"

namespace
{

/* What the thread of this child does, and has done when exit() has waited for it. */
std::atomic<bool> begun, ended, awake;
std::atomic<unsigned> destroyed;

void wait_for_exit()
{
	begun = true;
	while (!own_work_must_end())
		usleep(1000);
}

/* Exit in a child while a thread does the steps as work of libslab. `judge` runs in exit(), after
 * libslab's handler, and ends the child. */
template <typename Steps> void exit_while(Steps steps, void (*judge)())
{
	if (under_tsan)
		GTEST_SKIP() << "ThreadSanitizer allows no new thread in a fork's child";
	EXPECT_IN_CHILD([&]() -> int {
		std::atexit(judge);
		own_work_watch_exit();
		std::thread([&] {
			if (!own_work_begin())
				return;
			steps();
			ended = true;
			own_work_end();
			own_work_wait_while_exiting();
			awake = true;
			for (;;)
				pause();
		}).detach();
		while (!begun)
			usleep(1000);
		std::exit(100);
	});
}

TEST(OwnWorkTest, ExitWaitsForTheWorkOfAnotherThread)
{
	exit_while([] { wait_for_exit(); }, [] { _exit(ended ? 0 : 1); });
}

TEST(OwnWorkTest, NoWorkBeginsOnceExitHasBegun)
{
	exit_while([] { wait_for_exit(); }, [] { _exit(own_work_begin() ? 1 : 0); });
}

TEST(OwnWorkTest, AThreadSleepsUntilWorkGoesOn)
{
	exit_while([] { wait_for_exit(); },
		   [] {
			   while (!other_threads_sleep())
				   usleep(1000);
			   if (awake)
				   _exit(1);
			   own_work_resume();
			   while (!awake)
				   usleep(1000);
			   _exit(0);
		   });
}

/* The objects that are left stay with the cache, which calls of the program may destroy. */
TEST(OwnWorkTest, DestructorsOfASlabEndWhenExitBegins)
{
	exit_while(
		[] {
			struct slab_cache_args args = {};
			std::vector<void *> objects(10);

			args.dtor = [](void *, void *) {
				destroyed++;
				wait_for_exit();
			};
			struct slab_cache *cache = slab_cache_create("exits", 64, &args, 0);

			for (void *&object : objects)
				object = slab_alloc(cache);
			for (void *object : objects)
				slab_free(cache, object);
			slab_cache_shrink(cache);
		},
		[] { _exit(ended && destroyed == 1 ? 0 : 1); });
}

} /* namespace */
