/* SPDX-License-Identifier: MIT */
/*
 * Memory by size, as <slab/malloc.h> promises it: sizes and alignments, realloc,
 * zeroing, large memory that goes back to the operating system, and the family
 * of functions that never fails.
 */
#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <sys/prctl.h>
#include <sys/resource.h>

#include <gtest/gtest.h>

#include <slab/malloc.h>
#include <slab/stats.h>

#include "../support/objects.h"
#include "../support/process.h"
#include "../support/reports.h"

using namespace slab_test;

namespace
{

constexpr std::size_t mib = 1 << 20;
constexpr std::size_t no_size = static_cast<std::size_t>(-1);

/* Hides a size from the compiler, which warns of sizes that cannot be had. */
std::size_t opaque(std::size_t size)
{
	volatile std::size_t hidden = size;

	return hidden;
}

/* Takes what the death tests never get to see. */
void discard(const void *) {}

/* Sizes around every boundary that matters: classes, pages, the largest class. */
std::vector<std::size_t> interesting_sizes()
{
	std::vector<std::size_t> sizes;

	for (std::size_t size = 0; size <= 40000; size += size < 2048 ? 1 : 61)
		sizes.push_back(size);
	for (std::size_t size : {4095u, 4096u, 4097u, 32767u, 32768u, 32769u, 65536u, 100000u})
		sizes.push_back(size);
	return sizes;
}

TEST(MallocTest, EverySizeIsUsableAndAlignedTo16)
{
	for (std::size_t size : interesting_sizes()) {
		void *memory = slab_malloc(size);

		ASSERT_NE(memory, nullptr) << size;
		EXPECT_TRUE(aligned(memory, 16)) << size;
		EXPECT_GE(slab_usable_size(memory), size);
		fill(memory, slab_usable_size(memory), size);
		EXPECT_TRUE(intact(memory, slab_usable_size(memory), size));
		slab_mfree(memory);
	}
}

TEST(MallocTest, MemoryOfAllSizesAtOnceDoesNotOverlap)
{
	const std::vector<std::size_t> sizes = interesting_sizes();
	std::vector<void *> all;

	for (std::size_t i = 0; i < sizes.size(); i++) {
		all.push_back(slab_malloc(sizes[i]));
		fill(all[i], sizes[i], i);
	}
	EXPECT_TRUE(all_distinct(all));
	for (std::size_t i = 0; i < sizes.size(); i++) {
		EXPECT_TRUE(intact(all[i], sizes[i], i)) << sizes[i];
		slab_mfree(all[i]);
	}
}

TEST(MallocTest, ClassesAreSpacedByAnEighthAtMost)
{
	std::set<std::size_t> classes;

	for (std::size_t size = 1; size <= SLAB_MALLOC_MAX_CACHED; size += 8) {
		void *memory = slab_malloc(size);

		classes.insert(slab_usable_size(memory));
		slab_mfree(memory);
	}
	for (auto at = classes.begin(); std::next(at) != classes.end(); ++at)
		EXPECT_LE(*std::next(at) - *at, std::max<std::size_t>(16, *at / 8)) << *at;
	EXPECT_EQ(*classes.begin(), 16u);
	EXPECT_GE(*classes.rbegin(), SLAB_MALLOC_MAX_CACHED);
}

TEST(MallocTest, SizeZeroGivesUniquePointers)
{
	std::vector<void *> all;

	for (int i = 0; i < 100; i++)
		all.push_back(slab_malloc(0));
	EXPECT_TRUE(all_distinct(all));
	for (void *memory : all)
		slab_mfree(memory);
}

TEST(MallocTest, NullIsFreedAndHasNoSize)
{
	slab_mfree(nullptr);
	slab_free_sized(nullptr, 100);
	EXPECT_EQ(slab_usable_size(nullptr), 0u);
}

TEST(MallocTest, HugeSizesAreNoMemory)
{
	for (std::size_t size : {no_size, no_size - 4096, no_size / 2, std::size_t{1} << 47}) {
		errno = 0;
		EXPECT_EQ(slab_malloc(opaque(size)), nullptr) << size;
		EXPECT_EQ(errno, ENOMEM) << size;
	}
}

/* calloc */

TEST(MallocTest, CallocGivesZeros)
{
	for (std::size_t size : {1u, 16u, 100u, 712u, 4096u, 32768u, 100000u, 3000000u}) {
		for (int round = 0; round < 3; round++) {
			void *memory = slab_calloc(1, size);

			ASSERT_NE(memory, nullptr);
			EXPECT_TRUE(all_bytes(memory, size, 0)) << size;
			std::memset(memory, 0xee, slab_usable_size(memory));
			slab_mfree(memory);
		}
	}
}

TEST(MallocTest, CallocMultiplies)
{
	void *memory = slab_calloc(100, 33);

	ASSERT_NE(memory, nullptr);
	EXPECT_GE(slab_usable_size(memory), 3300u);
	EXPECT_TRUE(all_bytes(memory, 3300, 0));
	slab_mfree(memory);
}

TEST(MallocTest, CallocThatOverflowsIsNoMemory)
{
	errno = 0;
	EXPECT_EQ(slab_calloc(opaque(no_size / 2 + 2), 2), nullptr);
	EXPECT_EQ(errno, ENOMEM);
	errno = 0;
	EXPECT_EQ(slab_calloc(opaque(std::size_t{1} << 33), std::size_t{1} << 33), nullptr);
	EXPECT_EQ(errno, ENOMEM);
}

/* realloc */

TEST(MallocTest, ReallocKeepsTheContentBetweenAllSizes)
{
	const std::size_t sizes[] = {1,    8,     16,    17,    100,    128,     129,    1000,
				     4096, 32768, 32769, 65536, 100000, 2 * mib, 3000000};

	for (std::size_t from : sizes)
		for (std::size_t to : sizes) {
			void *memory = slab_malloc(from);

			fill(memory, from, from);
			memory = slab_realloc(memory, to);
			ASSERT_NE(memory, nullptr);
			EXPECT_GE(slab_usable_size(memory), to);
			EXPECT_TRUE(intact(memory, std::min(from, to) & ~std::size_t{7}, from))
				<< from << " to " << to;
			slab_mfree(memory);
		}
}

TEST(MallocTest, ReallocWithinTheClassStaysInPlace)
{
	for (std::size_t size : {10u, 100u, 1000u, 10000u, 100000u}) {
		void *memory = slab_malloc(size);
		void *same = slab_realloc(memory, slab_usable_size(memory));

		EXPECT_EQ(same, memory) << size;
		slab_mfree(same);
	}
}

TEST(MallocTest, ReallocOfNullAllocates)
{
	void *memory = slab_realloc(nullptr, 100);

	ASSERT_NE(memory, nullptr);
	fill(memory, 100, 1);
	slab_mfree(memory);
}

TEST(MallocTest, ReallocToZeroFrees)
{
	EXPECT_EQ(slab_realloc(slab_malloc(100), 0), nullptr);
	EXPECT_EQ(slab_realloc(slab_malloc(3 * mib), 0), nullptr);
}

TEST(MallocTest, ReallocThatFailsKeepsTheOldMemory)
{
	for (std::size_t size : {100ul, 100000ul, 3 * mib}) {
		void *memory = slab_malloc(size);

		fill(memory, size, 5);
		errno = 0;
		EXPECT_EQ(slab_realloc(memory, opaque(no_size / 2)), nullptr);
		EXPECT_EQ(errno, ENOMEM);
		EXPECT_TRUE(intact(memory, size, 5)) << size;
		slab_mfree(memory);
	}
}

TEST(MallocTest, AGrowingBufferKeepsItsContent)
{
	std::size_t size = 1;
	auto *buffer = static_cast<unsigned char *>(slab_malloc(size));

	while (size < 8 * mib) {
		const std::size_t more = size + size / 3 + 1;

		std::memset(buffer, static_cast<int>(size & 0xff), size);
		buffer = static_cast<unsigned char *>(slab_realloc(buffer, more));
		ASSERT_NE(buffer, nullptr);
		ASSERT_TRUE(all_bytes(buffer, size, size & 0xff)) << size;
		size = more;
	}
	slab_mfree(buffer);
}

/* memalign */

TEST(MallocTest, MemalignKeepsEveryAlignment)
{
	for (std::size_t align = 1; align <= 2 * mib; align *= 2)
		for (std::size_t size : {1ul, 100ul, 4096ul, 32768ul, 40000ul, 300000ul, 5 * mib}) {
			void *memory = slab_memalign(align, size);

			ASSERT_NE(memory, nullptr) << align << ' ' << size;
			EXPECT_TRUE(aligned(memory, align)) << align << ' ' << size;
			EXPECT_GE(slab_usable_size(memory), size);
			fill(memory, size, align);
			EXPECT_TRUE(intact(memory, size, align)) << align << ' ' << size;
			slab_mfree(memory);
		}
}

TEST(MallocTest, MemalignedMemoryDoesNotOverlap)
{
	std::vector<void *> all;

	for (std::size_t i = 0; i < 200; i++) {
		all.push_back(slab_memalign(std::size_t{1} << (i % 13), 200));
		fill(all[i], 200, i);
	}
	EXPECT_TRUE(all_distinct(all));
	for (std::size_t i = 0; i < all.size(); i++) {
		EXPECT_TRUE(intact(all[i], 200, i));
		slab_mfree(all[i]);
	}
}

TEST(MallocTest, MemalignRefusesOtherAlignments)
{
	for (std::size_t align : {0ul, 3ul, 24ul, 4095ul, 4 * mib, no_size}) {
		errno = 0;
		EXPECT_EQ(slab_memalign(opaque(align), 100), nullptr) << align;
		EXPECT_EQ(errno, EINVAL) << align;
	}
}

TEST(MallocTest, MemalignedMemoryIsReallocated)
{
	for (std::size_t align : {64ul, 4096ul, 2 * mib}) {
		void *memory = slab_memalign(align, 1000);

		fill(memory, 1000, align);
		memory = slab_realloc(memory, 200000);
		ASSERT_NE(memory, nullptr);
		EXPECT_TRUE(intact(memory, 1000, align));
		slab_mfree(memory);
	}
}

TEST(MallocTest, MemalignedMemoryIsFreedWithItsSize)
{
	report_capture reports;

	for (std::size_t align : {1ul, 8ul, 64ul, 1024ul, 4096ul, 65536ul, 2 * mib})
		for (std::size_t size : {1ul, 100ul, 4000ul, 40000ul, 3 * mib})
			slab_free_sized(slab_memalign(align, size), size);
	EXPECT_EQ(reports.text(), "");
}

/* Sized free */

TEST(MallocTest, FreeSizedTakesEverySizeThatWasAskedFor)
{
	report_capture reports;

	for (std::size_t size : interesting_sizes())
		slab_free_sized(slab_malloc(size), size);
	EXPECT_EQ(reports.text(), "");
}

TEST(MallocTest, FreeSizedWithAnImpossibleSizeIsReported)
{
	for (std::size_t size : {100ul, 5000ul, 100000ul, 3 * mib}) {
		report_capture reports;
		void *memory = slab_malloc(size);

		fill(memory, size, 9);
		slab_free_sized(memory, slab_usable_size(memory) + 1);
		EXPECT_EQ(reports.count(), 1u) << size;
		EXPECT_TRUE(intact(memory, size, 9)) << size;
		slab_mfree(memory);
		EXPECT_EQ(reports.count(), 1u) << reports.text();
	}
}

/* Large memory */

/* Free memory holds no pages, or such as are shown as cached. */
void expect_given_back(const void *memory, std::size_t size)
{
	EXPECT_LE(resident_pages(memory, size) * 4096, process_stats().cached_bytes);
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
	EXPECT_GE(resident_pages(memory, size), size / 4096);
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
			 testing::Values(100u << 10, 1536u << 10, 20u << 20, 300u << 20),
			 testing::PrintToStringParamName());

void use_once(std::size_t size)
{
	void *memory = slab_malloc(size);

	ASSERT_NE(memory, nullptr);
	fill(memory, size, size);
	EXPECT_TRUE(intact(memory, size, size));
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

/* What slabs hold beyond their objects. */
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
		std::size_t pages = 0;

		for (void *memory : all_)
			pages += resident_pages(memory, slab);
		return pages * 4096;
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
	EXPECT_EQ(process_stats().large_bytes, count * small);
	EXPECT_LE(resident(), count * small + kept);
}

TEST_F(TailsTest, GoWhenSmallerObjectsReuseTheirSlabs)
{
	const std::vector<void *> before = all_;

	free_all();
	for (std::size_t i = 0; i < count; i++)
		all_.push_back(make(small));
	EXPECT_TRUE(std::is_permutation(all_.begin(), all_.end(), before.begin()));
	EXPECT_LE(resident(), count * small + kept);
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

	const std::size_t bytes = std::accumulate(sizes.begin(), sizes.end(), std::size_t{0},
						  [](std::size_t sum, std::size_t size) {
							  return sum + (size + 4095) / 4096 * 4096;
						  });

	EXPECT_EQ(process_stats().large_bytes, bytes);
	EXPECT_LE(resident(), bytes + kept + count * slab / 8);
	free_all();
	/* Nothing is left in the account of tails: as many may stay as ever. */
	for (std::size_t i = 0; i < count; i++)
		all_.push_back(make(slab));
	for (void *&memory : all_)
		memory = slab_realloc(memory, small);
	EXPECT_GT(resident(), count * small + kept - slab);
	EXPECT_LE(resident(), count * small + kept);
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
	for (std::thread &thread : threads)
		thread.join();
}

/* Copying costs more than what a mapping has too much. */
TEST(MallocTest, AMappingStaysOneWhileHalfOfItIsUsed)
{
	void *memory = slab_malloc(3 * mib), *same;

	fill(memory, 3 * mib, 3);
	same = slab_realloc(memory, 1700000);
	EXPECT_EQ(same, memory);
	EXPECT_TRUE(intact(same, 1700000 & ~7, 3));
	EXPECT_LE(process_stats().large_bytes, 1700000 + 5 * 4096u);
	same = slab_realloc(same, 1900000);
	EXPECT_EQ(same, memory);
	fill(same, 1900000, 4);
	same = slab_realloc(same, 800000);
	EXPECT_NE(same, memory);
	EXPECT_TRUE(intact(same, 800000, 4));
	EXPECT_EQ(process_stats().large_bytes, (800000 + 4095) / 4096 * 4096u);
	slab_mfree(same);
	EXPECT_EQ(process_stats().large_bytes, 0u);
}

/* A program's mistake, so ThreadSanitizer has a right to complain. */
TEST(MallocTest, ALargeOneThatTwoThreadsFreeAtOnceIsFreedOnce)
{
	if (under_tsan)
		GTEST_SKIP() << "two frees of one object are a race";
	for (unsigned i = 0; i < 200; i++) {
		report_capture reports;
		void *memory = slab_malloc(100000);
		std::thread other([memory] { slab_mfree(memory); });

		slab_mfree(memory);
		other.join();
		EXPECT_EQ(reports.count(), 1u) << reports.text();
		EXPECT_EQ(process_stats().large_bytes, 0u);
	}
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

/* The 389-ds family */

TEST(ChMallocTest, AllocatesLikeMalloc)
{
	void *memory = slab_ch_malloc(100);

	fill(memory, 100, 1);
	memory = slab_ch_realloc(memory, 1000);
	EXPECT_TRUE(intact(memory, 100 & ~7, 1));
	slab_ch_free(&memory);
	void *zeroed = slab_ch_calloc(10, 10);
	EXPECT_TRUE(all_bytes(zeroed, 100, 0));
	slab_ch_free(&zeroed);
	void *page = slab_ch_memalign(4096, 100);
	EXPECT_TRUE(aligned(page, 4096));
	slab_ch_free(&page);
}

TEST(ChMallocTest, FreeClearsThePointer)
{
	void *memory = slab_ch_malloc(100);

	slab_ch_free(&memory);
	EXPECT_EQ(memory, nullptr);
	slab_ch_free(&memory);
	slab_ch_free(nullptr);
}

TEST(ChMallocTest, FreeStringClearsThePointer)
{
	char *string = slab_ch_strdup("dc=example,dc=com");

	EXPECT_STREQ(string, "dc=example,dc=com");
	slab_ch_free_string(&string);
	EXPECT_EQ(string, nullptr);
	slab_ch_free_string(&string);
}

TEST(ChMallocTest, StrdupOfNullIsNull)
{
	EXPECT_EQ(slab_ch_strdup(nullptr), nullptr);
}

TEST(ChMallocTest, StrdupTakesLongStrings)
{
	const std::string text(100000, 's');
	char *copy = slab_ch_strdup(text.c_str());

	EXPECT_EQ(text, copy);
	slab_ch_free_string(&copy);
}

class ChMallocDeathTest : public testing::Test
{
protected:
	static void SetUpTestSuite()
	{
		use_threadsafe_death_tests();
	}
};

TEST_F(ChMallocDeathTest, SizeZeroAborts)
{
	EXPECT_DEATH(discard(slab_ch_malloc(0)), "slab_ch_malloc.*0");
	EXPECT_DEATH(discard(slab_ch_calloc(0, 10)), "slab_ch_calloc.*0");
	EXPECT_DEATH(discard(slab_ch_calloc(10, 0)), "slab_ch_calloc.*0");
}

TEST_F(ChMallocDeathTest, NoMemoryAborts)
{
	EXPECT_DEATH(discard(slab_ch_malloc(opaque(no_size / 2))),
		     "slab_ch_malloc.*" + std::to_string(no_size / 2));
	EXPECT_DEATH(discard(slab_ch_memalign(4096, opaque(no_size / 2))),
		     "slab_ch_memalign.*" + std::to_string(no_size / 2));
	EXPECT_DEATH(discard(slab_ch_realloc(slab_malloc(10), opaque(no_size / 2))),
		     "slab_ch_realloc.*" + std::to_string(no_size / 2));
}

TEST_F(ChMallocDeathTest, OverflowAborts)
{
	EXPECT_DEATH(discard(slab_ch_calloc(opaque(no_size), 16)), "slab_ch_calloc");
}

TEST_F(ChMallocDeathTest, ABadAlignmentAborts)
{
	EXPECT_DEATH(discard(slab_ch_memalign(opaque(24), 100)), "slab_ch_memalign.*24");
}

} /* namespace */
