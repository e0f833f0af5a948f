/* SPDX-License-Identifier: MIT */
/* Alignments of a segment and more: the base of such an allocation is not in the segment that has
 * its descriptor. */
#include "../support/debugging.h"
#include "../support/units.h"

namespace
{

class WideAlignment : public testing::TestWithParam<std::size_t>
{
protected:
	WideAlignment() : memory_(static_cast<char *>(slab_memalign(GetParam(), size))) {}

	~WideAlignment() override
	{
		slab_mfree(memory_);
		EXPECT_EQ(process_stats().large_bytes, before_);
	}

	static constexpr std::size_t size = 3 * mib;
	const std::uint64_t before_ = process_stats().large_bytes;
	char *memory_;
};

TEST_P(WideAlignment, IsThatOfTheAllocation)
{
	ASSERT_NE(memory_, nullptr);
	EXPECT_TRUE(aligned(memory_, GetParam()));
	std::memset(memory_, 1, size);
	EXPECT_GE(slab_usable_size(memory_), size);
	EXPECT_TRUE(slab_owns(memory_));
	EXPECT_TRUE(slab_owns(memory_ + size - 1));
	EXPECT_EQ(slab_cache_of(memory_), nullptr);
}

TEST_P(WideAlignment, TakesItsSizeOfMemory)
{
	ASSERT_NE(memory_, nullptr);
	EXPECT_LE(process_stats().large_bytes - before_, SEGMENT_SIZE + size);
}

TEST_P(WideAlignment, MayBeLostWhenTheAllocationGrows)
{
	ASSERT_NE(memory_, nullptr);
	std::memset(memory_, 7, size);
	memory_ = static_cast<char *>(slab_realloc(memory_, 80 * mib));
	ASSERT_NE(memory_, nullptr);
	for (std::size_t i = 0; i < size; i += 1000)
		ASSERT_EQ(memory_[i], 7) << i;
	memory_[80 * mib - 1] = 1;
	EXPECT_GE(slab_usable_size(memory_), 80 * mib);
}

TEST_P(WideAlignment, AllowsAFreeByPointerAndOneBySize)
{
	ASSERT_NE(memory_, nullptr);
	EXPECT_TRUE(slab_free_any(memory_));
	memory_ = static_cast<char *>(slab_memalign(GetParam(), 1));
	ASSERT_NE(memory_, nullptr);
	slab_free_sized(memory_, 1);
	memory_ = nullptr;
}

TEST_P(WideAlignment, FreesAndReallocsOfOtherAddressesAreReported)
{
	report_capture reports;

	ASSERT_NE(memory_, nullptr);
	slab_mfree(hidden(memory_ + 64));
	errno = 0;
	EXPECT_EQ(slab_realloc(hidden(memory_ + 64), 80 * mib), nullptr);
	EXPECT_EQ(errno, EINVAL);
	ASSERT_EQ(reports.count(), 2u);
	for (const caught_report &report : reports.all())
		EXPECT_NE(report.text.find("It points into"), std::string::npos) << report.text;
}

INSTANTIATE_TEST_SUITE_P(Alignments, WideAlignment,
			 testing::Values(16 * mib, 32 * mib, 1024 * mib));

TEST(WideAlignmentTest, MoreThanTheAddressSpaceIsNoMemory)
{
	for (unsigned shift = 48; shift < 64; shift++) {
		errno = 0;
		EXPECT_EQ(slab_memalign(std::size_t(1) << shift, 100), nullptr) << shift;
		EXPECT_EQ(errno, ENOMEM) << shift;
	}
}

/* What slabs of large allocations hold beyond their objects. */

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

/* What large memory by size costs: the pages that the program touches, and no copies. */

/* Page faults of this process so far. */
long faults()
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_minflt;
}

TEST(TouchedPagesTest, AllocationsHoldNoOthers)
{
	std::vector<char *> all;
	std::size_t resident = 0;

	if (huge_is_system_always())
		GTEST_SKIP() << "the system always uses huge pages";
	slab_trim();
	for (int i = 0; i < 32; i++) {
		all.push_back(static_cast<char *>(slab_malloc(mib)));
		all.back()[5] = 1;
	}
	for (char *memory : all) {
		resident += resident_pages(memory, mib);
		slab_mfree(memory);
	}
	EXPECT_LE(resident, all.size());
}

