/* SPDX-License-Identifier: MIT */
/*
 * Isolated slabs. At the limit of its cache, with half of the
 * objects free, no allocation is refused while another thread shrinks, validates,
 * defragments or trims; and the child of a fork finds every object free that its parent
 * had.
 */
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <slab/memory.h>

#include "../support/objects.h"
#include "../support/process.h"

extern "C" {
#include "base/clock.h"
#include "core/cache.h"
#include "core/isolated.h"
#include "core/node.h"
#include "core/slab.h"
#include "memory/limit.h"
}

using namespace slab_test;

namespace
{

/* It would isolate slabs as well, whenever it is time for that. */
const bool without_thread = setenv("SLAB_CONTROL", "off", 0) == 0;

constexpr std::size_t object_size = 480;

/*
 * A movable cache that is at its limit, and objects in half of its places. An object
 * knows its place; the lock is held from its isolation to its migration.
 */
class full_cache
{
public:
	explicit full_cache(std::size_t slabs, bool destroys = false)
	{
		struct slab_cache_args args = {};

		args.ctor = construct;
		if (destroys)
			args.dtor = [](void *obj, void *) {
				*static_cast<std::size_t *>(obj) = SIZE_MAX;
			};
		args.isolate = isolate;
		args.migrate = migrate;
		args.arg = this;
		cache_ = slab_cache_create("full", object_size, &args, SLAB_NO_MERGE);
		__atomic_store_n(&cache_->account.limit, slabs << cache_->slab_shift,
				 __ATOMIC_RELAXED);
		while (void *obj = slab_alloc(cache_)) {
			place_.push_back(nullptr);
			put(place_.size() - 1, obj);
		}
		for (std::size_t i = 0; i < place_.size() / 2 * 2; i += 2)
			free(i);
	}

	~full_cache()
	{
		for (std::size_t i = 0; i < place_.size(); i++)
			free(i);
		EXPECT_EQ(slab_cache_destroy(cache_), 0);
	}

	full_cache(const full_cache &) = delete;
	full_cache &operator=(const full_cache &) = delete;

	std::function<void()> on_isolate;

	struct slab_cache *cache() const
	{
		return cache_;
	}

	std::size_t places() const
	{
		return place_.size();
	}

	void put(std::size_t i, void *obj)
	{
		const std::lock_guard<std::mutex> guard(lock_);

		*static_cast<std::size_t *>(obj) = i;
		place_[i] = obj;
		used_++;
	}

	/* Places with an object: as many as this thread put there. */
	std::size_t used() const
	{
		return used_;
	}

	/* false: there was none. */
	bool free(std::size_t i)
	{
		void *obj = take(i);

		slab_free(cache_, obj);
		used_ -= obj != nullptr;
		return obj != nullptr;
	}

private:
	void *take(std::size_t i)
	{
		const std::lock_guard<std::mutex> guard(lock_);

		return std::exchange(place_[i], nullptr);
	}

	static int construct(void *obj, void *)
	{
		*static_cast<std::size_t *>(obj) = SIZE_MAX;
		return 0;
	}

	static int isolate(void *obj, void *arg)
	{
		auto &self = *static_cast<full_cache *>(arg);

		if (self.on_isolate)
			self.on_isolate();
		self.lock_.lock();
		const std::size_t i = *static_cast<std::size_t *>(obj);

		if (i < self.place_.size() && self.place_[i] == obj)
			return 0;
		self.lock_.unlock();
		return 1;
	}

	static int migrate(void *from, void *to, void *arg)
	{
		auto &self = *static_cast<full_cache *>(arg);

		std::memcpy(to, from, object_size);
		self.place_[*static_cast<std::size_t *>(to)] = to;
		self.lock_.unlock();
		return 0;
	}

