/* SPDX-License-Identifier: MIT */
/*
 * Statistics: in scripted situations, with no other thread, every number is
 * exact and the numbers add up.
 */
#include "../support/objects.h"
#include "../support/process.h"

namespace
{

std::uint64_t node_sum(const std::uint64_t *counts, unsigned nodes)
{
	return std::accumulate(counts, counts + nodes, std::uint64_t{0});
}

/*
 * What must hold for any cache at any quiet moment. Objects in arrays and
 * magazines are free, but their slabs do not count them so.
 */
void expect_consistent(struct slab_cache *cache)
{
	const struct slab_stats s = stats_of(cache);
	const std::uint64_t next = UINT64_C(4096) << s.order;

	EXPECT_EQ(s.slabs, s.partial + s.full + s.empty);
	EXPECT_LE(s.total_objects * s.slab_size, s.slab_bytes);
	EXPECT_GE(s.total_objects * s.slab_size, s.slab_bytes / 8 * 7);
	EXPECT_TRUE(s.slab_bytes != s.slabs * next ||
		    s.total_objects == s.slabs * s.objects_per_slab);
	EXPECT_LE(s.objects + s.cpu_objects, s.total_objects);
	EXPECT_LE(s.objects_per_slab * s.slab_size, next);
	EXPECT_GE(s.slab_size, s.object_size);
	EXPECT_EQ(s.event[SLAB_EVENT_ALLOC_SLAB] - s.event[SLAB_EVENT_FREE_SLAB], s.slabs);
	ASSERT_LE(s.nodes, unsigned{SLAB_STATS_MAX_NODES});
	EXPECT_EQ(node_sum(s.node_slabs, s.nodes), s.slabs);
	EXPECT_EQ(node_sum(s.node_partial, s.nodes), s.partial);
	EXPECT_EQ(node_sum(s.node_objects, s.nodes), s.objects + s.cpu_objects);
}

TEST(StatsTest, AFreshCacheIsEmpty)
{
	test_cache cache(64);
	const struct slab_stats s = stats_of(cache);

	EXPECT_EQ(s.slabs, 0u);
	EXPECT_EQ(s.objects, 0u);
	EXPECT_EQ(s.total_objects, 0u);
	for (std::uint64_t count : s.event)
		EXPECT_EQ(count, 0u);
	expect_consistent(cache);
}

TEST(StatsTest, PropertiesAreThoseOfTheCreation)
{
	struct slab_cache_args args = {};

	args.align = 64;
	args.ctor = [](void *, void *) { return 0; };
	test_cache cache(100, SLAB_RECLAIM_ACCOUNT, &args);
	const struct slab_stats s = stats_of(cache);

	EXPECT_EQ(s.name, cache.name());
	EXPECT_TRUE(s.flags & SLAB_RECLAIM_ACCOUNT);
	EXPECT_FALSE(s.flags & SLAB_ZERO);
	EXPECT_EQ(s.object_size, 100u);
	EXPECT_EQ(s.slab_size, 128u);
	EXPECT_EQ(s.align, 64u);
	EXPECT_EQ(s.has_ctor, 1u);
	EXPECT_GT(s.objects_per_slab, 0u);
}

TEST(StatsTest, SlabsWasteLittle)
{
	for (std::size_t size : {16u, 64u, 240u, 712u, 1000u, 2112u, 3000u, 5000u, 8192u}) {
		test_cache cache(size);
		const struct slab_stats s = stats_of(cache);
		const std::uint64_t bytes = UINT64_C(4096) << s.order;

		EXPECT_LE(bytes - s.objects_per_slab * s.slab_size, bytes / 8) << size;
	}
}

TEST(StatsTest, ObjectsAreCountedOneByOne)
{
	test_cache cache(64);
	std::vector<void *> objs;

	for (std::size_t n = 1; n <= 300; n++) {
		objs.push_back(slab_alloc(cache));
		ASSERT_EQ(stats_of(cache).objects, n);
	}
	expect_consistent(cache);
	shuffle(objs);
	while (!objs.empty()) {
		slab_free(cache, objs.back());
		objs.pop_back();
		ASSERT_EQ(stats_of(cache).objects, objs.size());
	}
	expect_consistent(cache);
}

TEST(StatsTest, NumbersAddUpThroughALife)
{
	test_cache cache(200);
	std::vector<void *> objs = alloc_many(cache, 5000);

	expect_consistent(cache);
	shuffle(objs);
	free_many(cache, {objs.begin() + 2000, objs.end()});
	objs.resize(2000);
	expect_consistent(cache);
	EXPECT_EQ(stats_of(cache).objects, objs.size());
	slab_cache_shrink(cache);
	expect_consistent(cache);
	EXPECT_EQ(stats_of(cache).objects, objs.size());
	slab_cache_validate(cache);
	expect_consistent(cache);
	free_many(cache, objs);
	expect_consistent(cache);
	slab_cache_shrink(cache);
	expect_consistent(cache);
	EXPECT_EQ(stats_of(cache).slabs, 0u);
}

TEST(StatsTest, ExhaustedSlabsAreFull)
{
	test_cache cache(64);
	const unsigned per_slab = stats_of(cache).objects_per_slab;

	pin(0);
	std::vector<void *> objs = alloc_many(cache, per_slab * 10 + 1);
	const struct slab_stats s = stats_of(cache);

	EXPECT_EQ(s.slabs, 11u);
	EXPECT_GE(s.full, 10u); /* the array may hold all that the last one has left */
	EXPECT_EQ(s.partial, s.slabs - s.full);
	EXPECT_EQ(s.empty, 0u);
	unpin();
	free_many(cache, objs);
}

TEST(StatsTest, ShrinkLeavesSlabsInUse)
{
	test_cache cache(64);
	const unsigned per_slab = stats_of(cache).objects_per_slab;
	std::vector<void *> objs = alloc_many(cache, per_slab * 10);

	for (std::size_t i = 0; i < objs.size(); i += 2)
		slab_free(cache, objs[i]);
	slab_cache_shrink(cache);
	const struct slab_stats s = stats_of(cache);

	EXPECT_EQ(s.cpu_objects, 0u);
	EXPECT_EQ(s.partial, s.slabs);
	EXPECT_GE(s.event[SLAB_EVENT_ARRAYS_CLOSED], 1u);
	for (std::size_t i = 1; i < objs.size(); i += 2)
		slab_free(cache, objs[i]);
}

TEST(StatsTest, FreesOfAnotherCpuAreCounted)
{
	if (allowed_cpus().size() < 2)
		GTEST_SKIP() << "one CPU only";
	test_cache cache(64);

	pin(0);
	const unsigned per_slab = stats_of(cache).objects_per_slab;
	std::vector<void *> objs = alloc_many(cache, per_slab * 4 + per_slab / 2);
	std::thread([&] {
		pin(1);
		free_many(cache, objs);
	}).join();
	unpin();
	const struct slab_stats s = stats_of(cache);

	EXPECT_EQ(s.objects, 0u);
	EXPECT_GT(s.event[SLAB_EVENT_FREE_SLOWPATH], 0u);
	EXPECT_GT(s.event[SLAB_EVENT_FREE_FLUSH] + s.event[SLAB_EVENT_FREE_MAGAZINE], 0u);
	EXPECT_GT(s.cpu_objects, 0u);
	expect_consistent(cache);
}

TEST(StatsTest, RefillsAreCounted)
{
	test_cache cache(64);
	std::vector<void *> objs = alloc_many(cache, 2000);

	for (std::size_t i = 0; i < objs.size(); i += 2)
		slab_free(cache, objs[i]);
	slab_cache_shrink(cache);
	const std::uint64_t before = stats_of(cache).event[SLAB_EVENT_ALLOC_REFILL];
	void *obj = slab_alloc(cache);

	EXPECT_GT(stats_of(cache).event[SLAB_EVENT_ALLOC_REFILL], before);
	slab_free(cache, obj);
	for (std::size_t i = 1; i < objs.size(); i += 2)
		slab_free(cache, objs[i]);
}

TEST(StatsTest, FakeNodesAreCounted)
{
	if (!in_environment({"SLAB_FAKE_NODES=4"}))
		return;
	test_cache cache(64);
	std::vector<void *> objs;

	EXPECT_EQ(process_stats().nodes, 4u);
	EXPECT_EQ(stats_of(cache).nodes, 4u);
	for (int node = 0; node < 4; node++)
		for (int i = 0; i < 500; i++)
			objs.push_back(slab_alloc_node(cache, node));
	const struct slab_stats s = stats_of(cache);
	for (unsigned node = 0; node < 4; node++)
		EXPECT_EQ(s.node_objects[node], 500u) << node;
	expect_consistent(cache);
	free_many(cache, objs);
	expect_consistent(cache);
}

/* Names and sizes of the interface */

TEST(StatsTest, EveryEventHasAName)
{
	std::set<std::string> names;

	for (unsigned event = 0; event < SLAB_EVENT_COUNT; event++) {
		ASSERT_NE(slab_event_name(event), nullptr) << event;
		names.insert(slab_event_name(event));
	}
	EXPECT_EQ(names.size(), std::size_t{SLAB_EVENT_COUNT});
	EXPECT_STREQ(slab_event_name(SLAB_EVENT_ALLOC_SLOWPATH), "alloc_slowpath");
	EXPECT_STREQ(slab_event_name(SLAB_EVENT_ARRAYS_CLOSED), "arrays_closed");
}

TEST(StatsTest, UnknownEventsHaveNoName)
{
	EXPECT_EQ(slab_event_name(SLAB_EVENT_COUNT), nullptr);
	EXPECT_EQ(slab_event_name(~0u), nullptr);
}

TEST(StatsTest, UnknownStructSizesAreRefused)
{
	test_cache cache(64);
	struct slab_stats stats = {};
	struct slab_process_stats process = {};

	for (std::size_t size : {std::size_t{0}, std::size_t{7}, sizeof(stats) * 2}) {
		stats.struct_size = process.struct_size = size;
		EXPECT_EQ(slab_cache_stats(cache, &stats), -EINVAL) << size;
		EXPECT_EQ(slab_process_stats(&process), -EINVAL) << size;
	}
}

TEST(StatsTest, CachesAreVisitedInOrderOfCreation)
{
	test_cache first(64), second(64), third(64);
	std::vector<struct slab_cache *> seen;

	EXPECT_EQ(slab_for_each_cache(
			  [](struct slab_cache *cache, void *arg) {
				  static_cast<std::vector<struct slab_cache *> *>(arg)->push_back(
					  cache);
				  return 0;
			  },
			  &seen),
		  0);
	ASSERT_GE(seen.size(), 3u);
	EXPECT_EQ(seen[seen.size() - 3], static_cast<struct slab_cache *>(first));
	EXPECT_EQ(seen[seen.size() - 2], static_cast<struct slab_cache *>(second));
	EXPECT_EQ(seen[seen.size() - 1], static_cast<struct slab_cache *>(third));
	EXPECT_EQ(seen.size(), process_stats().caches);
}

TEST(StatsTest, VisitingStopsAtTheFirstNonZero)
{
	test_cache first(64), second(64);
	int visits = 0;

	EXPECT_EQ(slab_for_each_cache(
			  [](struct slab_cache *, void *arg) {
				  ++*static_cast<int *>(arg);
				  return 42;
			  },
			  &visits),
		  42);
	EXPECT_EQ(visits, 1);
}

/* The process */

TEST(StatsTest, TheProcessIsDescribed)
{
	const struct slab_process_stats s = process_stats();

	EXPECT_STREQ(s.engine, slab_engine());
	EXPECT_GE(s.cpus, allowed_cpus().size());
	EXPECT_GE(s.nodes, 1u);
	EXPECT_NE(s.segment_size, 0u);
	EXPECT_EQ(s.segment_size & (s.segment_size - 1), 0u);
}

TEST(StatsTest, CachesOfTheProcessAreCounted)
{
	const unsigned before = process_stats().caches;

	{
		test_cache first(64), second(64);

		EXPECT_EQ(process_stats().caches, before + 2);
	}
	EXPECT_EQ(process_stats().caches, before);
}

TEST(StatsTest, BytesOfTheProcessFollowItsCaches)
{
	test_cache cache(1024);
	const struct slab_process_stats before = process_stats();
	std::vector<void *> objs = alloc_many(cache, 4000);
	const struct slab_process_stats during = process_stats();

	EXPECT_GE(during.slab_bytes - before.slab_bytes, 4000u * 1024u);
	EXPECT_GE(during.segments * during.segment_size, during.slab_bytes);
	free_many(cache, objs);
	slab_cache_shrink(cache);
	EXPECT_EQ(process_stats().slab_bytes, before.slab_bytes);
}

TEST(StatsTest, LargeBytesFollowLargeAllocations)
{
	const std::uint64_t before = process_stats().large_bytes;
	void *large = slab_malloc(1 << 20);

	EXPECT_GE(process_stats().large_bytes, before + (1 << 20));
	slab_mfree(large);
	EXPECT_EQ(process_stats().large_bytes, before);
}

} /* namespace */
