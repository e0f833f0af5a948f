/* SPDX-License-Identifier: MIT */
/*
 * Passes of maintenance and slab_trim() without a pause, while other threads allocate,
 * free, pass objects on, shrink and fork: every object keeps its owner and its contents.
 */
#include "../support/ownership.h"
#include "../support/passes.h"
#include "../support/process.h"
#include "../support/worker.h"

namespace
{

#ifdef __SANITIZE_THREAD__
constexpr unsigned steps = 10000;
#else
constexpr unsigned steps = 40000;
#endif

/* Runs fn() in a thread, over and over, until it is destroyed. */
template <typename Fn> class over_and_over
{
public:
	explicit over_and_over(Fn fn)
		: thread_([this, fn] {
			  while (!done_) {
				  fn();
				  times_++;
			  }
		  })
	{
	}

	~over_and_over()
	{
		done_ = true;
		thread_.join();
		EXPECT_GT(times_, 0u);
	}

private:
	std::atomic<bool> done_{false};
	std::atomic<unsigned> times_{0};
	std::thread thread_;
};

void work(arena &place, unsigned threads)
{
	std::vector<std::thread> workers;

	for (unsigned t = 0; t < threads; t++)
		workers.emplace_back([&place, t] {
			worker me(place, t + 1, 2000);

			for (unsigned i = 0; i < steps; i++)
				me.step();
		});
	join_all(workers);
}

TEST(DecayStressTest, EveryObjectKeepsItsOwnerWhilePassesRun)
{
	arena place({16, 200, 1000, 4096, 8000});

	{
		over_and_over passes([] { run_pass(); });

		work(place, 3);
	}
	place.expect_whole();
}

TEST(DecayStressTest, EveryObjectKeepsItsOwnerWhileAllIsTrimmed)
{
	arena place({24, 600, 3000});

	{
		over_and_over trims([] { slab_trim(); });

		work(place, 2);
	}
	place.expect_whole();
}

TEST(DecayStressTest, PassesTrimsShrinksAndValidationsDoNotMeet)
{
	arena place({48, 700, 5000});

	{
		over_and_over passes([] { run_pass(); });
		over_and_over trims([] { slab_trim(); });
		over_and_over shrinks([&] {
			for (std::size_t kind = 0; kind < place.kinds(); kind++) {
				slab_cache_shrink(place.cache(kind));
				EXPECT_EQ(slab_cache_validate(place.cache(kind)), 0);
			}
		});

		work(place, 2);
	}
	place.expect_whole();
}

/* A child finds whole caches and locks that it can take, whatever slabs were isolated. */
TEST(DecayStressTest, ForksWhilePassesRun)
{
	arena place({100, 1000});
	std::atomic<bool> done{false};
	std::thread busy([&] {
		worker me(place, 9, 2000);

		while (!done)
			me.step();
	});

	{
		over_and_over trims([] { slab_trim(); });

		for (unsigned i = 0; i < (under_tsan || under_asan ? 5 : 40); i++)
			EXPECT_IN_CHILD([&] {
				static void *objs[2000]; /* no malloc: sanitizers */

				for (unsigned n = 0; n < 2000; n++)
					objs[n] = slab_alloc(place.cache(n % 2));
				slab_maintain();
				for (unsigned n = 0; n < 2000; n++)
					slab_free(place.cache(n % 2), objs[n]);
				slab_trim();
				return 0;
			});
	}
	done = true;
	busy.join();
	place.expect_whole();
}

} /* namespace */
