/* SPDX-License-Identifier: MIT */
/*
 * A test of debug flags that change: objects that are allocated from time to time,
 * each with its own content, and that nothing is reported.
 */
#pragma once

#include "debugging.h"

constexpr std::size_t object_size = 96;

class SwitchTest : public DebugTest
{
protected:
	/* Nothing is reported in these tests unless they expect it. */
	void TearDown() override
	{
		EXPECT_EQ(reports_.count(), expected_reports_) << reports_.text();
	}

	/* More objects, each with its own content. */
	void allocate(struct slab_cache *cache, std::size_t n)
	{
		for (; n; n--) {
			void *obj = slab_alloc(cache);

			ASSERT_NE(obj, nullptr);
			fill(obj, slab_cache_size(cache), objs_.size());
			objs_.push_back(obj);
		}
	}

	void expect_intact(struct slab_cache *cache)
	{
		EXPECT_TRUE(all_distinct(objs_));
		for (std::size_t i = 0; i < objs_.size(); i++)
			ASSERT_TRUE(intact(objs_[i], slab_cache_size(cache), i)) << i;
		EXPECT_EQ(stats_of(cache).objects, objs_.size());
		EXPECT_EQ(slab_cache_validate(cache), 0);
	}

	/* In no order. */
	void free_all(struct slab_cache *cache)
	{
		shuffle(objs_, static_cast<unsigned>(objs_.size()));
		free_many(cache, objs_);
		objs_.clear();
		EXPECT_EQ(stats_of(cache).objects, 0u);
	}

	static void set(struct slab_cache *cache, std::uint64_t to)
	{
		ASSERT_EQ(slab_cache_debug(cache, to), 0);
		EXPECT_EQ(stats_of(cache).flags & SLAB_DEBUG_FLAGS, to);
	}

	static bool is_debug(void *obj, std::uint64_t layout)
	{
		const struct slab *slab = slab_of(obj);

		return slab->debug && slab->debug->debug_flags == layout;
	}

	std::vector<void *> objs_;
	unsigned expected_reports_ = 0;
};
