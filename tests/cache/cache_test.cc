/* SPDX-License-Identifier: MIT */
/*
 * Caches as <slab/slab.h> promises them: creation, the objects they hand out,
 * zeroing, nodes, typed macros and destruction. Each test uses the public functions
 * only and one behaviour at a time.
 */
#include <slab/define.h>

#include "../support/objects.h"
#include "../support/process.h"
#include "../support/reports.h"

namespace
{

TEST(CacheTest, CreatesAndDestroysAnEmptyCache)
{
	struct slab_cache *cache = slab_cache_create("empty", 64, nullptr, 0);

	ASSERT_NE(cache, nullptr);
	EXPECT_EQ(slab_cache_destroy(cache), 0);
}

TEST(CacheTest, DestroysNull)
{
	EXPECT_EQ(slab_cache_destroy(nullptr), 0);
}

TEST(CacheTest, FreesNull)
{
	test_cache cache(64);

	slab_free(cache, nullptr);
	EXPECT_EQ(stats_of(cache).objects, 0u);
}

TEST(CacheTest, KeepsNameAndSize)
{
	char name[] = "kept-name";
	struct slab_cache *cache = slab_cache_create(name, 100, nullptr, 0);

	ASSERT_NE(cache, nullptr);
	std::strcpy(name, "over");
	EXPECT_STREQ(slab_cache_name(cache), "kept-name");
	EXPECT_EQ(slab_cache_size(cache), 100u);
	EXPECT_EQ(slab_cache_destroy(cache), 0);
}

TEST(CacheTest, ANameIsFreeAgainAfterDestroy)
{
	for (int i = 0; i < 3; i++) {
		struct slab_cache *cache = slab_cache_create("phoenix", 64, nullptr, 0);

		ASSERT_NE(cache, nullptr) << "round " << i;
		EXPECT_EQ(slab_cache_destroy(cache), 0);
	}
}

TEST(CacheTest, HoldsThousandsOfCaches)
{
	std::vector<struct slab_cache *> caches;
	std::vector<void *> objs;

	for (int i = 0; i < 2000; i++) {
		const std::string name = "thousands-" + std::to_string(i);

		caches.push_back(slab_cache_create(name.c_str(), 32, nullptr, 0));
		ASSERT_NE(caches.back(), nullptr) << "errno " << errno << " at cache " << i;
		objs.push_back(slab_alloc(caches.back()));
	}
	EXPECT_TRUE(all_distinct(objs));
	for (std::size_t i = 0; i < caches.size(); i++) {
		slab_free(caches[i], objs[i]);
		EXPECT_EQ(slab_cache_destroy(caches[i]), 0);
	}
}

TEST(CacheTest, NamesItsEngineAndVersion)
{
	const std::set<std::string> engines = {"rseq", "cmpxchg16b", "mutex"};

	EXPECT_EQ(engines.count(slab_engine()), 1u) << slab_engine();
	EXPECT_STRNE(slab_version(), "");
}

TEST(CacheTest, SuccessLeavesErrnoAlone)
{
	test_cache cache(64);

	errno = EXDEV;
	std::vector<void *> objs = alloc_many(cache, several_slabs);
	EXPECT_EQ(errno, EXDEV);
	free_many(cache, objs);
	EXPECT_EQ(errno, EXDEV);
}

/* Sizes and alignments */

class ObjectSizes : public testing::TestWithParam<std::size_t>
{
};

TEST_P(ObjectSizes, ObjectsDoNotOverlap)
{
	const std::size_t size = GetParam();
	const std::size_t n = size > 4096 ? 100 : several_slabs;
	test_cache cache(size);
	std::vector<void *> objs = alloc_many(cache, n);

	ASSERT_TRUE(all_distinct(objs));
	for (std::size_t i = 0; i < n; i++)
		fill(objs[i], size, i);
	for (std::size_t i = 0; i < n; i++)
		ASSERT_TRUE(intact(objs[i], size, i)) << "object " << i << " of " << size;
	free_many(cache, objs);
}

TEST_P(ObjectSizes, ObjectsHaveNaturalAlignment)
{
	const std::size_t size = GetParam();
	const std::size_t natural = std::min<std::size_t>(size & -size, 16);
	test_cache cache(size);
	std::vector<void *> objs = alloc_many(cache, 50);

	for (void *obj : objs)
		EXPECT_TRUE(aligned(obj, natural)) << obj << " of size " << size;
	free_many(cache, objs);
}

INSTANTIATE_TEST_SUITE_P(Bytes, ObjectSizes,
			 testing::Values(1, 2, 3, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 40, 48, 63,
					 64, 65, 72, 96, 100, 127, 128, 129, 192, 200, 240, 255,
					 256, 257, 333, 500, 512, 712, 1000, 1024, 1025, 2000, 2048,
					 2112, 3000, 4095, 4096, 4097, 5000, 8192, 10000, 16384,
					 20000, 32767, 32768),
			 testing::PrintToStringParamName());

class Alignments : public testing::TestWithParam<std::size_t>
{
};

TEST_P(Alignments, AreKeptForEverySize)
{
	const std::size_t align = GetParam();
	struct slab_cache_args args = {};

	args.align = align;
	for (std::size_t size : {1u, 8u, 40u, 100u, 712u, 4096u, 5000u, 32768u}) {
		test_cache cache(size, 0, &args);
		std::vector<void *> objs = alloc_many(cache, 60);

		ASSERT_TRUE(all_distinct(objs));
		for (std::size_t i = 0; i < objs.size(); i++) {
			EXPECT_TRUE(aligned(objs[i], align)) << objs[i] << " of size " << size;
			fill(objs[i], size, i);
		}
		for (std::size_t i = 0; i < objs.size(); i++)
			EXPECT_TRUE(intact(objs[i], size, i)) << "size " << size;
		free_many(cache, objs);
	}
}

INSTANTIATE_TEST_SUITE_P(Bytes, Alignments,
			 testing::Values(1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096),
			 testing::PrintToStringParamName());

TEST(CacheTest, HwcacheAlignPutsObjectsOnTheirOwnCacheLine)
{
	test_cache cache(100, SLAB_HWCACHE_ALIGN);
	std::vector<void *> objs = alloc_many(cache, several_slabs);

	for (void *obj : objs)
		EXPECT_TRUE(aligned(obj, 64)) << obj;
	free_many(cache, objs);
}

TEST(CacheTest, HwcacheAlignPacksSmallObjectsIntoOneLine)
{
	test_cache cache(16, SLAB_HWCACHE_ALIGN);
	std::vector<void *> objs = alloc_many(cache, several_slabs);

	for (void *obj : objs) {
		const auto offset = reinterpret_cast<std::uintptr_t>(obj) % 64;

		EXPECT_LE(offset + 16, 64u) << obj << " crosses a cache line";
	}
	EXPECT_LT(stats_of(cache).slab_size, 64u);
	free_many(cache, objs);
}

TEST(CacheTest, FreedMemoryIsUsedAgain)
{
	test_cache cache(64);
	std::vector<void *> objs = alloc_many(cache, several_slabs);
	const auto slabs = stats_of(cache).slabs;

	for (int round = 0; round < 20; round++) {
		shuffle(objs, round);
		free_many(cache, objs);
		objs = alloc_many(cache, several_slabs);
		ASSERT_TRUE(all_distinct(objs));
	}
	/* Slabs may stand on another CPU's list when the test migrates, so the
	 * number may grow by what each CPU keeps, but not with the rounds. */
	EXPECT_LE(stats_of(cache).slabs, slabs * (1 + allowed_cpus().size()) + 2);
	free_many(cache, objs);
}

/* Zeroing */

TEST(CacheTest, ZallocGivesZeros)
{
	test_cache cache(200);

	for (int round = 0; round < 3; round++) {
		std::vector<void *> objs;

		for (std::size_t i = 0; i < several_slabs; i++) {
			objs.push_back(slab_zalloc(cache));
			ASSERT_TRUE(all_bytes(objs.back(), 200, 0));
			std::memset(objs.back(), 0xee, 200);
		}
		free_many(cache, objs);
	}
}

TEST(CacheTest, ZeroFlagZeroesEveryAllocation)
{
	test_cache cache(200, SLAB_ZERO);

	for (int round = 0; round < 3; round++) {
		std::vector<void *> objs = alloc_many(cache, several_slabs);

		for (void *obj : objs) {
			ASSERT_TRUE(all_bytes(obj, 200, 0));
			std::memset(obj, 0xee, 200);
		}
		free_many(cache, objs);
	}
}

TEST(CacheTest, ZeroFlagHoldsBesideAPlainCacheOfTheSameLayout)
{
	test_cache plain(56);
	test_cache zeroed(56, SLAB_ZERO);
	std::vector<void *> objs = alloc_many(plain, several_slabs);

	for (void *obj : objs)
		std::memset(obj, 0xee, 56);
	free_many(plain, objs);
	objs = alloc_many(zeroed, several_slabs);
	for (void *obj : objs)
		EXPECT_TRUE(all_bytes(obj, 56, 0));
	free_many(zeroed, objs);
}

/* Nodes */

TEST(CacheTest, AllocNodeMinusOneIsAnyNode)
{
	test_cache cache(64);
	void *obj = slab_alloc_node(cache, -1);

	ASSERT_NE(obj, nullptr);
	fill(obj, 64, 1);
	slab_free(cache, obj);
}

TEST(CacheTest, AllocNodeServesEveryNode)
{
	test_cache cache(64);
	std::vector<void *> objs;

	for (unsigned node = 0; node < process_stats().nodes; node++)
		for (std::size_t i = 0; i < several_slabs; i++) {
			objs.push_back(slab_alloc_node(cache, static_cast<int>(node)));
			fill(objs.back(), 64, objs.size());
		}
	EXPECT_TRUE(all_distinct(objs));
	for (std::size_t i = 0; i < objs.size(); i++)
		EXPECT_TRUE(intact(objs[i], 64, i + 1));
	free_many(cache, objs);
}

TEST(CacheTest, AllocNodeMixesWithAllocAndFree)
{
	test_cache cache(64);
	std::vector<void *> objs;

	for (std::size_t i = 0; i < several_slabs; i++) {
		objs.push_back(slab_alloc_node(cache, 0));
		objs.push_back(slab_alloc(cache));
		if (i % 3 == 0) {
			slab_free(cache, objs.back());
			objs.pop_back();
		}
	}
	EXPECT_TRUE(all_distinct(objs));
	EXPECT_EQ(stats_of(cache).objects, objs.size());
	free_many(cache, objs);
}

TEST(CacheTest, AllocNodeRefusesUnknownNodes)
{
	test_cache cache(64);

	for (int node : {-2, 4096, 1 << 30}) {
		errno = 0;
		EXPECT_EQ(slab_alloc_node(cache, node), nullptr) << node;
		EXPECT_EQ(errno, EINVAL) << node;
	}
}

/* Typed macros */

struct typed_entry {
	long id;
	char text[40];
	alignas(32) double vector[4];
};
SLAB_DEFINE_TYPED(typed_entry, struct typed_entry);

TEST(CacheTest, SlabCacheTakesNameSizeAndAlignmentOfTheType)
{
	struct slab_cache *cache = SLAB_CACHE(struct typed_entry, 0);

	ASSERT_NE(cache, nullptr);
	EXPECT_STREQ(slab_cache_name(cache), "typed_entry");
	EXPECT_EQ(slab_cache_size(cache), sizeof(struct typed_entry));
	EXPECT_EQ(stats_of(cache).align, alignof(struct typed_entry));
	EXPECT_EQ(slab_cache_destroy(cache), 0);
}

TEST(CacheTest, DefineTypedGivesTypedPointers)
{
	struct slab_cache *cache = typed_entry_cache_create(nullptr, 0);

	ASSERT_NE(cache, nullptr);
	EXPECT_STREQ(slab_cache_name(cache), "typed_entry");
	struct typed_entry *plain = typed_entry_alloc(cache);
	struct typed_entry *zeroed = typed_entry_zalloc(cache);
	EXPECT_TRUE(aligned(plain, alignof(struct typed_entry)));
	EXPECT_EQ(zeroed->id, 0);
	EXPECT_EQ(zeroed->vector[3], 0.0);
	typed_entry_free(cache, plain);
	typed_entry_free(cache, zeroed);
	EXPECT_EQ(slab_cache_destroy(cache), 0);
}

/* Destroying with objects left */

TEST(CacheTest, DestroyWithObjectsLeftReportsEachOfThem)
{
	report_capture reports;
	test_cache cache(64);
	std::vector<void *> objs = alloc_many(cache, 300);

	for (std::size_t i = 5; i < objs.size(); i++)
		slab_free(cache, objs[i]);
	objs.resize(5);
	EXPECT_EQ(cache.destroy(), -EBUSY);
	EXPECT_TRUE(
		reports.contains("Objects remaining in " + cache.name() + " on slab_cache_destroy"))
		<< reports.text();
	for (void *obj : objs) {
		char address[32];

		std::snprintf(address, sizeof(address), "%p", obj);
		EXPECT_TRUE(reports.contains(address)) << address << " in " << reports.text();
	}
	free_many(cache, objs);
}

TEST(CacheTest, ACacheWithObjectsLeftStaysUsable)
{
	report_capture reports;
	test_cache cache(64);
	std::vector<void *> objs = alloc_many(cache, 10);

	for (std::size_t i = 0; i < objs.size(); i++)
		fill(objs[i], 64, i);
	EXPECT_EQ(cache.destroy(), -EBUSY);
	EXPECT_STREQ(slab_cache_name(cache), cache.name().c_str());
	std::vector<void *> more = alloc_many(cache, several_slabs);
	EXPECT_TRUE(all_distinct(more));
	for (std::size_t i = 0; i < objs.size(); i++)
		EXPECT_TRUE(intact(objs[i], 64, i));
	free_many(cache, more);
	free_many(cache, objs);
	EXPECT_EQ(cache.destroy(), 0);
}

/* Shrinking and validating a cache, as <slab/slab.h> promises it. */

TEST(CacheTest, ShrinkOfAnEmptyCacheGivesNothingBack)
{
	test_cache cache(64);

	EXPECT_EQ(slab_cache_shrink(cache), 0);
}

TEST(CacheTest, ShrinkReturnsTheSlabsItGaveBack)
{
	test_cache cache(512);
	std::vector<void *> objs = alloc_many(cache, 4000);

	free_many(cache, objs);
	const auto slabs = stats_of(cache).slabs;
	const int given = slab_cache_shrink(cache);

	EXPECT_GT(given, 0);
	EXPECT_EQ(static_cast<std::uint64_t>(given), slabs);
	EXPECT_EQ(stats_of(cache).slabs, 0u);
}

TEST(CacheTest, ShrinkGivesTheMemoryBack)
{
	test_cache cache(1024);
	std::vector<void *> objs = alloc_many(cache, 8000);
	std::size_t before = 0, after = 0;

	for (void *obj : objs) {
		std::memset(obj, 1, 1024);
		before += resident_pages(obj, 1024);
	}
	free_many(cache, objs);
	slab_cache_shrink(cache);
	for (void *obj : objs)
		after += resident_pages(obj, 1024);
	EXPECT_GE(before, objs.size());
	EXPECT_EQ(after, 0u);
}

TEST(CacheTest, ShrinkKeepsObjectsInUse)
{
	test_cache cache(100);
	std::vector<void *> objs = alloc_many(cache, 3000), kept;

	for (std::size_t i = 0; i < objs.size(); i++)
		if (i % 100 == 0) {
			kept.push_back(objs[i]);
			fill(objs[i], 100, i);
		} else {
			slab_free(cache, objs[i]);
		}
	EXPECT_GE(slab_cache_shrink(cache), 0);
	for (std::size_t i = 0; i < kept.size(); i++)
		EXPECT_TRUE(intact(kept[i], 100, i * 100));
	EXPECT_EQ(stats_of(cache).objects, kept.size());
	free_many(cache, kept);
}

TEST(CacheTest, AllocatesAfterShrink)
{
	test_cache cache(100);

	for (int round = 0; round < 5; round++) {
		std::vector<void *> objs = alloc_many(cache, several_slabs);

		ASSERT_TRUE(all_distinct(objs));
		for (std::size_t i = 0; i < objs.size(); i++)
			fill(objs[i], 100, i);
		for (std::size_t i = 0; i < objs.size(); i++)
			ASSERT_TRUE(intact(objs[i], 100, i));
		free_many(cache, objs);
		EXPECT_GT(slab_cache_shrink(cache), 0);
	}
}

TEST(CacheTest, ValidateFindsNothingInAHealthyCache)
{
	report_capture reports;
	test_cache cache(100);
	std::vector<void *> objs = alloc_many(cache, several_slabs);

	EXPECT_EQ(slab_cache_validate(cache), 0);
	shuffle(objs);
	for (std::size_t i = 0; i < objs.size() / 2; i++)
		slab_free(cache, objs[i]);
	EXPECT_EQ(slab_cache_validate(cache), 0);
	for (std::size_t i = objs.size() / 2; i < objs.size(); i++)
		slab_free(cache, objs[i]);
	EXPECT_EQ(slab_cache_validate(cache), 0);
	EXPECT_EQ(reports.text(), "");
}

} /* namespace */
