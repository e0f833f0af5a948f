/* SPDX-License-Identifier: MIT */
/*
 * slab_free_rcu() in caches with debug flags, and of what cannot be freed: the
 * report names the caller, then and later.
 */
#include "../support/cpus.h"
#include "../support/debugging.h"
#include "../support/flavours.h"
#include "../support/no_collection.h"
#include "../support/process.h"

namespace
{

const struct slab_cache_args *with_rcu()
{
	static const struct slab_cache_args args = [] {
		struct slab_cache_args with = {};

		with.rcu = &urcu_bp_flavor;
		return with;
	}();

	return &args;
}

void in_thread(const char *name, void (*act)(struct slab_cache *, void *), struct slab_cache *cache,
	       void *obj)
{
	std::thread([=] {
		pthread_setname_np(pthread_self(), name);
		act(cache, obj);
	}).join();
}

TEST_F(DebugTest, RcuFreesWithDebugFlags)
{
	test_cache cache(64, all_debug_flags, with_rcu());

	for (int i = 0; i < 1000; i++)
		slab_free_rcu(cache, slab_alloc(cache));
	EXPECT_EQ(slab_rcu_barrier(cache), 0);
	EXPECT_EQ(stats_of(cache).objects, 0u);
	EXPECT_EQ(stats_of(cache).rcu_freed, 1000u);
	EXPECT_EQ(slab_cache_validate(cache), 0);
	EXPECT_EQ(reports_.count(), 0u) << reports_.text();
}

TEST_F(DebugTest, RcuFreesAreTraced)
{
	test_cache cache(64, all_debug_flags | SLAB_TRACE, with_rcu());
	void *obj = slab_alloc(cache);

	testing::internal::CaptureStderr();
	slab_free_rcu(cache, obj);
	EXPECT_EQ(slab_rcu_barrier(cache), 0);
	EXPECT_NE(testing::internal::GetCapturedStderr().find(" free 0x"), std::string::npos);
}

TEST_F(DebugTest, RcuPoisonsAfterTheGracePeriodOnly)
{
	test_cache cache(64, all_debug_flags, with_rcu());
	char *obj = hidden(slab_alloc(cache));

	obj[0] = 1;
	urcu_bp_flavor.read_lock();
	slab_free_rcu(cache, hidden(obj));
	EXPECT_EQ(obj[0], 1);
	urcu_bp_flavor.read_unlock();
	EXPECT_EQ(slab_rcu_barrier(cache), 0);
	EXPECT_EQ(obj[0], 0x6b);
}

TEST_F(DebugTest, RcuDoubleFreeNamesBoth)
{
	test_cache cache(64, all_debug_flags, with_rcu());
	void *obj = slab_alloc(cache);

	in_thread("frees", slab_free_rcu, cache, obj);
	in_thread("frees again", slab_free_rcu, cache, obj);
	expect_problem(SLAB_PROBLEM_DOUBLE_FREE, "Object already free");
	EXPECT_STREQ(reported().info.freed.thread, "frees");
	EXPECT_STREQ(reported().info.detected.thread, "frees again");
	expect_contained(cache, 1);
}

TEST_F(DebugTest, RcuFreeWhileItWaitsIsReported)
{
	test_cache cache(64, all_debug_flags, with_rcu());
	void *obj = slab_alloc(cache);

	in_thread("frees", slab_free_rcu, cache, obj);
	slab_free(cache, hidden(obj));
	expect_problem(SLAB_PROBLEM_DOUBLE_FREE, "Object already free");
	EXPECT_STREQ(reported().info.freed.thread, "frees");
	expect_contained(cache, 1);
}

TEST_F(DebugTest, RcuFreeAfterwardsNamesTheFirstFree)
{
	test_cache cache(64, all_debug_flags, with_rcu());
	void *obj = slab_alloc(cache);

	in_thread("frees", slab_free_rcu, cache, obj);
	EXPECT_EQ(slab_rcu_barrier(cache), 0);
	slab_free_rcu(cache, hidden(obj));
	expect_problem(SLAB_PROBLEM_DOUBLE_FREE, "Object already free");
	EXPECT_STREQ(reported().info.freed.thread, "frees");
	expect_contained(cache, 1);
}

TEST_F(DebugTest, RcuFreeOfADamagedObjectIsReportedAtOnce)
{
	test_cache cache(64, all_debug_flags, with_rcu());
	char *obj = hidden(slab_alloc(cache));

	obj[64] = 0;
	slab_free_rcu(cache, hidden(obj));
	expect_damage(SLAB_PROBLEM_RIGHT_REDZONE, "Right Redzone overwritten", obj + 64, obj + 64,
		      0x00, 0xcc, 2);
}

TEST_F(DebugTest, RcuDamageWhileItWaitsIsReportedWithItsFree)
{
	test_cache cache(64, all_debug_flags, with_rcu());
	char *obj = hidden(slab_alloc(cache));

	urcu_bp_flavor.read_lock();
	in_thread("frees", slab_free_rcu, cache, obj);
	obj[64] = 0;
	urcu_bp_flavor.read_unlock();
	EXPECT_EQ(slab_rcu_barrier(cache), 0);
	expect_damage(SLAB_PROBLEM_RIGHT_REDZONE, "Right Redzone overwritten", obj + 64, obj + 64,
		      0x00, 0xcc, 2);
	EXPECT_STREQ(reported().info.detected.thread, "frees");
}

TEST_F(DebugTest, RcuFreeOfAnotherCachesObjectIsReported)
{
	test_cache cache(64, 0, with_rcu()), other(64);
	void *obj = slab_alloc(other);

	slab_free_rcu(cache, obj);
	expect_problem(SLAB_PROBLEM_WRONG_CACHE,
		       "Wrong slab cache. " + cache.name() + " but object is from " + other.name());
	slab_free(other, obj);
}

TEST_F(DebugTest, RcuFreeInACacheWithoutRcuIsReported)
{
	test_cache cache(64);
	void *obj = slab_alloc(cache);
	char reason[100];

	slab_free_rcu(cache, obj);
	snprintf(reason, sizeof(reason), "slab_free_rcu(%p) in a cache without args.rcu", obj);
	expect_problem(SLAB_PROBLEM_INVALID_POINTER, reason);
	EXPECT_EQ(stats_of(cache).objects, 1u);
	slab_free(cache, obj);
}

TEST_F(DebugTest, RcuFreeOfTheInsideIsReported)
{
	test_cache cache(64, 0, with_rcu());
	char *obj = hidden(slab_alloc(cache));

	slab_free_rcu(cache, obj + 8);
	EXPECT_EQ(reported().info.problem, SLAB_PROBLEM_INVALID_POINTER);
	slab_free(cache, obj);
}

TEST_F(DebugTest, RcuDoubleFreeInARowIsSeenWithoutDebugFlags)
{
	const on_one_cpu here; /* whose array has it as its newest object */
	test_cache cache(64, 0, with_rcu());
	void *obj = slab_alloc(cache);

	{
		const no_collection meanwhile(cache);

		slab_free_rcu(cache, hidden(obj));
		slab_free_rcu(cache, hidden(obj));
	}
	EXPECT_EQ(reported().info.problem, SLAB_PROBLEM_DOUBLE_FREE);
	EXPECT_EQ(slab_rcu_barrier(cache), 0);
	EXPECT_EQ(stats_of(cache).objects, 0u);
}

TEST_F(DebugTest, RcuFreesAcrossASwitchOfDebugFlags)
{
	test_cache cache(64, 0, with_rcu());
	void *objs[2000];

	for (void *&obj : objs)
		obj = slab_alloc(cache);
	for (int i = 0; i < 1000; i++)
		slab_free_rcu(cache, objs[i]);
	ASSERT_EQ(slab_cache_debug(cache, all_debug_flags), 0);
	for (int i = 1000; i < 2000; i++)
		slab_free_rcu(cache, objs[i]);
	EXPECT_EQ(slab_rcu_barrier(cache), 0);
	EXPECT_EQ(stats_of(cache).objects, 0u);
	EXPECT_EQ(slab_cache_validate(cache), 0);
	EXPECT_EQ(reports_.count(), 0u) << reports_.text();
}

} // namespace
