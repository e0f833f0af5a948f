/* SPDX-License-Identifier: MIT */
/*
 * Destructors are called with no lock of libslab's held: while one waits, in another
 * thread, for as long as it likes, forks, validations and the like do not. The child of a
 * fork destroys what is left, and nothing twice.
 */
#include "../support/limits.h"
#include "../support/objects.h"
#include "../support/orders.h"
#include "../support/process.h"
#include "../support/readers.h"
#include "../support/reports.h"
#include "../support/without_thread.h"
#include "../support/once.h"

namespace
{

constexpr std::size_t count = 2000;

/* A movable cache of which nothing is in use any more. Objects are numbered by their
 * constructor, and it is known how often each was destroyed. */
class unused_cache
{
public:
	explicit unused_cache(std::uint64_t flags = 0)
	{
		struct slab_cache_args args = {};
		std::vector<void *> objects(count);

		args.ctor = construct;
		args.dtor = destroy;
		args.isolate = [](void *, void *) { return 1; };
		args.migrate = [](void *, void *, void *) { return 1; };
		args.arg = this;
		cache_ = slab_cache_create("unused", 480, &args, flags);
		for (void *&object : objects)
			object = slab_alloc(cache_);
		for (void *object : objects)
			slab_free(cache_, object);
	}

	~unused_cache()
	{
		on_destroy = nullptr;
		EXPECT_EQ(slab_cache_destroy(cache_), 0);
		EXPECT_TRUE(each_destroyed_once());
	}

	unused_cache(const unused_cache &) = delete;
	unused_cache &operator=(const unused_cache &) = delete;

	std::function<void()> on_destroy;

	struct slab_cache *cache() const { return cache_; }

	unsigned slabs() const { return stats_of(cache_).slabs; }

	bool each_destroyed_once() const
	{
		for (std::size_t i = 0; i < made_; i++)
			if (times_[i] != 1)
				return false;
		return made_ > 0;
	}

private:
	static int construct(void *object, void *arg)
	{
		auto &self = *static_cast<unused_cache *>(arg);

		*static_cast<std::size_t *>(object) = self.made_++;
		return 0;
	}

	static void destroy(void *object, void *arg)
	{
		auto &self = *static_cast<unused_cache *>(arg);

		self.times_[*static_cast<std::size_t *>(object)]++;
		if (self.on_destroy)
			self.on_destroy();
	}

	struct slab_cache *cache_;
	std::size_t made_ = 0;
	std::array<std::atomic<unsigned char>, 2 * count> times_{};
};

struct kind {
	const char *name;
	std::function<void(struct slab_cache *)> act;
};

void PrintTo(const kind &kind, std::ostream *out)
{
	*out << kind.name;
}

class ReleaseTest : public testing::TestWithParam<kind>
{
protected:
	void SetUp() override { alarm(child_seconds); }

	void TearDown() override { alarm(0); }

