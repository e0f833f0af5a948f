/* SPDX-License-Identifier: MIT */
/* What large memory by size costs: the pages that the program touches, and no copies. */
#include "../support/objects.h"
#include "../support/process.h"
#include "../support/units.h"
#include "../support/rooms.h"

namespace
{

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
