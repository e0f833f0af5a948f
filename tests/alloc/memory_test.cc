/* SPDX-License-Identifier: MIT */
/*
 * When memory is short, and what memory is kept. Out of memory is NULL and
 * ENOMEM with every earlier object intact; it is brought about by a limit on the
 * address space and by fault injection, each in a process of its own.
 */
#include "../support/process.h"
#include "../support/reports.h"
#include "../support/shards.h"
#include "../support/units.h"

namespace
{

constexpr std::size_t object_size = 512;

/* Let the process grow by `more` bytes of address space and no further. */
void limit_address_space(std::size_t more)
{
	struct rlimit limit;

	ASSERT_EQ(getrlimit(RLIMIT_AS, &limit), 0);
	limit.rlim_cur = address_space() + more;
	ASSERT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
}

/* Sanitizers reserve address space of their own when they like. */
bool address_space_can_be_limited()
{
	return !under_asan && !under_tsan;
}

/* Allocate stamped objects until there is no more memory. The array has its
 * room beforehand, so that only the library runs out. */
void allocate_all(struct slab_cache *cache, std::vector<void *> &objs)
{
	errno = 0;
	while (objs.size() < objs.capacity()) {
		void *obj = slab_alloc(cache);

		if (!obj)
			return;
		fill(obj, object_size, objs.size());
		objs.push_back(obj);
	}
	FAIL() << "memory never ran out";
}

bool all_intact(const std::vector<void *> &objs)
{
	for (std::size_t i = 0; i < objs.size(); i++)
		if (!intact(objs[i], object_size, i))
			return false;
	return true;
}

/* Run the current test again, in a process of its own. */
void expect_again(const std::vector<std::string> &settings = {})
{
	const second_run run = run_again(settings);

	EXPECT_EQ(run.failure, "") << run.output;
}

/* Is this the second run, which may limit its address space? The first run starts it. */
bool runs_with_limit()
{
	if (running_again())
		return true;
	if (address_space_can_be_limited())
		expect_again();
	else
		[] { GTEST_SKIP() << "the sanitizer needs the address space"; }();
	return false;
}

/* Trimming returned their memory; their addresses are what a mapping lacks. */
TEST(MemoryTest, FreeSegmentsAreUnmappedForALargeAllocation)
{
	constexpr std::size_t large = 16 * mib;

	if (!runs_with_limit())
		return;
	{
		test_cache cache(4096);

		free_many(cache, alloc_many(cache, 4 * large / 4096));
	}
	slab_trim();
	limit_address_space(mib);

	void *ptr = slab_malloc(large);

	EXPECT_NE(ptr, nullptr);
	slab_mfree(ptr);
}

TEST(MemoryTest, OutOfMemoryIsNullAndEnomem)
{
	if (!runs_with_limit())
		return;
	test_cache cache(object_size);
	std::vector<void *> objs;

	objs.reserve(1000000);
	limit_address_space(64 * mib);
	for (int round = 0; round < 3; round++) {
		allocate_all(cache, objs);
		EXPECT_EQ(errno, ENOMEM);
		EXPECT_GT(objs.size(), 1000u);
		EXPECT_TRUE(all_intact(objs));
		EXPECT_EQ(stats_of(cache).objects, objs.size());
		free_many(cache, objs);
		objs.clear();
		EXPECT_EQ(stats_of(cache).objects, 0u);
	}
	EXPECT_EQ(slab_cache_validate(cache), 0);
}

TEST(MemoryTest, OutOfMemoryStaysNullUntilSomethingIsFreed)
{
	if (!runs_with_limit())
		return;
	test_cache cache(object_size);
	std::vector<void *> objs;

	objs.reserve(1000000);
	pin(0);
	limit_address_space(32 * mib);
	allocate_all(cache, objs);
	for (int i = 0; i < 100; i++)
		EXPECT_EQ(slab_alloc(cache), nullptr);
	slab_free(cache, objs.back());
	void *obj = slab_alloc(cache);
	EXPECT_EQ(obj, objs.back());
	slab_free(cache, obj);
	objs.pop_back();
	EXPECT_TRUE(all_intact(objs));
	free_many(cache, objs);
}

TEST(MemoryTest, BulkDeliversWhatThereIs)
{
	if (!runs_with_limit())
		return;
	test_cache cache(object_size);
	std::vector<void *> objs(1000000);

	limit_address_space(32 * mib);
	const std::size_t n = slab_alloc_bulk(cache, SLAB_ALLOC_FULL, objs.size(), objs.data());
	EXPECT_GT(n, 1000u);
	EXPECT_LT(n, objs.size());
	EXPECT_EQ(stats_of(cache).objects, n);
	slab_free_bulk(cache, n, objs.data());
	EXPECT_EQ(stats_of(cache).objects, 0u);
}

TEST(MemoryTest, CreationWithoutMemoryIsEnomem)
{
	if (!runs_with_limit())
		return;
	test_cache cache(object_size);
	std::vector<struct slab_cache *> caches;

	/* Objects of this cache shall have address space afterwards. */
	free_many(cache, alloc_many(cache, 10));
	caches.reserve(1000000);
	limit_address_space(8 * mib);
	for (int i = 0; i < 1000000; i++) {
		const std::string name = "c" + std::to_string(i);
		struct slab_cache *more = slab_cache_create(name.c_str(), 64, nullptr, 0);

		if (!more)
			break;
		caches.push_back(more);
	}
	EXPECT_EQ(errno, ENOMEM);
	for (struct slab_cache *more : caches)
		EXPECT_EQ(slab_cache_destroy(more), 0);
	free_many(cache, alloc_many(cache, 10));
}

TEST(MemoryTest, MallocWithoutMemoryIsEnomem)
{
	if (!runs_with_limit())
		return;
	std::vector<void *> all;
	void *kept = slab_malloc(1000);

	all.reserve(1000000);
	fill(kept, 1000, 1);
	limit_address_space(64 * mib);
	for (std::size_t size : {100000ul, 3000ul, 2 * mib}) {
		errno = 0;
		while (all.size() < all.capacity()) {
			void *memory = slab_malloc(size);

			if (!memory)
				break;
			all.push_back(memory);
		}
		EXPECT_EQ(errno, ENOMEM) << size;
		EXPECT_LT(all.size(), all.capacity());
	}
	EXPECT_EQ(slab_realloc(kept, 64 * mib), nullptr);
	EXPECT_TRUE(intact(kept, 1000, 1));
	for (void *memory : all)
		slab_mfree(memory);
	void *again = slab_malloc(100000);
	EXPECT_NE(again, nullptr);
	slab_mfree(again);
	slab_mfree(kept);
}

/* Fault injection: every third allocation of pages fails. */

TEST(MemoryTest, InjectedFailuresAreEnomemAndPass)
{
	if (!running_again())
		return expect_again({"SLAB_FAIL=interval=3,probability=100"});
	test_cache cache(object_size);
	std::vector<void *> objs;
	std::size_t failures = 0;

	objs.reserve(20000);
	while (objs.size() < 20000) {
		errno = 0;
		void *obj = slab_alloc(cache);

		if (!obj) {
			EXPECT_EQ(errno, ENOMEM);
			ASSERT_LT(++failures, 20000u);
			continue;
		}
		fill(obj, object_size, objs.size());
		objs.push_back(obj);
	}
	EXPECT_GT(failures, 0u);
	EXPECT_TRUE(all_intact(objs));
	EXPECT_EQ(stats_of(cache).objects, objs.size());
	free_many(cache, objs);
	EXPECT_EQ(slab_cache_validate(cache), 0);
}

TEST(MemoryTest, InjectedFailuresEndWithTheirNumber)
{
	if (!running_again())
		return expect_again({"SLAB_FAIL=times=3"});
	struct slab_cache *cache;
	unsigned failures = 0;

	/* Whatever fails first, creation or allocation, three fail in all. */
	while (!(cache = slab_cache_create("times", object_size, nullptr, 0)))
		ASSERT_LE(++failures, 3u);
	for (int i = 0; i < 5000; i++) {
		void *obj = slab_alloc(cache);

		failures += obj ? 0 : 1;
	}
	EXPECT_LE(failures, 3u);
	EXPECT_GT(failures, 0u);
}

/* What is kept */

TEST(MemoryTest, IdleThreadsKeepNoMemory)
{
	if (under_asan || under_tsan)
		GTEST_SKIP() << "the sanitizer keeps memory for each thread";
	test_cache cache(object_size);
	constexpr std::size_t per_thread = 200;
	const auto round = [&] {
		for (int i = 0; i < 64; i++)
			std::thread([&] {
				free_many(cache, alloc_many(cache, per_thread));
			}).join();
	};

	/* What the CPUs keep is there after the first round; threads add nothing. */
	round();
	const std::uint64_t slabs = stats_of(cache).slabs;
	round();
	EXPECT_LE(stats_of(cache).slabs, slabs + 4 * allowed_cpus().size());
	EXPECT_EQ(stats_of(cache).objects, 0u);
}

TEST(MemoryTest, NothingIsKeptAfterShrink)
{
	test_cache cache(object_size);
	const struct slab_process_stats before = process_stats();

	for (int round = 0; round < 20; round++) {
		free_many(cache, alloc_many(cache, 20000));
		EXPECT_GT(slab_cache_shrink(cache), 0);
	}
	EXPECT_EQ(process_stats().slab_bytes, before.slab_bytes);
	EXPECT_LE(process_stats().segments, before.segments + 4);
}

TEST(MemoryTest, AddressSpaceOfDestroyedCachesIsUsedAgain)
{
	const std::uint64_t segments = process_stats().segments;

	for (int round = 0; round < 50; round++) {
		test_cache cache(object_size);

		free_many(cache, alloc_many(cache, 8000));
	}
	EXPECT_LE(process_stats().segments, segments + 4);
}

TEST(MemoryTest, MemoryIsOnlyTouchedWhenUsed)
{
	test_cache cache(object_size);
	const std::size_t before = resident_memory();
	void *obj = slab_alloc(cache);

	EXPECT_LE(populated_bytes(cache), 256u << 10);
	if (!under_asan && !under_tsan) {
		EXPECT_LE(resident_memory(), before + mib);
	}
	slab_free(cache, obj);
}

} /* namespace */
