/* SPDX-License-Identifier: MIT */
/* What every allocator promises to one thread. */
#include "contestants.h"

#include <algorithm>

namespace baselines_test
{

const std::size_t sizes[] = {1,   8,    13,   16,   24,   64,   100,  240,  256,  500,
			     712, 1000, 1024, 2000, 2112, 4000, 4096, 5000, 8192, 32768};

INSTANTIATE_TEST_SUITE_P(All, BaselineTest, contestants(), contestant_name);

TEST_P(BaselineTest, ObjectsAreAligned)
{
	for (std::size_t align : {0, 8, 16, 64, 256, 4096}) {
		for (std::size_t size : {8, 24, 100, 712, 5000}) {
			object_cache cache(GetParam(), {size, align, nullptr, nullptr});
			const std::vector<void *> objs = cache.alloc_many(50);

			for (void *obj : objs)
				EXPECT_EQ(reinterpret_cast<std::uintptr_t>(obj) %
						  std::max<std::size_t>(align, 8),
					  0u)
					<< size << " " << align;
			cache.free_all(objs);
		}
	}
}

TEST_P(BaselineTest, ObjectsOfAllSizesDoNotOverlap)
{
	for (std::size_t size : sizes) {
		object_cache cache(GetParam(), size);
		const std::vector<void *> objs = cache.alloc_many(300);

		for (std::size_t i = 0; i < objs.size(); i++)
			stamp_object(objs[i], size, static_cast<std::uint32_t>(i * 2654435761u));
		for (std::size_t i = 0; i < objs.size(); i++)
			EXPECT_TRUE(has_stamp(objs[i], size,
					      static_cast<std::uint32_t>(i * 2654435761u)))
				<< size;
		cache.free_all(objs);
	}
}

TEST_P(BaselineTest, NoObjectIsHandedOutTwiceInARandomOrder)
{
	std::mt19937 random(1);

	for (std::size_t size : {16, 64, 712, 2112}) {
		object_cache cache(GetParam(), size);
		std::vector<std::pair<void *, std::uint32_t>> live;

		for (std::uint32_t i = 0; i < 24000; i++) {
			const unsigned allocs_of_3 = i / 6000 % 2 ? 1 : 2;

			if (live.empty() || random() % 3 < allocs_of_3) {
				live.emplace_back(cache.alloc(), i);
				stamp_object(live.back().first, size, i);
				continue;
			}
			std::swap(live[random() % live.size()], live.back());
			ASSERT_TRUE(has_stamp(live.back().first, size, live.back().second));
			cache.free(live.back().first);
			live.pop_back();
		}
		for (const auto &one : live)
			cache.free(one.first);
	}
}

TEST_P(BaselineTest, CachesOfTwoSizesDoNotShareObjects)
{
	object_cache small(GetParam(), 40), large(GetParam(), 900);
	std::vector<void *> smalls, larges;

	for (int i = 0; i < 2000; i++) {
		smalls.push_back(small.alloc());
		stamp_object(smalls.back(), 40, 0x01020304);
		larges.push_back(large.alloc());
		stamp_object(larges.back(), 900, 0x05060708);
	}
	for (void *obj : smalls)
		EXPECT_TRUE(has_stamp(obj, 40, 0x01020304));
	small.free_all(smalls);
	for (void *obj : larges)
		EXPECT_TRUE(has_stamp(obj, 900, 0x05060708));
	large.free_all(larges);
}

TEST_P(BaselineTest, AFreedObjectServesAgain)
{
	object_cache cache(GetParam(), 64);

	for (int i = 0; i < 10000; i++)
		cache.free(cache.alloc());
	EXPECT_LE(cache.stats().bytes, 1u << 20);
}

TEST_P(BaselineTest, ObjectsComeConstructed)
{
	const auto construct = [](void *obj, void *arg) {
		stamp_object(obj, 100, 0xabcdef01);
		++*static_cast<int *>(arg);
	};
	int calls = 0;
	object_cache cache(GetParam(), {100, 0, construct, &calls});

	for (int round = 0; round < 3; round++) {
		const std::vector<void *> objs = cache.alloc_many(500);

		EXPECT_GE(calls, 500);
		for (void *obj : objs)
			EXPECT_TRUE(has_stamp(obj, 100, 0xabcdef01));
		cache.free_all(objs);
	}
}

TEST_P(BaselineTest, MemoryReturnsAfterAShrink)
{
	for (std::size_t size : sizes) {
		object_cache cache(GetParam(), size);

		cache.free_all(cache.alloc_many(2000));
		cache.shrink();
		EXPECT_EQ(cache.stats().bytes, 0u) << size;
		EXPECT_EQ(cache.stats().queued, 0u) << size;
	}
}

TEST_P(BaselineTest, AShrinkLeavesObjectsInUseAlone)
{
	object_cache cache(GetParam(), 240);
	std::vector<void *> objs = cache.alloc_many(3000), kept;

	for (std::size_t i = 0; i < objs.size(); i++) {
		stamp_object(objs[i], 240, 0x11223344);
		if (i % 10 == 0)
			kept.push_back(objs[i]);
		else
			cache.free(objs[i]);
	}
	cache.shrink();
	const std::vector<void *> more = cache.alloc_many(3000);
	for (void *obj : more)
		stamp_object(obj, 240, 0x55667788);
	for (void *obj : kept)
		EXPECT_TRUE(has_stamp(obj, 240, 0x11223344));
	cache.free_all(kept);
	cache.free_all(more);
}

TEST_P(BaselineTest, ImpossibleArgumentsAreRefused)
{
	for (const struct baseline_args &args :
	     {baseline_args{0, 0, nullptr, nullptr}, baseline_args{32769, 0, nullptr, nullptr},
	      baseline_args{8, 8192, nullptr, nullptr}})
		EXPECT_EQ(GetParam()->create(&args), nullptr);
}

using BaselineDeathTest = BaselineTest;

INSTANTIATE_TEST_SUITE_P(All, BaselineDeathTest,
			 ::testing::Values(&slob_baseline, &queued_baseline, &sheaf_baseline),
			 contestant_name);

TEST_P(BaselineDeathTest, AnObjectThatIsFreedTwiceInARowEndsTheProcess)
{
	::testing::FLAGS_gtest_death_test_style = "threadsafe";
	object_cache cache(GetParam(), 64);

	EXPECT_DEATH(
		{
			void *obj = cache.alloc();

			cache.free(obj);
			cache.free(obj);
		},
		"an object was freed twice");
}

} // namespace baselines_test
