/* SPDX-License-Identifier: MIT */
/* The memory of arrays. */
#include "../support/resident.h"
#include "fixture.h"

namespace
{

/* Arrays that live as long as a test. */
class AreaTest : public testing::TestWithParam<bool>
{
protected:
	~AreaTest() override
	{
		for (char *arrays : all_)
			cpu_arrays_destroy(arrays);
	}

	char *create()
	{
		char *arrays = cpu_arrays_create(GetParam());

		EXPECT_NE(arrays, nullptr);
		all_.push_back(arrays);
		return arrays;
	}

	/* The first arrays of an untouched area. */
	char *create_in_fresh_area()
	{
		const unsigned before = cpu_area_count;
		char *arrays;

		do
			arrays = create();
		while (cpu_area_count == before);
		return arrays;
	}

	static std::size_t bytes() { return GetParam() ? CPU_LONG_BYTES : CPU_SHORT_BYTES; }

	static std::size_t page() { return static_cast<std::size_t>(getpagesize()); }

	static bool is_zero(const void *start, std::size_t size)
	{
		const auto *at = static_cast<const char *>(start);

		return std::all_of(at, at + size, [](char c) { return c == 0; });
	}

	std::vector<char *> all_;
};

INSTANTIATE_TEST_SUITE_P(Arrays, AreaTest, testing::Bool(),
			 [](const auto &info) { return info.param ? "Long" : "Short"; });

TEST_P(AreaTest, KnowsLongArraysFromShortOnes)
{
	EXPECT_EQ(cpu_arrays_are_long(create()), GetParam());
}

/* Of more caches than any process has had so far. */
TEST_P(AreaTest, ThereAreArraysForThousandsOfUsers)
{
	const unsigned users = GetParam() ? 600 : 6000;
	std::set<char *> all;

	for (unsigned i = 0; i < users; i++)
		ASSERT_TRUE(all.insert(create()).second) << i;
	char *freed = all_[users / 2];

	cpu_arrays_destroy(freed);
	all_.erase(all_.begin() + users / 2);
	EXPECT_EQ(create(), freed) << "a place that is free again, in a full area";
}

TEST_P(AreaTest, NoTwoUsersShareAnArray)
{
	std::set<char *> starts;

	for (std::size_t i = 0; i < 1100; i++) {
		char *arrays = create();

		EXPECT_EQ(reinterpret_cast<std::uintptr_t>(arrays) % 16, 0u);
		for (long cpu = -1; cpu < static_cast<long>(cpu_possible()); cpu++) {
			auto *start = reinterpret_cast<char *>(cpu_array(arrays, cpu));

			EXPECT_EQ(reinterpret_cast<std::uintptr_t>(start) %
					  (GetParam() ? CPU_CACHELINE : CPU_SHORT_BYTES),
				  0u);
			EXPECT_TRUE(starts.insert(start).second);
		}
	}
	for (auto it = starts.begin(); std::next(it) != starts.end(); ++it)
		ASSERT_GE(*std::next(it) - *it, static_cast<std::ptrdiff_t>(bytes()));
}

TEST_P(AreaTest, ArraysAreUsedAgainAndComeBackEmpty)
{
	char *kept = create(), *arrays = cpu_arrays_create(GetParam());

	std::memset(cpu_array(arrays, 0), 0x5a, bytes());
	cpu_array(kept, 0)->count = 7;
	cpu_arrays_destroy(arrays);
	EXPECT_EQ(create(), arrays);
	EXPECT_TRUE(is_zero(cpu_array(arrays, 0), bytes()));
	EXPECT_EQ(cpu_array(kept, 0)->count, 7u) << "of another user";
}

TEST_P(AreaTest, SoDoThoseOfWhichOneRowWasUsed)
{
	char *arrays = cpu_arrays_create(GetParam());

	std::memset(cpu_array(arrays, 1), 0x5a, bytes());
	cpu_arrays_destroy_row(arrays, 1);
	EXPECT_EQ(create(), arrays);
	EXPECT_TRUE(is_zero(cpu_array(arrays, 1), bytes()));
}

TEST_P(AreaTest, TheLastUserOfAnAreaReturnsItsMemory)
{
	char *arrays = cpu_arrays_create(GetParam());
	void *array = cpu_array(arrays, 0);

	std::memset(array, 0x5a, bytes());
	ASSERT_GT(resident_pages(array, bytes()), 0u);
	cpu_arrays_destroy(arrays);
	EXPECT_EQ(resident_pages(array, bytes()), 0u);
}

TEST_P(AreaTest, LockedArraysComeBackEmpty)
{
	char *arrays = cpu_arrays_create(GetParam());
	void *array = cpu_array(arrays, 0);

	if (mlock(array, bytes()) != 0)
		GTEST_SKIP() << "mlock: " << std::strerror(errno);
	std::memset(array, 0x5a, bytes());
	cpu_arrays_destroy(arrays);
	EXPECT_TRUE(is_zero(array, bytes()));
	munlock(array, bytes());
}

TEST_P(AreaTest, ArraysOfUnusedCpusTakeNoMemory)
{
	char *arrays = create_in_fresh_area(), *neighbour = create();
	const std::size_t row = std::size_t{1} << CPU_ROW_SHIFT;
	const char *row0 = reinterpret_cast<const char *>(cpu_array(arrays, -1)->stamp);

	EXPECT_EQ(resident_pages(row0, row * cpu_possible()), 0u);
	cpu_array(arrays, 0)->stamp = 1;
	cpu_array(neighbour, 0)->stamp = 1;
	EXPECT_LE(resident_pages(row0, row), GetParam() ? 2u : 1u);
	EXPECT_EQ(resident_pages(row0 + row, row * (cpu_possible() - 1)), 0u);
}

/* Threads without a CPU use them, and tools read them. */
TEST_P(AreaTest, RowsBeforeCpu0AreEmptyAndSayWhereTheAreaIs)
{
	char *arrays = create(), *other = create();

	for (long cpu = -1; cpu >= -2; cpu--) {
		EXPECT_EQ(cpu_array(arrays, cpu)->count, 0u);
		EXPECT_EQ(cpu_array(arrays, cpu)->limit, 0u);
		EXPECT_EQ(cpu_array(arrays, cpu)->bound, 0u);
	}
	for (const char *a : {arrays, other}) {
		const struct cpu_array *before = cpu_array(a, -1);
		const auto offset = reinterpret_cast<std::uintptr_t>(a) - before->stamp;

		EXPECT_LT(offset, 1u << CPU_ROW_SHIFT);
		EXPECT_EQ(before->stamp % page(), 0u);
		EXPECT_EQ(before->streak, CPU_AREA_ROWS_BEFORE);
	}
}

TEST_P(AreaTest, EachVisitsEveryArrayOfEachPossibleCpu)
{
	static std::multiset<struct cpu_array *> visited;
	char *arrays = create();

	visited.clear();
	cpu_arrays_each([](struct cpu_array *array) { visited.insert(array); });
	for (unsigned cpu = 0; cpu < cpu_possible(); cpu++)
		EXPECT_EQ(visited.count(cpu_array(arrays, cpu)), 1u);
	EXPECT_EQ(visited.count(cpu_array(arrays, -1)), 0u);
	cpu_arrays_destroy(arrays);
	all_.pop_back();
	visited.clear();
	cpu_arrays_each([](struct cpu_array *array) { visited.insert(array); });
	EXPECT_EQ(visited.count(cpu_array(arrays, 0)), 0u);
}

TEST_P(AreaTest, DiscardReturnsWholePagesAndKeepsTheHead)
{
	std::vector<char *> neighbours;

	for (int i = 0; i < 20; i++) {
		char *arrays = create();
		struct cpu_array *array = cpu_array(arrays, 0);

		std::memset(array->obj, 0x5a, bytes() - CPU_ARRAY_HEAD);
		array->streak = 9;
		cpu_array_set_limit(array, 5);
		neighbours.push_back(arrays);
	}
	char *arrays = neighbours[7];
	struct cpu_array *array = cpu_array(arrays, 0);
	const std::size_t before = resident_pages(array, bytes());

	cpu_array_discard(arrays, 0);
	EXPECT_EQ(cpu_array_limit(array), 0u);
	EXPECT_EQ(array->streak, 9u);
	EXPECT_EQ(resident_pages(array, bytes()), before - GetParam());
	for (char *other : neighbours)
		if (other != arrays) {
			EXPECT_FALSE(is_zero(cpu_array(other, 0)->obj, 8));
			EXPECT_FALSE(is_zero(
				reinterpret_cast<char *>(cpu_array(other, 0)) + bytes() - 8, 8));
		}
}

TEST(NoneTest, TheArraysOfNoUserAreEmptyAndReadOnly)
{
	char *none = cpu_arrays_none();

	ASSERT_NE(none, nullptr);
	EXPECT_EQ(cpu_arrays_none(), none);
	for (long cpu = -2; cpu < static_cast<long>(cpu_possible()); cpu++) {
		EXPECT_EQ(cpu_array(none, cpu)->count, 0u);
		EXPECT_EQ(cpu_array(none, cpu)->limit, 0u);
	}
	EXPECT_EXIT(cpu_array(none, 0)->count = 1, testing::KilledBySignal(SIGSEGV), "");
}

/* What the kernel keeps for a thread, made up: the fast paths read the CPU here. */
struct made_up_rseq {
	std::uint32_t cpu_id_start;
	std::int32_t cpu_id;
	std::uint64_t rseq_cs;
	std::uint64_t more[2];
};

alignas(32) thread_local struct made_up_rseq made_up;

/* "Not registered" is -1, "registration failed" -2. With a CPU, the same works. */
TEST(NoneTest, ThreadsWithoutACpuAreRefusedByTheFastPaths)
{
	const long offset = reinterpret_cast<char *>(&made_up) -
			    static_cast<char *>(__builtin_thread_pointer());
	char *arrays = cpu_arrays_create(false), *none = cpu_arrays_none();
	void *obj = nullptr;

	for (int cpu : {-1, -2})
		for (char *rows : {arrays, none}) {
			made_up.cpu_id = cpu;
			EXPECT_FALSE(rseq_pop(&rows, offset, &obj));
			EXPECT_FALSE(rseq_push(&rows, object(2), offset));
		}
	made_up.cpu_id = 0;
	cpu_array(arrays, 0)->limit = 1;
	EXPECT_EQ(rseq_push(&arrays, object(2), offset), RSEQ_ARCH == 1);
	EXPECT_EQ(rseq_pop(&arrays, offset, &obj), RSEQ_ARCH == 1);
	cpu_arrays_destroy(arrays);
}

} /* namespace */
