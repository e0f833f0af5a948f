/* SPDX-License-Identifier: MIT */
/* A cache takes small slabs first and large ones when it has grown; both live side by side. */
#include "../support/limits.h"
#include "../support/movable.h"
#include "../support/process.h"

namespace
{

constexpr std::size_t object_size = 712;
constexpr std::uint64_t debug_flags =
	SLAB_CONSISTENCY_CHECKS | SLAB_RED_ZONE | SLAB_POISON | SLAB_STORE_USER;

struct census {
	std::size_t small = 0, large = 0, bytes = 0, objects = 0;
};

census census_of(struct slab_cache *cache)
{
	struct look {
		struct slab_cache *cache;
		census found;
	} look = {cache, {}};

	cache_each_slab(
		cache,
		[](struct slab *slab, void *arg) {
			auto *l = static_cast<struct look *>(arg);
			const std::size_t bytes = slab_bytes(slab);

			l->found.small += bytes == std::size_t{1} << l->cache->small.shift;
			l->found.large += bytes == std::size_t{1} << l->cache->large.shift;
			l->found.bytes += bytes;
			l->found.objects += slab->objects;
			EXPECT_LE(slab->objects * slab_size(slab), bytes);
		},
		&look);
	return look.found;
}

std::size_t charged(struct slab_cache *cache)
{
	return __atomic_load_n(&cache->account.used, __ATOMIC_RELAXED);
}

/* What statistics, accounts and slabs say is the same. */
void expect_exact(struct slab_cache *cache)
{
	const census found = census_of(cache);
	const struct slab_stats stats = stats_of(cache);

	EXPECT_EQ(found.bytes, charged(cache));
	EXPECT_EQ(found.bytes, stats.slab_bytes);
	EXPECT_EQ(found.objects, stats.total_objects);
}

class GrowthTest : public testing::Test
{
protected:
	/* Objects until the slabs have this number of bytes. */
	void grow_to(std::size_t bytes)
	{
		while (charged(cache_) < bytes) {
			objs_.push_back(slab_alloc(cache_));
			ASSERT_NE(objs_.back(), nullptr);
			fill(objs_.back(), object_size, objs_.size() - 1);
		}
	}

	void free_every(std::size_t nth)
	{
		for (std::size_t i = 0; i < objs_.size(); i += nth)
			free_one(i);
	}

	void free_one(std::size_t i)
	{
		if (!objs_[i])
			return;
		EXPECT_TRUE(intact(objs_[i], object_size, i));
		slab_free(cache_, objs_[i]);
		objs_[i] = nullptr;
	}

	void expect_intact()
	{
		for (std::size_t i = 0; i < objs_.size(); i++)
			ASSERT_TRUE(!objs_[i] || intact(objs_[i], object_size, i));
		EXPECT_EQ(slab_cache_validate(cache_), 0);
		EXPECT_EQ(stats_of(cache_).errors, 0u);
	}

	std::size_t small_bytes() const { return std::size_t{1} << cache_->small.shift; }

	std::size_t large_bytes() const { return std::size_t{1} << cache_->large.shift; }

	/* All pages may be so large that there is one size of slabs. */
	bool has_one_size() const { return cache_->small.shift == cache_->large.shift; }

	void TearDown() override
	{
		free_every(1);
		slab_cache_shrink(cache_);
		EXPECT_EQ(charged(cache_), 0u);
		EXPECT_EQ(census_of(cache_).bytes, 0u);
	}

