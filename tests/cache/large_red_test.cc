/* SPDX-License-Identifier: MIT */
/*
 * Red zones of large allocations: SLAB_DEBUG=Z, in a process of its own for each test.
 */
#include "../support/debugging.h"

namespace
{

constexpr std::size_t slab_size_ = 100000, mapping_size = 3000001;

class LargeRedTest : public DebugTest, public testing::WithParamInterface<std::size_t>
{
protected:
	/* In a process with red zones? Otherwise such a one runs this test. */
	bool with_red_zones(const char *debug = "SLAB_DEBUG=Z,size-*")
	{
		if (running_again())
			return true;
		const second_run run = run_again({debug});

		EXPECT_EQ(run.failure, "") << run.output;
		return false;
	}

	static char *allocate(std::size_t size)
	{
		char *memory = hidden(slab_malloc(size));

		std::memset(memory, 0x41, size);
		return memory;
	}

	static std::string text(const char *format, const void *a, const void *b)
	{
		char buffer[200];

		std::snprintf(buffer, sizeof(buffer), format, a, b);
		return buffer;
	}

	static std::string row(const char *label, const char *at, const std::string &spec)
	{
		std::string line = rows(label, 0, spec);

		return line.replace(line.find("OBJ"), 3, text("%p", at, nullptr));
	}