	/* body() while another thread is in the destructor of the tenth object. */
	static void meanwhile(unused_cache &unused, const std::function<void()> &body)
	{
		std::atomic<unsigned> calls{0};
		std::atomic<bool> go{false};

		unused.on_destroy = [&] {
			if (++calls == 10)
				while (!go)
					usleep(1000);
		};
		std::thread other([&] { GetParam().act(unused.cache()); });

		while (calls < 10)
			usleep(1000);
		body();
		go = true;
		other.join();
		unused.on_destroy = nullptr;
	}
};

TEST_P(ReleaseTest, AForkDoesNotWaitForADestructor)
{
	unused_cache unused;

	meanwhile(unused, [] { EXPECT_IN_CHILD([] { return 0; }); });
}

TEST_P(ReleaseTest, OthersDoNotWaitForADestructor)
{
	unused_cache unused;

	meanwhile(unused, [&] {
		EXPECT_EQ(slab_cache_validate(unused.cache()), 0);
		EXPECT_EQ(slab_cache_defrag(unused.cache()),
			  std::string(GetParam().name) == "Defrag" ? -EBUSY : 0);
		EXPECT_GE(slab_cache_shrink(unused.cache()), 0);
		slab_trim();
	});
}

TEST_P(ReleaseTest, AChildDestroysTheRestAndNothingTwice)
{
	unused_cache unused;

	meanwhile(unused, [&] {
		EXPECT_IN_CHILD([&] {
			unused.on_destroy = nullptr;
			slab_cache_shrink(unused.cache());
			return unused.slabs() == 0 && unused.each_destroyed_once() ? 0 : 1;
		});
	});
	EXPECT_EQ(unused.slabs(), 0u);
}

TEST_P(ReleaseTest, AChildThatOnlyDestroysTheCacheDestroysNothingTwice)
{
	unused_cache unused;

	meanwhile(unused, [&] {
		EXPECT_IN_CHILD([&] {
			unused.on_destroy = nullptr;
				  /* Threads that had pinned it are gone. */
			return slab_cache_destroy(unused.cache()) == 0 &&
					       unused.each_destroyed_once()
				       ? 0
				       : 1;
		});
	});
}

TEST_P(ReleaseTest, ADestructorMayFork)
{
	unused_cache unused;
	pid_t child = -1;

	unused.on_destroy = [&] {
		if (child < 0)
			child = fork();
	};
	GetParam().act(unused.cache());
	if (child == 0) {
		alarm(child_seconds);
		_exit(unused.slabs() == 0 && unused.each_destroyed_once() ? 0 : 1);
	}
	EXPECT_EQ(child_failure(child), "");
	EXPECT_EQ(unused.slabs(), 0u);
	EXPECT_TRUE(unused.each_destroyed_once());
}

INSTANTIATE_TEST_SUITE_P(
	Kinds, ReleaseTest,
	testing::Values(kind{"Shrink", [](auto *cache) { slab_cache_shrink(cache); }},
			kind{"DebugFlags",
			     [](auto *cache) {
				     slab_cache_debug(cache, SLAB_RED_ZONE);
				     slab_cache_debug(cache, 0);
				     slab_cache_shrink(cache);
			     }},
			kind{"Defrag", [](auto *cache) { EXPECT_GE(slab_cache_defrag(cache), 0); }},
			kind{"Trim", [](auto *) { slab_trim(); }}),
	[](const testing::TestParamInfo<kind> &info) { return info.param.name; });

/* --- debug slabs ------------------------------------------------------------------- */

struct slab_cache *forking;
const report_capture *child_reports;
std::string of_child;

/* Another thread forks: in its child the thread that destroys the slab does not exist. */
void fork_where_a_slab_is_destroyed(int point)
{
	if (point != CPU_INJECT_SLAB_DESTROYED)
		return;
	cpu_inject_hook = nullptr;
	std::thread([] {
		of_child = run_in_child_now([] {
			slab_cache_shrink(forking);
			return child_reports->count() == 0 ? 0 : 1;
		});
	}).join();
}

TEST(Release, AChildChecksNoSlabWhoseMemoryIsGone)
{
	if (!in_environment({"SLAB_DECAY_MS=0"}))
		return;
	test_cache cache(480, SLAB_RED_ZONE | SLAB_POISON);
	const report_capture reports;

	forking = cache;
	child_reports = &reports;
	of_child = "no fork";
	slab_free(cache, slab_alloc(cache));
	cpu_inject_hook = fork_where_a_slab_is_destroyed;
	slab_cache_shrink(cache);
	cpu_inject_hook = nullptr;
	EXPECT_EQ(of_child, "");
	EXPECT_EQ(reports.count(), 0u);
}

/* --- limits -------------------------------------------------------------------------- */

void expect_success_while_slabs_leave(struct slab_cache *leaves, struct slab_cache *grows)
{
	std::atomic<bool> done{false};
	std::thread other;
	void *obj = nullptr;

	/* At its next drop of a shard's lock a thread has taken slabs off their list. */
	once_at(CPU_INJECT_UNLOCKED, [&] {
		other = std::thread([&] {
			obj = slab_alloc(grows);
			done = true;
		});
		for (int ms = 0; ms < 50 && !done; ms++)
			usleep(1000);
	});
	EXPECT_GT(cache_release(leaves, 0), 1u);
	ASSERT_TRUE(other.joinable());
	other.join();
	EXPECT_NE(obj, nullptr);
	slab_free(grows, obj);
}

TEST(Release, NoAllocationIsRefusedWhileSlabsLeave)
{
	for (const bool of_process : {false, true}) {
		test_cache leaves(4096), grows(4096);
		struct slab_cache *cache = leaves;

		for (void *obj : allocate_all(leaves, 3 * cache->small.objects))
			slab_free(leaves, obj);
		cache_drain(leaves, nullptr, nullptr);
		if (!of_process)
			__atomic_store_n(&cache->account.limit, cache->account.used,
					 __ATOMIC_RELAXED);
		const process_limit limit(of_process ? 0 : SIZE_MAX / 2);

		expect_success_while_slabs_leave(leaves, of_process ? grows : leaves);
	}
}

/* --- what destructors free ---------------------------------------------------------- */

/* A list of objects, each the last one in its slab and freed by the destructor of the one
 * before. */
TEST(Release, WhatADestructorFreesFollowsItsSlab)
{
	static struct slab_cache *cache;
	static unsigned depth, deepest;
	struct slab_cache_args args = {};
	std::set<struct slab *> slabs;
	std::vector<void *> objects(1000);
	void *first = nullptr;

	args.ctor = [](void *object, void *) {
		*static_cast<void **>(object) = nullptr;
		return 0;
	};
	args.dtor = [](void *object, void *) {
		void *next = *static_cast<void **>(object);

		deepest = std::max(deepest, ++depth);
		if (next)
			slab_free(cache, next);
		depth--;
	};
	cache = slab_cache_create("list", 4096, &args, 0);
	for (void *&object : objects)
		object = slab_alloc(cache);
	for (void *object : objects) {
		if (!slabs.insert(slab_of(object)).second) {
			slab_free(cache, object);
			continue;
		}
		*static_cast<void **>(object) = first;
		first = object;
	}
	ASSERT_GT(slabs.size(), 50u);
	slab_free(cache, first);
	for (std::size_t i = 0; i < slabs.size(); i++)
		slab_cache_shrink(cache);
	EXPECT_EQ(stats_of(cache).slabs, 0u);
	EXPECT_EQ(deepest, 1u);
	EXPECT_EQ(slab_cache_destroy(cache), 0);
}

/* --- RCU -------------------------------------------------------------------------------- */

/* The flavour's thread calls back, too. */
std::atomic<bool> asked_under_lock;

/* It records whether its call_rcu() was called under a flush_lock, and how often a thread
 * is registered. */
const struct rcu_flavor_struct *watched()
{
	static const struct rcu_flavor_struct flavour = [] {
		struct rcu_flavor_struct copy = *counting_flavour();

		copy.update_call_rcu = [](struct rcu_head *head, void (*fn)(struct rcu_head *)) {
			if (flush_lock_is_held())
				asked_under_lock = true;
			urcu_memb_flavor.update_call_rcu(head, fn);
		};
		return copy;
	}();

	return &flavour;
}

TEST(Release, ATypeSafeSlabAsksForItsGracePeriodUnderNoLock)
{
	struct slab_cache_args args = {};
	std::vector<void *> objects(1000);

	args.rcu = watched();
	watched()->register_thread();
	struct slab_cache *cache = slab_cache_create("safe", 480, &args, SLAB_TYPESAFE_BY_RCU);

	for (void *&object : objects)
		object = slab_alloc(cache);
	for (void *object : objects)
		slab_free(cache, object);
	asked_under_lock = false;
	EXPECT_GT(slab_cache_shrink(cache), 0);
	EXPECT_EQ(slab_rcu_barrier(cache), 0);
	EXPECT_FALSE(asked_under_lock);
	EXPECT_EQ(stats_of(cache).slabs, 0u);
	EXPECT_EQ(slab_cache_destroy(cache), 0);
	watched()->unregister_thread();
}

TEST(Release, DestructorsInOurThreadFindItRegistered)
{
	static std::atomic<bool> called, called_unknown;
	struct slab_cache_args args = {};
	std::vector<void *> objects(1000);

	called = called_unknown = false;
	args.rcu = watched();
	args.dtor = [](void *, void *) {
		called = true;
		if (times_registered != 1)
			called_unknown = true;
	};
	struct slab_cache *cache = one_order(slab_cache_create("ours", 480, &args, 0));

	for (void *&object : objects)
		object = slab_alloc(cache);
	for (void *object : objects)
		slab_free(cache, object);
	std::thread([&] {
		struct rcu_thread rcu = {};

		rcu_this_thread_is_ours(&rcu);
		slab_trim();
		EXPECT_EQ(times_registered, 0);
	}).join();
	EXPECT_TRUE(called);
	EXPECT_FALSE(called_unknown);
	watched()->register_thread();
	EXPECT_EQ(slab_cache_destroy(cache), 0);
	watched()->unregister_thread();
}

} /* namespace */
