/* SPDX-License-Identifier: MIT */
/*
 * At the limit of its cache, with half of the objects free, no allocation is refused while another
 * thread shrinks, validates, defragments or trims; and the child of a fork finds every object free
 * that its parent had.
 */
#include "../support/objects.h"
#include "../support/process.h"
#include "full_cache.h"

namespace
{

using std::chrono::steady_clock;

/* The thread that closes the cache may not get a CPU. An allocation that waits for its
 * lock in vain is refused after this time, and no sooner. */
constexpr std::chrono::nanoseconds patience{(LIMIT_TRIES + 1) * MUTEX_LOCK_TIMED_NS};

/* As many as can be allocated. */
std::size_t room(struct slab_cache *cache)
{
	std::size_t n = 0;

	while (slab_alloc(cache) != nullptr)
		n++;
	return n;
}

/* The thread is stopped with an object that is about to be moved, and so with a slab, and
 * with free objects to move to. */
TEST(DefragFullCacheTest, AChildLacksNoMoreThanTheObjectThatMoves)
{
	full_cache full(40);
	std::atomic<bool> stopped{false}, go{false};

	full.on_isolate = [&] {
		stopped = true;
		while (!go)
			std::this_thread::yield();
	};
	std::thread other([&] { slab_cache_defrag(full.cache()); });

	while (!stopped)
		std::this_thread::yield();
	EXPECT_IN_CHILD([&] {
		const std::size_t free = full.places() - full.used();

		return room(full.cache()) + 1 >= free && slab_cache_validate(full.cache()) == 0 ? 0
												: 1;
	});
	go = true;
	other.join();
	EXPECT_EQ(slab_cache_validate(full.cache()), 0);
}

/* The child of a callback goes on with the slab that it has taken off the lists. */
TEST(DefragFullCacheTest, ACallbackMayFork)
{
	full_cache full(40);
	pid_t child = -1;

	full.on_isolate = [&] {
		if (child < 0)
			child = fork();
	};
	const long moved = slab_cache_defrag(full.cache());

	if (child == 0) {
		alarm(child_seconds);
		_exit(moved > 0 && slab_cache_validate(full.cache()) == 0 &&
				      room(full.cache()) == full.places() - full.used()
			      ? 0
			      : 1);
	}
	EXPECT_EQ(child_failure(child), "");
	EXPECT_GT(moved, 0);
}

/* --- other threads ---------------------------------------------------------------------- */

struct kind {
	const char *name;
	std::function<void(struct slab_cache *)> act;
};

void PrintTo(const kind &kind, std::ostream *out)
{
	*out << kind.name;
}

class FullCacheTest : public testing::TestWithParam<kind>
{
protected:
	static constexpr unsigned steps = under_tsan ? 20000 : 400000;

	/* Act over and over while body() runs. */
	static void meanwhile(full_cache &full, const std::function<void()> &body)
	{
		std::atomic<bool> done{false};
		std::atomic<unsigned> times{0};
		std::thread other([&] {
			while (!done) {
				GetParam().act(full.cache());
				times++;
			}
		});

		while (!times)
			std::this_thread::yield();
		body();
		done = true;
		other.join();
	}

	/* Objects come and go, half of the places are free at least: how many allocations
	 * were refused, other than because the lock was not to be had. */
	static unsigned long churn(full_cache &full)
	{
		std::mt19937 random(1);
		unsigned long refused = 0;

		for (unsigned n = 0; n < steps; n++) {
			const std::size_t i = random() % full.places();
			void *obj;

			if (full.free(i) || full.used() >= full.places() / 2)
				continue;
			const auto start = steady_clock::now();
			obj = slab_alloc(full.cache());
			if (obj)
				full.put(i, obj);
			else
				refused += steady_clock::now() - start < patience;
		}
		return refused;
	}
};

/* Objects that a child may lack: defragmenting takes its room as an allocation does, from
 * a slab that no other thread has meanwhile. */
std::size_t may_lack(const kind &kind, const full_cache &full)
{
	return kind.name == std::string("Defrag") ? full.cache()->large.objects : 0;
}

/* between() runs in the parent, before each. */
void expect_no_child_to_miss_any(full_cache &full, std::size_t lack,
				 const std::function<void()> &between)
{
	const std::size_t free = full.places() - full.used() - lack;

	for (unsigned i = 0; i < (under_tsan || under_asan ? 10 : 100); i++) {
		between();
		EXPECT_EQ(run_in_child_now([&] { return room(full.cache()) < free; }), "") << i;
	}
}

TEST_P(FullCacheTest, NoAllocationIsRefusedWhileObjectsAreFree)
{
	for (std::size_t slabs : {8u, 200u}) {
		full_cache full(slabs);

		meanwhile(full, [&] { EXPECT_EQ(churn(full), 0u) << slabs << " slabs"; });
	}
}

TEST_P(FullCacheTest, AChildFindsEveryObjectFreeThatItsParentHad)
{
	full_cache full(40);

	meanwhile(full,
		  [&] { expect_no_child_to_miss_any(full, may_lack(GetParam(), full), [] {}); });
}

/* Nothing is in use, and all slabs are made and destroyed again and again. A child lacks the slab
 * that the other thread is just releasing. */
TEST_P(FullCacheTest, AChildFindsEveryObjectFreeThatIsDestroyed)
{
	full_cache full(40, true);
	std::vector<void *> objects(full.places());
	const auto use_all = [&] {
		for (void *&obj : objects)
			obj = slab_alloc(full.cache());
		for (void *obj : objects)
			slab_free(full.cache(), obj);
	};

	for (std::size_t i = 0; i < full.places(); i++)
		full.free(i);
	meanwhile(full,
		  [&] { expect_no_child_to_miss_any(full, full.cache()->large.objects, use_all); });
}

INSTANTIATE_TEST_SUITE_P(
	Kinds, FullCacheTest,
	testing::Values(kind{"Shrink", [](auto *cache) { slab_cache_shrink(cache); }},
			kind{"Validate",
			     [](auto *cache) { EXPECT_EQ(slab_cache_validate(cache), 0); }},
			kind{"Defrag", [](auto *cache) { EXPECT_GE(slab_cache_defrag(cache), 0); }},
			kind{"Trim", [](auto *) { slab_trim(); }}),
	[](const testing::TestParamInfo<kind> &info) { return info.param.name; });

} /* namespace */