	test_cache owner_{object_size};
	struct slab_cache *cache_ = owner_;
	std::vector<void *> objs_;
};

/* --- when ----------------------------------------------------------------------------- */

TEST_F(GrowthTest, SlabsAreSmallUpToTheThreshold)
{
	if (has_one_size())
		GTEST_SKIP() << "one size of slabs";
	EXPECT_EQ(stats_of(cache_).order, cache_->small.shift - 12);
	EXPECT_EQ(stats_of(cache_).objects_per_slab, cache_->small.objects);
	grow_to(cache_large_from(cache_));
	EXPECT_EQ(census_of(cache_).small, cache_large_from(cache_) / small_bytes());
	EXPECT_EQ(census_of(cache_).large, 0u);
	EXPECT_EQ(stats_of(cache_).order, cache_->large.shift - 12);
	EXPECT_EQ(stats_of(cache_).objects_per_slab, cache_->large.objects);
	grow_to(cache_large_from(cache_) + 10 * large_bytes());
	EXPECT_EQ(census_of(cache_).small, cache_large_from(cache_) / small_bytes());
	EXPECT_EQ(census_of(cache_).large, 10u);
	expect_exact(cache_);
	expect_intact();
}

TEST_F(GrowthTest, ACacheThatHasShrunkTakesSmallOnesAgain)
{
	if (has_one_size())
		GTEST_SKIP() << "one size of slabs";
	grow_to(cache_large_from(cache_) + 10 * large_bytes());
	free_every(1);
	objs_.clear();
	slab_cache_shrink(cache_);
	grow_to(small_bytes());
	EXPECT_EQ(charged(cache_), small_bytes());
	grow_to(cache_large_from(cache_));
	EXPECT_EQ(census_of(cache_).large, 0u);
	expect_exact(cache_);
}

TEST(Orders, SuitEverySize)
{
	for (std::size_t size = 8; size <= SLAB_MAX_OBJECT_SIZE; size += 8) {
		const unsigned small = slab_choose_small_shift(size),
			       large = slab_choose_large_shift(size);

		ASSERT_LE(small, large) << size;
		ASSERT_GE(std::size_t{1} << small, os_page_size()) << size;
		ASSERT_TRUE(small == large || (std::size_t{1} << small) / size >= 8) << size;
	}
}

/* --- limits --------------------------------------------------------------------------- */

TEST_F(GrowthTest, ALimitIsUsedUpByBothSizes)
{
	if (has_one_size())
		GTEST_SKIP() << "one size of slabs";
	const std::size_t limit = cache_large_from(cache_) + 2 * large_bytes() + 3 * small_bytes();

	ASSERT_EQ(slab_stat_write(cache_, "limit", limit), 0);
	objs_ = allocate_all(cache_);
	for (std::size_t i = 0; i < objs_.size(); i++)
		fill(objs_[i], object_size, i);
	EXPECT_EQ(charged(cache_), limit);
	EXPECT_EQ(census_of(cache_).large, 2u);
	EXPECT_EQ(objs_.size(),
		  (cache_large_from(cache_) / small_bytes() + 3) * cache_->small.objects +
			  2 * cache_->large.objects);
	expect_exact(cache_);
	expect_intact();
}

TEST_F(GrowthTest, ALimitMayBeOneSmallSlab)
{
	EXPECT_EQ(slab_stat_write(cache_, "limit", small_bytes() - 1), -ERANGE);
	ASSERT_EQ(slab_stat_write(cache_, "limit", small_bytes()), 0);
	objs_ = allocate_all(cache_);
	for (std::size_t i = 0; i < objs_.size(); i++)
		fill(objs_[i], object_size, i);
	EXPECT_EQ(objs_.size(), cache_->small.objects);
	EXPECT_EQ(charged(cache_), small_bytes());
}

TEST_F(GrowthTest, TheProcessIsChargedEachSlabsOwnBytes)
{
	const std::size_t before = used_bytes();

	grow_to(cache_large_from(cache_) + 5 * large_bytes());
	EXPECT_EQ(used_bytes() - before, charged(cache_));
	free_every(1);
	slab_cache_shrink(cache_);
	EXPECT_EQ(used_bytes(), before);
}

/* Debugging that is switched on at a limit does not make every allocation fail. */
TEST_F(GrowthTest, ADebugSlabIsSmallWhereALargeOneExceedsTheLimit)
{
	if (has_one_size())
		GTEST_SKIP() << "one size of slabs";
	ASSERT_EQ(slab_stat_write(cache_, "limit", large_bytes()), 0);
	grow_to(small_bytes());
	ASSERT_EQ(slab_cache_debug(cache_, debug_flags), 0);
	grow_to(large_bytes());
	EXPECT_EQ(stats_of(cache_).debug_slabs, large_bytes() / small_bytes() - 1);
	expect_exact(cache_);
	expect_intact();
}

/* At the process's limit, too, and nothing is lost when the page layer has no memory. */
TEST_F(GrowthTest, ASmallSlabIsTakenWhereALargeOneExceedsTheLimitOfTheProcess)
{
	if (has_one_size())
		GTEST_SKIP() << "one size of slabs";
	grow_to(cache_large_from(cache_));
	{
		const process_limit limit(small_bytes());

		while (void *obj = slab_alloc(cache_)) {
			objs_.push_back(obj);
			fill(obj, object_size, objs_.size() - 1);
		}
		EXPECT_EQ(charged(cache_), cache_large_from(cache_) + small_bytes());
	}
	const std::size_t slabs = charged(cache_);
	{
		const failing fails("times=-1");

		while (void *obj = slab_alloc(cache_)) {
			objs_.push_back(obj);
			fill(obj, object_size, objs_.size() - 1);
		}
	}
	EXPECT_EQ(charged(cache_), slabs);
	expect_exact(cache_);
}

/* --- both sizes in one cache ---------------------------------------------------------- */

TEST_F(GrowthTest, ShrinkingKeepsObjects)
{
	grow_to(cache_large_from(cache_) + 10 * large_bytes());
	for (std::size_t i = 0; i < objs_.size(); i++)
		if (i % 100 < i * 7919 / 100 % 100)
			free_one(i);
	slab_cache_shrink(cache_);
	expect_exact(cache_);
	expect_intact();
}

TEST_F(GrowthTest, DebuggingIsSwitchedOnAndOff)
{
	grow_to(cache_large_from(cache_) + 4 * large_bytes());
	free_every(3);
	ASSERT_EQ(slab_cache_debug(cache_, debug_flags), 0);
	EXPECT_EQ(stats_of(cache_).legacy_slabs, stats_of(cache_).slabs);
	free_every(5);
	grow_to(charged(cache_) + 2 * large_bytes());
	EXPECT_GT(stats_of(cache_).debug_slabs, 0u);
	expect_exact(cache_);
	expect_intact();
	ASSERT_EQ(slab_cache_debug(cache_, 0), 0);
	free_every(7);
	grow_to(charged(cache_) + 2 * large_bytes());
	expect_exact(cache_);
	expect_intact();
}

TEST_F(GrowthTest, TheChildOfAForkHasBoth)
{
	grow_to(cache_large_from(cache_) + 4 * large_bytes());
	free_every(2);
	EXPECT_IN_CHILD([&] {
		grow_to(charged(cache_) + 2 * large_bytes());
		if (slab_cache_validate(cache_) || census_of(cache_).bytes != charged(cache_))
			return 1;
		free_every(1);
		return slab_cache_destroy(cache_) ? 2 : 0;
	});
	expect_intact();
}

TEST_F(GrowthTest, CpusGiveBackBoth)
{
	grow_to(cache_large_from(cache_) + 4 * large_bytes());
	free_every(2);
	cache_drain(cache_, nullptr, nullptr);
	expect_exact(cache_);
	EXPECT_EQ(stats_of(cache_).cpu_objects, 0u);
	expect_intact();
}

TEST(Growth, ObjectsMoveToFewSlabsOfBothSizes)
{
	directory dir(20000);
	test_cache twin(entry_size);
	struct slab_cache *cache = dir.cache();

	cache->small = static_cast<struct slab_cache *>(twin)->small;
	const std::size_t left = dir.thin_out(7);

	EXPECT_GE(slab_cache_defrag(cache), 0);
	const census found = census_of(cache);

	EXPECT_LE(found.objects, left + left / 8 + 2 * cache->large.objects);
	expect_exact(cache);
	EXPECT_EQ(slab_cache_validate(cache), 0);
}

} /* namespace */