TEST(TouchedPagesTest, OfAFreedAllocationServeTheNextOne)
{
	if (under_tsan)
		GTEST_SKIP() << "ThreadSanitizer has pages of its own";
	for (const std::size_t size : {3 * mib, 5 * mib, 8 * mib}) {
		char *memory = static_cast<char *>(slab_malloc(size));

		std::memset(memory, 1, size);
		slab_mfree(memory);
		const long before = faults();

		for (int i = 0; i < 100; i++) {
			char *again = static_cast<char *>(slab_malloc(size));

			EXPECT_EQ(again, memory);
			std::memset(again, 2, size);
			slab_mfree(again);
		}
		EXPECT_LT(faults() - before, 20) << size;
	}
}

TEST(TouchedPagesTest, OfAVectorMoveWithIt)
{
	if (under_tsan)
		GTEST_SKIP() << "ThreadSanitizer has pages of its own";
	constexpr std::size_t step = 65536, from = 9 * mib, to = 64 * mib;
	char *vector = static_cast<char *>(slab_malloc(from));

	std::memset(vector, 1, from);
	const long before = faults();

	for (std::size_t size = from + step; size <= to; size += step) {
		vector = static_cast<char *>(slab_realloc(vector, size));
		ASSERT_NE(vector, nullptr);
		EXPECT_EQ(vector[from - 1], 1);
		std::memset(vector + size - step, 1, step);
	}
	EXPECT_LT(faults() - before, static_cast<long>((to - from) / 4096 * 5 / 4));
	EXPECT_EQ(vector[0], 1);
	EXPECT_EQ(vector[to - 1], 1);
	slab_mfree(vector);
}

TEST(TouchedPagesTest, AMovedVectorIsFreedAtItsNewAddress)
{
	char *vector = static_cast<char *>(slab_malloc(9 * mib));
	char *other = static_cast<char *>(slab_malloc(9 * mib));
	const std::uint64_t before = process_stats().large_bytes;

	ASSERT_NE(vector, nullptr);
	vector[100] = 7;
	/* One of the two has the other right behind it. */
	for (char **memory : {&vector, &other}) {
		*memory = static_cast<char *>(slab_realloc(*memory, 40 * mib));
		ASSERT_NE(*memory, nullptr);
		EXPECT_GE(slab_usable_size(*memory), 40 * mib);
		EXPECT_EQ(slab_of(*memory), slab_of(*memory + mib));
	}
	EXPECT_EQ(vector[100], 7);
	EXPECT_EQ(process_stats().large_bytes, before + 2 * 31 * mib);
	slab_mfree(vector);
	slab_mfree(other);
	EXPECT_LT(process_stats().large_bytes, before);
}

/* Bytes of address space that this process has mapped. */
std::size_t mapped()
{
	std::size_t pages = 0;

	std::ifstream("/proc/self/statm") >> pages;
	return pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

/* Each size in turn takes 150 MiB of an address space that has no room for three of them. */
const char *every_size_in_turn()
{
	static constexpr std::array<std::size_t, 9> sizes{
		100, 5000, 100000, 3 * mib, 40 * mib, 150 * mib, 64, 20000, mib};
	const rlim_t room = mapped() + 320 * mib;
	const struct rlimit limit = {room, room};

	if (setrlimit(RLIMIT_AS, &limit) != 0)
		return "setrlimit";
	for (const std::size_t size : sizes) {
		void *last = nullptr;

		for (std::size_t total = size; total <= 150 * mib; total += size) {
			void *memory = slab_malloc(size);

			if (!memory)
				return "no memory";
			*static_cast<void **>(memory) = last;
			last = memory;
		}
		while (last) {
			void *next = *static_cast<void **>(last);

			slab_mfree(last);
			last = next;
		}
	}
	return "";
}

TEST(AddressSpaceTest, ThatIsFreeServesEverySize)
{
	if (under_tsan)
		GTEST_SKIP() << "ThreadSanitizer follows 64 locks at most, over a fork";
	EXPECT_IN_CHILD([] { return *every_size_in_turn() ? 1 : 0; });
}

} /* namespace */
