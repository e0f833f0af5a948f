/* SPDX-License-Identifier: MIT */
/* What slabs of large allocations hold beyond their objects. */
#include "../support/objects.h"
#include "../support/process.h"
#include "../support/units.h"
#include "../support/rooms.h"

namespace
{

class TailsTest : public testing::Test
{
protected:
	static constexpr std::size_t slab = 2 * mib, small = mib + 4096, count = 40;
	static constexpr std::size_t kept = 4 * mib; /* of all together */

	void SetUp() override
	{
		/* A huge page comes for the whole slab. */
		prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
		for (std::size_t i = 0; i < count; i++)
			all_.push_back(make(slab));
	}

	void TearDown() override
	{
		free_all();
		EXPECT_EQ(process_stats().large_bytes, 0u);
		prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0);
	}

	static void *make(std::size_t size)
	{
		void *memory = slab_malloc(size);

		EXPECT_NE(memory, nullptr);
		fill(memory, size, size);
		return memory;
	}

	void free_all()
	{
		for (void *memory : all_)
			slab_mfree(memory);
		all_.clear();
	}

	std::size_t resident() const
	{
		std::size_t bytes = 0;

		for (void *memory : all_)
			bytes += resident_bytes(memory, slab);
		return bytes;
	}

	std::vector<void *> all_;
};

TEST_F(TailsTest, GoWhenTheirObjectsShrinkInPlace)
{
	ASSERT_GE(resident(), count * slab);
	for (void *&memory : all_) {
		void *same = slab_realloc(memory, small);

		EXPECT_EQ(same, memory);
		memory = same;
		EXPECT_TRUE(intact(memory, small, slab));
	}
	EXPECT_EQ(process_stats().large_bytes, count * os_pages(small));
	EXPECT_LE(resident(), count * os_pages(small) + kept);
}

TEST_F(TailsTest, GoWhenSmallerObjectsReuseTheirSlabs)
{
	const std::vector<void *> before = all_;

	free_all();
	for (std::size_t i = 0; i < count; i++)
		all_.push_back(make(small));
	EXPECT_TRUE(std::is_permutation(all_.begin(), all_.end(), before.begin()));
	EXPECT_LE(resident(), count * os_pages(small) + kept);
}

TEST_F(TailsTest, ThatAreShortStay)
{
	for (void *&memory : all_)
		memory = slab_realloc(memory, slab - slab / 8);
	EXPECT_EQ(process_stats().large_bytes, count * (slab - slab / 8));
	EXPECT_GE(resident(), count * slab);
}

TEST_F(TailsTest, AreFewWhateverHappens)
{
	std::vector<std::size_t> sizes(count, slab), content(count, slab);
	std::mt19937 random(7);

	for (unsigned i = 0; i < 500; i++) {
		const std::size_t at = random() % count, size = small + random() % (mib - 4096);

		if (random() % 2) {
			all_[at] = slab_realloc(all_[at], size);
			ASSERT_TRUE(intact(all_[at], std::min(size, sizes[at]) & ~std::size_t{7},
					   content[at]));
		} else {
			slab_mfree(all_[at]);
			all_[at] = slab_malloc(size);
		}
		ASSERT_NE(all_[at], nullptr);
		sizes[at] = content[at] = size;
		fill(all_[at], size, size);
	}

	const std::size_t bytes = std::accumulate(
		sizes.begin(), sizes.end(), std::size_t{0},
		[](std::size_t sum, std::size_t size) { return sum + os_pages(size); });

	EXPECT_EQ(process_stats().large_bytes, bytes);
	EXPECT_LE(resident(), bytes + kept + count * slab / 8);
	free_all();
	/* Nothing is left in the account of tails: as many may stay as ever. */
	for (std::size_t i = 0; i < count; i++)
		all_.push_back(make(slab));
	for (void *&memory : all_)
		memory = slab_realloc(memory, small);
	EXPECT_GT(resident(), count * os_pages(small) + kept - slab);
	EXPECT_LE(resident(), count * os_pages(small) + kept);
}

/* An object's tail goes while its owner grows it, shrinks it, or frees it. */
TEST_F(TailsTest, AreCutByOthersWithoutHarm)
{
	std::vector<std::thread> threads;

	for (unsigned t = 0; t < 4; t++)
		threads.emplace_back([t] {
			std::mt19937 random(t);
			std::size_t size = slab;
			std::vector<void *> mine;

			for (unsigned i = 0; i < 6; i++)
				mine.push_back(make(size));
			for (unsigned i = 0; i < 60; i++) {
				void *&memory = mine[random() % mine.size()];
				const std::size_t to = small + random() % (mib - 4096);

				memory = slab_realloc(memory, small);
				memory = slab_realloc(memory, to);
				fill(memory, to, i);
				memory = slab_realloc(memory, to - (to - small) / 2);
				EXPECT_TRUE(intact(memory, (to - (to - small) / 2) & ~7UL, i));
				slab_mfree(memory);
				memory = make(small + random() % (mib - 4096));
			}
			for (void *memory : mine)
				slab_mfree(memory);
		});
	join_all(threads);
}

} /* namespace */