	struct slab_cache *cache_;
	std::mutex lock_;
	std::vector<void *> place_;
	std::size_t used_ = 0;
};

using std::chrono::steady_clock;

/* The thread that has slabs isolated may not get a CPU. An allocation that waits for its
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
TEST(DefragHandTest, AChildLacksNoMoreThanTheObjectThatMoves)
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
	EXPECT_EQ(run_in_child([&] {
			  const std::size_t free = full.places() - full.used();

			  return room(full.cache()) + 1 >= free &&
						 slab_cache_validate(full.cache()) == 0
					 ? 0
					 : 1;
		  }),
		  "");
	go = true;
	other.join();
	EXPECT_EQ(slab_cache_validate(full.cache()), 0);
}

/* The child of a callback goes on with what it has isolated. */
TEST(DefragHandTest, ACallbackMayFork)
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

/* --- walks ------------------------------------------------------------------------ */

struct looked {
	struct slab_cache *cache;
	std::size_t asked = 0, met = 0;
};

/* Those in the second half of the list, once. */
bool wants(struct slab *slab, void *arg)
{
	auto &looked = *static_cast<struct looked *>(arg);
	const bool wanted = slab->validated_seq;

	looked.asked++;
	slab->validated_seq = 0;
	return wanted;
}

void put_back(struct slab *isolated, void *arg)
{
	auto &looked = *static_cast<struct looked *>(arg);

	for (const struct slab *slab = isolated; slab; slab = slab->next)
		looked.met++;
	node_put_last(looked.cache, isolated->node, isolated);
}

TEST(WalkTest, LooksAtASlabTwiceAtMost)
{
	full_cache full(1000);
	struct looked looked = {full.cache()};
	struct list_walk walk = {};
	std::size_t listed = 0, wanted = 0;

	slab_cache_shrink(full.cache());
	struct cache_node &node = full.cache()->node[0];

	for (struct slab *slab = node.partial.slabs.first; slab; slab = slab->next)
		wanted += slab->validated_seq = ++listed > 500;
	ASSERT_EQ(listed, 1000u);
	walk.cache = full.cache();
	walk.sparse = true;
	walk.wants = wants;
	walk.look = put_back;
	walk.arg = &looked;
	list_walk(&walk);
	EXPECT_EQ(looked.met, wanted);
	EXPECT_LE(looked.asked, 2 * listed);
	EXPECT_EQ(node.partial.count, listed);
	EXPECT_EQ(slab_cache_validate(full.cache()), 0);
}

/* A walk that wants nothing, beside a thread that wants the node's lock. */
struct beside {
	struct slab_cache *cache;
	unsigned asked = 0, asked_before_lock = 0;
	std::atomic<bool> locked{false};
	std::thread other;

