/* SPDX-License-Identifier: MIT */
/*
 * Memory by size, as <slab/malloc.h> promises it: sizes and alignments, realloc,
 * zeroing; the family of functions that never fails. Large memory: malloc_large_test.cc.
 */
#include "../support/debugging.h"
#include "../support/units.h"

namespace
{

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
	for (std::size_t size : {no_size, no_size - 4096, no_size / 2, std::size_t{1} << 52}) {
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
	for (std::size_t align : {0ul, 3ul, 24ul, 4095ul, 24 * mib, no_size}) {
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

/* Pointers into an allocation */

constexpr std::size_t into_sizes[] = {100, 5000, 32768, 100000, 3 * mib, 10 * mib};

void expect_one_report(report_capture &reports, std::size_t size)
{
	EXPECT_EQ(reports.count(), 1u) << size << reports.text();
	EXPECT_NE(reports.text().find("It points"), std::string::npos) << size << reports.text();
}

TEST(MallocTest, AnAddressWithinAnAllocationHasNoSize)
{
	for (std::size_t size : into_sizes)
		for (std::size_t said : {std::size_t{0}, std::size_t{1}, size, 4 * size}) {
			report_capture reports;
			char *memory = static_cast<char *>(slab_malloc(size));

			if (said) {
				slab_free_sized(hidden(memory + 16), said);
			} else {
				EXPECT_EQ(slab_usable_size(hidden(memory + 16)), 0u) << size;
			}
			expect_one_report(reports, size);
			slab_mfree(memory);
		}
}

TEST(MallocTest, ReallocOfAnAddressWithinAnAllocationIsReported)
{
	for (std::size_t size : into_sizes)
		for (std::size_t to : {size / 2, size, 2 * size}) {
			report_capture reports;
			char *memory = static_cast<char *>(slab_malloc(size));

			fill(memory, size, 4);
			errno = 0;
			EXPECT_EQ(slab_realloc(hidden(memory + 16), to), nullptr) << size;
			EXPECT_EQ(errno, EINVAL) << size;
			expect_one_report(reports, size);
			EXPECT_TRUE(intact(memory, size, 4)) << size;
			slab_mfree(memory);
		}
}

/*
 * slab_ch_malloc() and its family, as 389-ds has them: they never fail, and what is
 * freed is forgotten.
 */

/* Takes what the death tests never get to see. */
void discard(const void *) {}

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
	static void SetUpTestSuite() { use_threadsafe_death_tests(); }
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
