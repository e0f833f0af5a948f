/* SPDX-License-Identifier: MIT */
/*
 * Bulk allocation and free: how far each mode goes for objects, that nothing is
 * delivered twice, and that arrays of any order and origin are freed.
 */
#include "../support/objects.h"
#include "../support/process.h"
#include "../support/reports.h"

namespace
{

constexpr std::size_t object_size = 72;
constexpr unsigned all_modes =
	SLAB_ALLOC_LOCAL | SLAB_ALLOC_PARTIAL | SLAB_ALLOC_NEW | SLAB_ALLOC_FULL;

/* Allocate up to n objects; what was not delivered must not be written. */
std::vector<void *> bulk(struct slab_cache *cache, unsigned mode, std::size_t n)
{
	static char untouched;
	std::vector<void *> objs(n + 1, &untouched);
	const std::size_t got = slab_alloc_bulk(cache, mode, n, objs.data());

	EXPECT_LE(got, n);
	EXPECT_EQ(objs[n], &untouched);
	objs.resize(got);
	EXPECT_TRUE(all_distinct(objs));
	for (void *obj : objs)
		EXPECT_NE(obj, static_cast<void *>(&untouched));
	return objs;
}

void free_bulk(struct slab_cache *cache, const std::vector<void *> &objs)
{
	slab_free_bulk(cache, objs.size(), objs.data());
}

/* Leave a cache with many slabs, of which every second object is allocated:
 * whatever the CPU does not hold stands on the node's partial list. */
std::vector<void *> leave_partial_slabs(struct slab_cache *cache)
{
	std::vector<void *> objs = alloc_many(cache, 5000), kept;

	for (std::size_t i = 0; i < objs.size(); i++)
		if (i % 2)
			kept.push_back(objs[i]);
		else
			slab_free(cache, objs[i]);
	return kept;
}

class BulkModes : public testing::TestWithParam<unsigned>
{
};

TEST_P(BulkModes, DeliversObjectsThatDoNotOverlap)
{
	test_cache cache(object_size);
	std::vector<void *> kept = leave_partial_slabs(cache);

	for (std::size_t i = 0; i < kept.size(); i++)
		fill(kept[i], object_size, i);
	for (std::size_t n : {1u, 2u, 3u, 16u, 17u, 64u, 100u, 333u, 1000u}) {
		std::vector<void *> objs = bulk(cache, GetParam(), n);

		for (std::size_t i = 0; i < objs.size(); i++)
			fill(objs[i], object_size, 1000000 + i);
		for (std::size_t i = 0; i < objs.size(); i++)
			ASSERT_TRUE(intact(objs[i], object_size, 1000000 + i)) << n;
		EXPECT_EQ(stats_of(cache).objects, kept.size() + objs.size());
		free_bulk(cache, objs);
	}
	for (std::size_t i = 0; i < kept.size(); i++)
		ASSERT_TRUE(intact(kept[i], object_size, i));
	free_many(cache, kept);
}

TEST_P(BulkModes, NothingIsDeliveredForZero)
{
	test_cache cache(object_size);

	EXPECT_EQ(slab_alloc_bulk(cache, GetParam(), 0, nullptr), 0u);
	EXPECT_EQ(stats_of(cache).objects, 0u);
}

TEST_P(BulkModes, FullDeliversAllWhateverElseIsSet)
{
	test_cache cache(object_size);

	for (std::size_t n : {1u, 2u, 63u, 64u, 65u, 500u, 1000u}) {
		std::vector<void *> objs = bulk(cache, GetParam() | SLAB_ALLOC_FULL, n);

		EXPECT_EQ(objs.size(), n);
		free_bulk(cache, objs);
	}
}

TEST_P(BulkModes, GrowsTheCacheOnlyWhenItMay)
{
	const bool may_grow = GetParam() & (SLAB_ALLOC_NEW | SLAB_ALLOC_FULL);
	test_cache cache(object_size);
	std::vector<void *> kept = leave_partial_slabs(cache);
	const auto slabs = stats_of(cache).slabs;
	std::vector<void *> objs = bulk(cache, GetParam(), 20000);

	if (may_grow) {
		EXPECT_GT(stats_of(cache).slabs, slabs);
	} else {
		EXPECT_EQ(stats_of(cache).slabs, slabs);
	}
	free_bulk(cache, objs);
	free_many(cache, kept);
}

INSTANTIATE_TEST_SUITE_P(Modes, BulkModes, testing::Range(1u, all_modes + 1),
			 [](const testing::TestParamInfo<unsigned> &mode) {
				 std::string name;

				 name += mode.param & SLAB_ALLOC_LOCAL ? "Local" : "";
				 name += mode.param & SLAB_ALLOC_PARTIAL ? "Partial" : "";
				 name += mode.param & SLAB_ALLOC_NEW ? "New" : "";
				 name += mode.param & SLAB_ALLOC_FULL ? "Full" : "";
				 return name;
			 });

TEST(BulkTest, LocalDeliversNothingFromAFreshCache)
{
	test_cache cache(object_size);

	EXPECT_EQ(bulk(cache, SLAB_ALLOC_LOCAL, 10).size(), 0u);
	EXPECT_EQ(stats_of(cache).slabs, 0u);
}

TEST(BulkTest, LocalDeliversWhatThisCpuFreed)
{
	test_cache cache(object_size);

	/* Pinned, because another CPU would hold nothing. */
	pin(0);
	free_many(cache, alloc_many(cache, 10));
	std::vector<void *> objs = bulk(cache, SLAB_ALLOC_LOCAL, 10);
	EXPECT_GT(objs.size(), 0u);
	free_bulk(cache, objs);
	unpin();
}

TEST(BulkTest, LocalTakesNothingFromTheNode)
{
	test_cache cache(object_size);

	pin(0);
	std::vector<void *> kept = leave_partial_slabs(cache);
	/* Shrinking moves everything that the CPUs hold to the node. */
	EXPECT_GE(slab_cache_shrink(cache), 0);
	EXPECT_EQ(bulk(cache, SLAB_ALLOC_LOCAL, 10).size(), 0u);
	free_many(cache, kept);
	unpin();
}

TEST(BulkTest, PartialTakesFromTheNode)
{
	test_cache cache(object_size);
	std::vector<void *> kept = leave_partial_slabs(cache);

	EXPECT_GE(slab_cache_shrink(cache), 0);
	ASSERT_GT(stats_of(cache).partial, 0u);
	std::vector<void *> objs = bulk(cache, SLAB_ALLOC_PARTIAL, 10);
	EXPECT_EQ(objs.size(), 10u);
	free_bulk(cache, objs);
	free_many(cache, kept);
}

TEST(BulkTest, PartialUsesUpEveryPartialSlabOfTheNode)
{
	test_cache cache(object_size);
	std::vector<void *> kept = leave_partial_slabs(cache);

	EXPECT_GE(slab_cache_shrink(cache), 0);
	const struct slab_stats before = stats_of(cache);
	const std::size_t room = before.total_objects - before.objects;
	std::vector<void *> objs = bulk(cache, SLAB_ALLOC_PARTIAL, room + 100);
	EXPECT_EQ(objs.size(), room);
	EXPECT_EQ(stats_of(cache).slabs, before.slabs);
	free_bulk(cache, objs);
	free_many(cache, kept);
}

TEST(BulkTest, NewDeliversFromAFreshCache)
{
	test_cache cache(object_size);
	std::vector<void *> objs = bulk(cache, SLAB_ALLOC_NEW, 10);

	EXPECT_EQ(objs.size(), 10u);
	free_bulk(cache, objs);
}

TEST(BulkTest, NewUsesEmptySlabsBeforeItCreatesOthers)
{
	test_cache cache(object_size);
	std::uint64_t first = 0;

	for (unsigned i = 0; i < 100; i++) {
		free_bulk(cache, bulk(cache, SLAB_ALLOC_NEW, 3000));
		if (!first)
			first = stats_of(cache).slabs;
	}
	EXPECT_LE(stats_of(cache).slabs, 2 * first);
}

TEST(BulkTest, UnknownModesAreRefused)
{
	test_cache cache(object_size);
	void *objs[4];

	for (unsigned mode : {16u, 16u | SLAB_ALLOC_FULL, 1u << 31}) {
		errno = 0;
		EXPECT_EQ(slab_alloc_bulk(cache, mode, 4, objs), 0u) << mode;
		EXPECT_EQ(errno, EINVAL) << mode;
	}
	EXPECT_EQ(stats_of(cache).objects, 0u);
}

TEST(BulkTest, ZeroedCachesDeliverZeros)
{
	test_cache cache(object_size, SLAB_ZERO);

	for (int round = 0; round < 3; round++) {
		std::vector<void *> objs = bulk(cache, SLAB_ALLOC_FULL, 500);

		for (void *obj : objs) {
			ASSERT_TRUE(all_bytes(obj, object_size, 0));
			fill(obj, object_size, 3);
		}
		free_bulk(cache, objs);
	}
}

TEST(BulkTest, NullEntriesAreSkipped)
{
	test_cache cache(object_size);
	std::vector<void *> objs = bulk(cache, SLAB_ALLOC_FULL, 100), holes;

	for (void *obj : objs) {
		holes.push_back(nullptr);
		holes.push_back(obj);
		holes.push_back(nullptr);
	}
	free_bulk(cache, holes);
	EXPECT_EQ(stats_of(cache).objects, 0u);
	free_bulk(cache, std::vector<void *>(10, nullptr));
	EXPECT_EQ(stats_of(cache).objects, 0u);
}

TEST(BulkTest, FreesNothingForZero)
{
	test_cache cache(object_size);

	slab_free_bulk(cache, 0, nullptr);
	EXPECT_EQ(stats_of(cache).objects, 0u);
}

TEST(BulkTest, RandomOrderIsFreed)
{
	report_capture reports;
	test_cache cache(object_size);

	for (unsigned seed = 0; seed < 20; seed++) {
		std::vector<void *> objs = bulk(cache, SLAB_ALLOC_FULL, 2000);

		ASSERT_EQ(objs.size(), 2000u);
		shuffle(objs, seed);
		free_bulk(cache, objs);
		EXPECT_EQ(stats_of(cache).objects, 0u);
	}
	EXPECT_EQ(slab_cache_validate(cache), 0);
	EXPECT_EQ(reports.text(), "");
}

TEST(BulkTest, ObjectsAreFreedOtherwiseThanTheyWereAllocated)
{
	test_cache cache(object_size);
	std::vector<void *> single = alloc_many(cache, 1000),
			    together = bulk(cache, SLAB_ALLOC_FULL, 1000);

	shuffle(single);
	free_bulk(cache, single);
	shuffle(together);
	free_many(cache, together);
	EXPECT_EQ(stats_of(cache).objects, 0u);
}

TEST(BulkTest, ObjectsOfDifferentCpusAreFreedTogether)
{
	test_cache cache(object_size);
	std::vector<void *> objs;

	for (std::size_t cpu = 0; cpu < 8; cpu++) {
		pin(cpu);
		std::vector<void *> more = bulk(cache, SLAB_ALLOC_FULL, 300);

		objs.insert(objs.end(), more.begin(), more.end());
	}
	unpin();
	ASSERT_TRUE(all_distinct(objs));
	shuffle(objs);
	free_bulk(cache, objs);
	EXPECT_EQ(stats_of(cache).objects, 0u);
	EXPECT_EQ(slab_cache_validate(cache), 0);
}

TEST(BulkTest, EveryCountUpToAThousand)
{
	test_cache cache(24);

	for (std::size_t n = 0; n <= 1000; n++) {
		std::vector<void *> objs = bulk(cache, SLAB_ALLOC_FULL, n);

		ASSERT_EQ(objs.size(), n);
		free_bulk(cache, objs);
	}
	EXPECT_EQ(stats_of(cache).objects, 0u);
}

TEST(BulkTest, LargeObjectsAreDelivered)
{
	test_cache cache(SLAB_MAX_OBJECT_SIZE);
	std::vector<void *> objs = bulk(cache, SLAB_ALLOC_FULL, 100);

	ASSERT_EQ(objs.size(), 100u);
	for (std::size_t i = 0; i < objs.size(); i++)
		fill(objs[i], SLAB_MAX_OBJECT_SIZE, i);
	for (std::size_t i = 0; i < objs.size(); i++)
		EXPECT_TRUE(intact(objs[i], SLAB_MAX_OBJECT_SIZE, i));
	free_bulk(cache, objs);
}

} /* namespace */