	void lock()
	{
		struct slab *slab = node_take(cache, 0, 1);

		locked = true;
		slab->next = nullptr;
		node_put_last(cache, 0, slab);
	}
};

bool wants_none(struct slab *, void *arg)
{
	auto &beside = *static_cast<struct beside *>(arg);
	struct cache_node &node = beside.cache->node[0];

	if (!beside.asked++)
		beside.other = std::thread([&] { beside.lock(); });
	while (beside.asked == 1 && !__atomic_load_n(&node.waiting, __ATOMIC_RELAXED))
		std::this_thread::yield();
	if (!beside.locked)
		beside.asked_before_lock++;
	return false;
}

/* Allocations wait for that lock: they must not wait for a million slabs. */
TEST(WalkTest, HoldsTheNodesLockForSomeSlabsOnly)
{
	full_cache full(3000);
	struct beside beside;
	struct list_walk walk = {};

	slab_cache_shrink(full.cache());
	walk.cache = beside.cache = full.cache();
	walk.wants = wants_none;
	walk.arg = &beside;
	list_walk(&walk);
	beside.other.join();
	EXPECT_GE(beside.asked, 3000u);
	EXPECT_LT(beside.asked_before_lock, 1500u);
	EXPECT_EQ(slab_cache_validate(full.cache()), 0);
}

/* Of the listed slabs, how many objects are in use. */
std::vector<unsigned> fullness(struct slab_cache *cache)
{
	std::vector<unsigned> used;

	for (struct slab *s = cache->node[0].partial.slabs.first; s; s = s->next)
		used.push_back(slab_used(s));
	return used;
}

TEST(SortTest, PutsTheFullestSlabsFirst)
{
	test_cache cache(1024);
	std::vector<void *> objs = alloc_many(cache, 64 * 300), kept;

	for (std::size_t i = 0; i < objs.size(); i++)
		if (i / 64 * 7919 % 64 < i % 64)
			slab_free(cache, objs[i]);
		else
			kept.push_back(objs[i]);
	slab_cache_shrink(cache);
	const std::vector<unsigned> used = fullness(cache);

	EXPECT_GE(used.size(), 290u);
	EXPECT_TRUE(std::is_sorted(used.rbegin(), used.rend()));
	free_many(cache, kept);
}

/* What is not sorted yet when the list runs empty, or is looked through, stays listed. */
TEST(SortTest, LosesNoSlabToThoseWhoTakeThemMeanwhile)
{
	full_cache full(1000);
	struct slab_cache *cache = full.cache();
	std::atomic<bool> done{false};

	slab_cache_shrink(cache);
	const std::size_t listed = fullness(cache).size();
	std::thread sorter([&] {
		while (!done)
			node_sort(cache, 0);
	});

	for (unsigned i = 0; i < 300; i++) {
		struct slab *chain = node_take(cache, 0, 100), *next;

		if (i % 10 == 0) {
			EXPECT_EQ(slab_cache_validate(cache), 0);
		}
		for (; chain; chain = next) {
			next = chain->next;
			chain->next = nullptr;
			node_put_last(cache, 0, chain);
		}
	}
	done = true;
	sorter.join();
	EXPECT_EQ(fullness(cache).size(), listed);
	EXPECT_EQ(cache->node[0].partial.count, listed);
	EXPECT_EQ(slab_cache_validate(cache), 0);
}

/* --- what others do meanwhile --------------------------------------------------------- */

struct kind {
	const char *name;
	std::function<void(struct slab_cache *)> act;
};

void PrintTo(const kind &kind, std::ostream *out)
{
	*out << kind.name;
}

class HandTest : public testing::TestWithParam<kind>
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
	 * were refused, other than for want of the lock. */
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
 * a slab that no other thread has isolated meanwhile. */
std::size_t may_lack(const kind &kind, const full_cache &full)
{
	return kind.name == std::string("Defrag") ? full.cache()->objects : 0;
}

/* between() runs in the parent, before each. */
void expect_no_child_to_miss_any(full_cache &full, std::size_t lack,
				 const std::function<void()> &between)
{
	const std::size_t free = full.places() - full.used() - lack;

	for (unsigned i = 0; i < (under_tsan ? 10 : 100); i++) {
		between();
		EXPECT_EQ(run_in_child_now([&] { return room(full.cache()) < free; }), "") << i;
	}
}

TEST_P(HandTest, NoAllocationIsRefusedWhileObjectsAreFree)
{
	for (std::size_t slabs : {8u, 200u}) {
		full_cache full(slabs);

		meanwhile(full, [&] { EXPECT_EQ(churn(full), 0u) << slabs << " slabs"; });
	}
}

TEST_P(HandTest, AChildFindsEveryObjectFreeThatItsParentHad)
{
	full_cache full(40);

	meanwhile(full,
		  [&] { expect_no_child_to_miss_any(full, may_lack(GetParam(), full), [] {}); });
}

/* Nothing is in use, and all slabs are made and destroyed again and again. */
TEST_P(HandTest, AChildFindsEveryObjectFreeThatIsDestroyed)
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
		  [&] { expect_no_child_to_miss_any(full, may_lack(GetParam(), full), use_all); });
}

INSTANTIATE_TEST_SUITE_P(
	Kinds, HandTest,
	testing::Values(kind{"Shrink", [](auto *cache) { slab_cache_shrink(cache); }},
			kind{"Validate",
			     [](auto *cache) { EXPECT_EQ(slab_cache_validate(cache), 0); }},
			kind{"Defrag", [](auto *cache) { EXPECT_GE(slab_cache_defrag(cache), 0); }},
			kind{"Trim", [](auto *) { slab_trim(); }}),
	[](const testing::TestParamInfo<kind> &info) { return info.param.name; });

} /* namespace */