	/* Without the stack of the thread that found it. */
	std::string report() const
	{
		std::istringstream in(reported().text);
		std::string result;

		for (std::string line; std::getline(in, line);)
			if (line[0] != '\t' && line.compare(0, 12, "Detected in ") != 0)
				result += line + "\n";
		return result;
	}
};

TEST_P(LargeRedTest, TheByteBehindIsReportedWhenItIsFreed)
{
	if (!with_red_zones())
		return;
	const std::size_t size = GetParam();
	char *memory = allocate(size), *end = memory + size;
	const struct slab *slab = slab_of(memory);

	*end = 'X';
	slab_mfree(hidden(memory));
	expect_damage(SLAB_PROBLEM_RIGHT_REDZONE, "Right Redzone overwritten", end, end, 'X', 0xcc);
	const std::string shown = report();
	const std::string expected =
		std::string(77, '=') + "\nBUG size-large: Right Redzone overwritten\n" +
		std::string(77, '-') + "\n\n" + text("%p-%p", end, end) +
		" @offset=" + std::to_string(size) + ". First byte 0x58 instead of 0xcc\n" +
		text("Slab %p objects=1 used=1 flags=Z\nObject %p", slab, memory) +
		" @offset=0 size=" + std::to_string(size) + "\n\n" +
		row("Redzone", memory - 16, "cc*16") + row("Object", memory, "41*16");

	EXPECT_EQ(shown.substr(0, expected.size()), expected);
	EXPECT_NE(shown.find("\nObject   ... " + std::to_string(size - 128) + " bytes more\n" +
			     row("Redzone", end, "58 cc*15") + row("Redzone", end + 16, "cc*16")),
		  std::string::npos)
		<< shown;
	EXPECT_NE(shown.find(
			  text("\nFIX size-large: Restoring Right Redzone %p-%p=0xcc\n", end, end)),
		  std::string::npos)
		<< shown;
	EXPECT_EQ(process_stats().large_bytes, 0u) << "it is freed all the same";
}

TEST_P(LargeRedTest, TheByteBeforeIsReportedToo)
{
	if (!with_red_zones())
		return;
	char *memory = allocate(GetParam());

	memory[-1] = 1;
	slab_free_sized(hidden(memory), GetParam());
	expect_damage(SLAB_PROBLEM_LEFT_REDZONE, "Left Redzone overwritten", memory - 1, memory - 1,
		      1, 0xcc);
	EXPECT_EQ(reported().text.find("BUG size-large: Left Redzone overwritten\n"), 78u);
}

TEST_P(LargeRedTest, ValidationReportsItOnceAndPutsItRight)
{
	if (!with_red_zones())
		return;
	char *memory = allocate(GetParam()), *other = allocate(GetParam());
	struct slab_cache *cache = cache_of_size(64);

	memory[GetParam() + 1] = memory[GetParam() + 3] = 0;
	EXPECT_EQ(slab_cache_validate(cache), 1);
	expect_damage(SLAB_PROBLEM_RIGHT_REDZONE, "Right Redzone overwritten",
		      memory + GetParam() + 1, memory + GetParam() + 3, 0, 0xcc);
	EXPECT_EQ(slab_cache_validate(cache), 0);
	slab_mfree(hidden(memory));
	slab_mfree(other);
	EXPECT_EQ(reports_.count(), 1u) << reports_.text();
}

TEST_P(LargeRedTest, ReallocReportsIt)
{
	if (!with_red_zones())
		return;
	char *memory = allocate(GetParam()), *end = memory + GetParam();

	*end = 0;
	memory = hidden(slab_realloc(hidden(memory), GetParam() + 5000));
	expect_damage(SLAB_PROBLEM_RIGHT_REDZONE, "Right Redzone overwritten", end, end, 0, 0xcc);
	EXPECT_TRUE(all_bytes(memory, GetParam(), 0x41));
	slab_mfree(hidden(memory));
	EXPECT_EQ(reports_.count(), 1u) << reports_.text();
}

/* What realloc gave belongs to the caller, what it took back does not. */
TEST_P(LargeRedTest, TheZoneMovesWithTheSize)
{
	if (!with_red_zones())
		return;
	char *memory = allocate(GetParam());
	std::size_t size = GetParam();

	for (const std::size_t to : {size + 1, size + 4095, size + 70000, size - 1, size - 9000}) {
		memory = hidden(slab_realloc(hidden(memory), to));
		EXPECT_EQ(slab_usable_size(memory), to);
		std::memset(memory, 0x42, to);
		EXPECT_EQ(slab_cache_validate(cache_of_size(64)), 0) << to;
		size = to;
	}
	memory[size] = 1;
	slab_mfree(hidden(memory));
	EXPECT_EQ(reports_.count(), 1u) << reports_.text();
}

TEST_P(LargeRedTest, ZerosAndAlignmentsAreAsEver)
{
	if (!with_red_zones("SLAB_DEBUG=FZPU"))
		return;
	char *zeros = static_cast<char *>(slab_calloc(1, GetParam()));

	EXPECT_TRUE(all_bytes(zeros, GetParam(), 0));
	slab_mfree(zeros);
	for (std::size_t align = 16; align <= (2u << 20); align *= 2) {
		char *memory = static_cast<char *>(slab_memalign(align, GetParam()));

		EXPECT_TRUE(aligned(memory, align));
		std::memset(memory, 0x41, GetParam());
		slab_mfree(hidden(memory));
	}
	EXPECT_EQ(reports_.count(), 0u) << reports_.text();
	EXPECT_EQ(process_stats().large_bytes, 0u);
}

TEST_P(LargeRedTest, OtherNamesAndNoGrowthLeaveThemOut)
{
	if (running_again()) {
		char *memory = allocate(GetParam());

		EXPECT_EQ(slab_usable_size(memory), os_pages(GetParam()));
		memory[GetParam()] = 1;
		slab_mfree(hidden(memory));
		EXPECT_EQ(reports_.count(), 0u) << reports_.text();
		return;
	}
	for (const char *debug : {"SLAB_DEBUG=Z,size-6*", "SLAB_DEBUG=FPU", "SLAB_DEBUG=ZO"}) {
		const second_run run = run_again({debug});

		EXPECT_EQ(run.failure, "") << debug << '\n' << run.output;
	}
}

INSTANTIATE_TEST_SUITE_P(Bytes, LargeRedTest, testing::Values(slab_size_, mapping_size),
			 testing::PrintToStringParamName());

} /* namespace */
