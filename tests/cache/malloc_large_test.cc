/* SPDX-License-Identifier: MIT */
/*
 * Large memory by size: it keeps its content, its pages are used again or go back to
 * the operating system, and so do those behind what has become smaller.
 */
#include "../support/limits.h"
#include "../support/process.h"
#include "../support/reports.h"
#include "../support/units.h"

namespace
{

/* Free memory holds no pages, or such as are shown as cached. */
void expect_given_back(const void *memory, std::size_t size)
{
	EXPECT_LE(resident_bytes(memory, size), process_stats().cached_bytes);
}

class LargeSizes : public testing::TestWithParam<std::size_t>
{
};

TEST_P(LargeSizes, GoBackToTheSystem)
{
	const std::size_t size = GetParam();
	auto *memory = static_cast<unsigned char *>(slab_malloc(size));

	ASSERT_NE(memory, nullptr);
	std::memset(memory, 0x5c, size);
	EXPECT_GE(resident_bytes(memory, size), size);
	EXPECT_GE(process_stats().large_bytes, size);
	slab_mfree(memory);
	EXPECT_EQ(process_stats().large_bytes, 0u);
	expect_given_back(memory, size);
}

TEST_P(LargeSizes, KeepTheirContentWhenReallocated)
{
	const std::size_t size = GetParam();
	void *memory = slab_malloc(size);

	fill(memory, size, size);
	memory = slab_realloc(memory, size + size / 2);
	ASSERT_NE(memory, nullptr);
	EXPECT_TRUE(intact(memory, size, size));
	memory = slab_realloc(memory, size / 2);
	ASSERT_NE(memory, nullptr);
	EXPECT_TRUE(intact(memory, size / 2, size));
	slab_mfree(memory);
	EXPECT_EQ(process_stats().large_bytes, 0u);
}

TEST_P(LargeSizes, GiveBackWhatShrinkingLeavesOver)
{
	const std::size_t size = GetParam();
	auto *memory = static_cast<unsigned char *>(slab_malloc(size));

	std::memset(memory, 0x5c, size);
	auto *smaller = static_cast<unsigned char *>(slab_realloc(memory, size / 4));
	ASSERT_NE(smaller, nullptr);
	/* In place or moved: behind the new size nothing may stay resident. */
	const std::size_t behind = (size / 4 + 4095) & ~std::size_t{4095};
	const std::size_t kept = smaller == memory ? behind : 0;
	expect_given_back(memory + kept, size - kept);
	slab_mfree(smaller);
}

INSTANTIATE_TEST_SUITE_P(Bytes, LargeSizes,
			 testing::Values(100u << 10, 1536u << 10, 20u << 20,
					 under_tsan ? 40u << 20 : 300u << 20),
			 testing::PrintToStringParamName());

/* Each in a process of its own: large allocations that were freed before matter. */
class GrowingAllocation : public testing::Test
{
protected:
	void SetUp() override
	{
		if (running_again())
			return;
		const second_run run = run_again({"SLAB_DECAY_MS=10000"});

		EXPECT_EQ(run.failure, "") << run.output;
		GTEST_SKIP() << "it ran in the other process";
	}
};

/* Slabs double, and each step to a larger one is a copy. */
TEST_F(GrowingAllocation, HasAMappingOfItsOwnFrom2MiBOn)
{
	const std::size_t from = 100000, to = 3U << 20;
	void *grown = slab_malloc(from), *plain = slab_malloc(to);

	fill(grown, from, 1);
	grown = slab_realloc(grown, to);
	ASSERT_NE(grown, nullptr);
	EXPECT_FALSE(large_is_slab(slab_of(grown)));
	EXPECT_TRUE(large_is_slab(slab_of(plain)));
	EXPECT_TRUE(intact(grown, from, 1));
	slab_mfree(slab_realloc(grown,
				9 * mib)); /* larger than any slab: the next one is mapped, too */
	slab_mfree(plain);
}

/* Buffers that grow to the same size again and again, in a process of their own. */
TEST_F(GrowingAllocation, TakesASlabOnceItsLikeWasFreedBelow8MiB)
{
	EXPECT_IN_CHILD([] {
		const std::size_t to = 7 * mib;
		bool mapped[2];

		for (bool &is_mapped : mapped) {
			void *grown = slab_realloc(slab_malloc(mib), to);

			is_mapped = !large_is_slab(slab_of(grown));
			slab_mfree(grown);
		}
		return mapped[0] && !mapped[1] ? 0 : 1;
	});
}

/* Its mapping would count two pages more, for the head. */
TEST_F(GrowingAllocation, GetsASlabWhereTheLimitAllowsNoMapping)
{
	const std::size_t from = 2 * mib, to = 3 * mib;
	unsigned hits = 0;
	void *grown = slab_malloc(from);

	slab_set_limit_handler([](struct slab_cache *, std::size_t, const char *,
				  void *arg) { ++*static_cast<unsigned *>(arg); },
			       &hits);
	{
		const process_limit limit(to);

		errno = 0;
		grown = slab_realloc(grown, to);
		EXPECT_EQ(errno, 0);
	}
	slab_set_limit_handler(nullptr, nullptr);
	ASSERT_NE(grown, nullptr);
	EXPECT_TRUE(large_is_slab(slab_of(grown)));
	EXPECT_EQ(hits, 0u);
	slab_mfree(grown);
}

/* The program hears of it once. */
TEST_F(GrowingAllocation, ThatFailsAtTheLimitIsOneFailure)
{
	unsigned hits = 0;
	void *memory = slab_malloc(2 * mib);

	slab_set_limit_handler([](struct slab_cache *, std::size_t, const char *,
				  void *arg) { ++*static_cast<unsigned *>(arg); },
			       &hits);
	{
		const process_limit limit(mib);

		EXPECT_EQ(slab_realloc(memory, 3 * mib), nullptr);
		EXPECT_EQ(errno, ENOMEM);
	}
	slab_set_limit_handler(nullptr, nullptr);
	EXPECT_EQ(hits, 1u);
	slab_mfree(memory);
}

void use_once(std::size_t size)
{
	void *memory = slab_malloc(size);

	ASSERT_NE(memory, nullptr);
	fill(memory, size, size);
	EXPECT_TRUE(intact(memory, size, size));
	slab_mfree(memory);
}

bool is_zero(const void *memory, std::size_t size)
{
	const auto *bytes = static_cast<const unsigned char *>(memory);

	return bytes[0] == 0 && std::memcmp(bytes, bytes + 1, size - 1) == 0;
}

TEST(CallocTest, AFreshMappingTakesTheMemoryThatIsTouched)
{
	constexpr std::size_t size = 1024 * mib;
	auto *memory = static_cast<volatile unsigned char *>(slab_calloc(1, size));

	ASSERT_NE(memory, nullptr);
	EXPECT_EQ(memory[size / 2], 0);
	EXPECT_LT(resident_bytes(const_cast<unsigned char *>(memory), size), mib);
	slab_mfree(const_cast<unsigned char *>(memory));
}

TEST_P(LargeSizes, AreZeroInUsedMemory)
{
	const std::size_t size = GetParam();
	void *memory = slab_malloc(size);

	std::memset(memory, 0x5c, size);
	slab_mfree(memory);
	memory = slab_calloc(1, size);
	ASSERT_NE(memory, nullptr);
	EXPECT_TRUE(is_zero(memory, size));
	slab_mfree(memory);
}

/* A shorter object was there before, and behind it, a longer one. */
TEST(CallocTest, IsZeroBehindWhatAShorterObjectUsed)
{
	constexpr std::size_t all = 2 * mib, some = all / 2 + 4096;

	for (unsigned round = 0; round < 40; round++) {
		void *memory = slab_malloc(round % 2 ? all : some);

		std::memset(memory, 0x5c, round % 2 ? all : some);
		memory = slab_realloc(memory, round % 3 ? some : all);
		std::memset(memory, 0x5c, round % 3 ? some : all);
		slab_mfree(memory);
		memory = slab_calloc(1, all);
		ASSERT_TRUE(is_zero(memory, all));
		slab_mfree(memory);
	}
}

/* Tails that went back to the system while their slabs were in use, and others. */
TEST(CallocTest, IsZeroInSlabsWithoutTheirTails)
{
	constexpr std::size_t all = 2 * mib, some = all / 2 + 4096;
	std::vector<void *> many(20);

	for (void *&memory : many) {
		memory = slab_malloc(all);
		std::memset(memory, 0x5c, all);
	}
	for (void *&memory : many)
		memory = slab_realloc(memory, some);
	for (void *memory : many)
		slab_mfree(memory);
	for (void *&memory : many) {
		memory = slab_calloc(1, all);
		EXPECT_TRUE(is_zero(memory, all));
	}
	for (void *memory : many)
		slab_mfree(memory);
}

/* Smaller objects had the slabs before: most were free while pages without objects went back
 * to the system, and were in use again afterwards. */
TEST(CallocTest, IsZeroInSlabsThatLostPagesToTheSystem)
{
	constexpr std::size_t small = SLAB_MALLOC_MAX_CACHED;
	std::vector<void *> objs(256), many(20);

	for (void *&obj : objs)
		obj = slab_malloc(small);
	struct slab *slab = slab_of(objs[0]);
	const std::size_t all = slab_bytes(slab);
	struct slab_cache *cache = slab_user(slab);

	const auto stays = [&](void *obj) { return obj == slab_of(obj)->base; };
	for (void *obj : objs)
		if (!stays(obj))
			slab_mfree(obj);
	cache_shrink(cache);
	slab_trim();
	for (void *&obj : objs)
		if (!stays(obj))
			obj = slab_malloc(small);
	for (void *obj : objs) {
		std::memset(obj, 0x5c, small);
		slab_mfree(obj);
	}
	cache_shrink(cache);
	for (void *&memory : many) {
		memory = slab_calloc(1, all);
		EXPECT_TRUE(is_zero(memory, all));
	}
	for (void *memory : many)
		slab_mfree(memory);
}

/* A directory's largest values come and go without a page fault each. */
TEST(MallocTest, ALargeOneIsReusedWithItsPages)
{
	constexpr std::size_t size = 1500000;
	struct rusage before, after;

	use_once(size);
	getrusage(RUSAGE_SELF, &before);
	for (unsigned i = 0; i < 100; i++)
		use_once(size);
	getrusage(RUSAGE_SELF, &after);
	EXPECT_LT(after.ru_minflt - before.ru_minflt, static_cast<long>(size / 4096));
}

/* Of any sizes: as many faults as one such allocation takes at first. */
TEST(MallocTest, LargeOnesThatVaryAreReusedWithTheirPages)
{
	constexpr std::size_t most = 1900 << 10;
	struct rusage before, after;
	std::mt19937 random(1);

	use_once(most);
	getrusage(RUSAGE_SELF, &before);
	for (unsigned i = 0; i < 100; i++)
		use_once((1100 << 10) + random() % (800 << 10));
	getrusage(RUSAGE_SELF, &after);
	EXPECT_LT(after.ru_minflt - before.ru_minflt, static_cast<long>(most / 4096));
}

/* Copying costs more than what a mapping has too much. */
TEST(MallocTest, AMappingStaysOneWhileHalfOfItIsUsed)
{
	void *memory = slab_malloc(12 * mib), *same;

	fill(memory, 12 * mib, 3);
	same = slab_realloc(memory, 6800000);
	EXPECT_EQ(same, memory);
	EXPECT_TRUE(intact(same, 6800000 & ~7, 3));
	/* The head with its tables, and two pages: the descriptor's, and the rest of the last
	 * one. */
	EXPECT_LE(process_stats().large_bytes,
		  6800000 + SEGMENT_HEAD_END - SEGMENT_HEAD_OFFSET + 2 * os_page_size());
	same = slab_realloc(same, 7600000);
	EXPECT_EQ(same, memory);
	fill(same, 7600000, 4);
	same = slab_realloc(same, 3200000);
	EXPECT_NE(same, memory);
	EXPECT_TRUE(intact(same, 3200000, 4));
	EXPECT_EQ(process_stats().large_bytes, os_pages(3200000));
	slab_mfree(same);
	EXPECT_EQ(process_stats().large_bytes, 0u);
}

TEST(MallocTest, ManyLargeOnesAreReused)
{
	const std::size_t before = resident_memory();

	for (int round = 0; round < 50; round++) {
		std::vector<void *> all;

		for (std::size_t i = 0; i < 50; i++) {
			const std::size_t size = 40000 + i * 10000;

			all.push_back(slab_malloc(size));
			ASSERT_NE(all.back(), nullptr);
			fill(all[i], 4096, i);
		}
		shuffle(all, static_cast<unsigned>(round));
		for (void *memory : all)
			slab_mfree(memory);
	}
	EXPECT_EQ(process_stats().large_bytes, 0u);
	/* 14 MiB at a time, in slabs of up to twice their size. */
	if (!under_asan && !under_tsan) {
		EXPECT_LT(resident_memory(), before + 32 * mib);
	}
}

/* Each has a mapping of its own, and something behind it: growing moves it. */
TEST(LargeTest, MemoryThatMovedIsStillKnown)
{
	char *grows = static_cast<char *>(slab_malloc(20 * mib));

	for (std::size_t size = 40 * mib; size <= 160 * mib; size *= 2) {
		void *behind = slab_malloc(20 * mib);

		grows = static_cast<char *>(slab_realloc(grows, size));
		ASSERT_NE(grows, nullptr);
		EXPECT_TRUE(slab_owns(grows)) << size;
		EXPECT_TRUE(slab_owns(grows + size - 1)) << size;
		slab_mfree(behind);
	}
	EXPECT_TRUE(slab_free_any(grows));
	EXPECT_FALSE(slab_owns(grows));
}

} /* namespace */
