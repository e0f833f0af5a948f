/* SPDX-License-Identifier: MIT */
/* libslab's interface on malloc, which ldapd-malloc and directory-malloc have. */
extern "C" {
#include "malloc_side.h"
}

#include <slab/malloc.h>
#include <slab/memory.h>
#include <slab/slab.h>
#include <slab/stats.h>

#include <algorithm>
#include <cerrno>
#include <gtest/gtest.h>
#include <urcu/map/urcu-memb.h>
#include <urcu/urcu-memb.h>

const char malloc_side_freed_at_once[] = "at once";

namespace
{

class MallocSide : public ::testing::Test
{
protected:
	void SetUp() override { urcu_memb_register_thread(); }

	void TearDown() override { urcu_memb_unregister_thread(); }

	slab_cache *make(const char *name, uint64_t flags)
	{
		slab_cache_args args = {};

		args.ctor = [](void *, void *arg) {
			auto *test = static_cast<MallocSide *>(arg);

			test->constructed_++;
			return test->constructor_result_;
		};
		args.dtor = [](void *, void *arg) {
			static_cast<MallocSide *>(arg)->destructed_++;
		};
		args.arg = this;
		args.rcu = &urcu_memb_flavor;
		return slab_cache_create(name, 100, &args, flags);
	}

	int constructed_ = 0, destructed_ = 0, constructor_result_ = 0;
};

TEST_F(MallocSide, EachAllocationConstructsAndEachFreeDestructs)
{
	slab_cache *cache = make("plain", 0);

	for (int i = 1; i <= 3; i++) {
		slab_free(cache, slab_alloc(cache));
		EXPECT_EQ(constructed_, i);
		EXPECT_EQ(destructed_, i);
	}
	EXPECT_EQ(slab_cache_destroy(cache), 0);
}

TEST_F(MallocSide, AllocationFailsWithItsConstructor)
{
	constructor_result_ = -1;
	for (uint64_t flags : {UINT64_C(0), (uint64_t)SLAB_TYPESAFE_BY_RCU}) {
		slab_cache *cache = make("plain", flags);

		EXPECT_EQ(slab_alloc(cache), nullptr);
		EXPECT_EQ(slab_cache_destroy(cache), 0);
	}
	EXPECT_EQ(destructed_, 0);
}

/* But not that of the cache that is freed at once. */
TEST_F(MallocSide, ReaderKeepsTheObjectOfATypesafeCache)
{
	for (const char *name : {"typesafe", malloc_side_freed_at_once}) {
		slab_cache *cache = make(name, SLAB_TYPESAFE_BY_RCU);
		void *object = slab_alloc(cache);

		destructed_ = 0;
		urcu_memb_read_lock();
		slab_free(cache, object);
		EXPECT_EQ(destructed_, name == malloc_side_freed_at_once);
		urcu_memb_read_unlock();
		EXPECT_EQ(slab_cache_destroy(cache), 0);
		EXPECT_EQ(destructed_, 1);
	}
}

TEST_F(MallocSide, ObjectsOfAZeroedCacheAreZeroAgain)
{
	slab_cache *cache = slab_cache_create("zero", 100, nullptr, SLAB_ZERO);

	for (int i = 0; i < 2; i++) {
		auto *object = static_cast<char *>(slab_alloc(cache));

		EXPECT_TRUE(std::all_of(object, object + 100, [](char byte) { return byte == 0; }));
		std::fill(object, object + 100, 'x');
		slab_free(cache, object);
	}
	EXPECT_EQ(slab_cache_destroy(cache), 0);
}

TEST_F(MallocSide, ThereAreNoLimitsAndNoStatistics)
{
	struct slab_process_stats stats = {};

	stats.struct_size = sizeof(stats);
	EXPECT_EQ(slab_set_limit(1 << 20), -ENOTSUP);
	EXPECT_EQ(slab_limit(), 0u);
	EXPECT_EQ(slab_process_stats(&stats), 0);
	EXPECT_STREQ(stats.engine, "malloc");
	EXPECT_EQ(stats.slab_bytes, 0u);
	EXPECT_EQ(slab_stat_name(0), nullptr);
}

} // namespace
