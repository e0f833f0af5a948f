/* SPDX-License-Identifier: MIT */
/* The traces that ./run bench objects replays: from a file of recorded calls to streams. */
#include "../support/test.h"

extern "C" {
#include "trace.h"
}

namespace
{

constexpr size_t size = 48;

class TraceTest : public testing::Test
{
protected:
	~TraceTest() override { unlink(path_.c_str()); }

	void call(trace_kind kind, std::uint16_t thread, std::uint64_t object,
		  std::uint32_t what = 0)
	{
		calls_.push_back({object, what, thread, static_cast<std::uint16_t>(kind)});
	}

	std::string contents()
	{
		trace_header header = {{}, TRACE_VERSION, 1, calls_.size()};
		trace_cache cache = {"entry", size};

		std::memcpy(header.magic, TRACE_MAGIC, sizeof(header.magic));
		return std::string(reinterpret_cast<char *>(&header), sizeof(header)) +
		       std::string(reinterpret_cast<char *>(&cache), sizeof(cache)) +
		       std::string(reinterpret_cast<char *>(calls_.data()),
				   calls_.size() * sizeof(calls_[0]));
	}

	/* The error of opening a file with this; "" if there is none. */
	std::string open(const std::string &text)
	{
		std::ofstream(path_, std::ios::binary | std::ios::trunc) << text;
		const char *why = trace_open(&trace_, path_.c_str());

		return why ? why : "";
	}

	/* The kinds of a stream: one character each. */
	std::string kinds(unsigned stream)
	{
		std::string all;

		for (const trace_step *s = trace_.begin[stream]; s < trace_.end[stream]; s++)
			all += "afmd|"[s->kind];
		return all;
	}

	/* Thread 0 sets up, 1 allocates two objects, 2 frees them, 1 frees one of the set-up. */
	void hand_over()
	{
		call(TRACE_ALLOC, 0, 0x10);
		call(TRACE_MALLOC, 0, 0x20, 100);
		call(TRACE_ALLOC, 1, 0x30);
		call(TRACE_MALLOC, 1, 0x40, 3);
		call(TRACE_FREE, 2, 0x30);
		call(TRACE_MFREE, 2, 0x40);
		call(TRACE_FREE, 1, 0x10);
	}

	std::vector<trace_call> calls_;
	trace trace_ = {};
	const std::string path_ =
		testing::TempDir() + "objects_trace_test." + std::to_string(getpid());
};

TEST_F(TraceTest, EachThreadHasAStreamAndEachObjectASlot)
{
	hand_over();
	ASSERT_EQ(open(contents()), "");
	EXPECT_EQ(kinds(0), "am");
	EXPECT_EQ(kinds(1), "amf");
	EXPECT_EQ(kinds(2), "fd");
	EXPECT_EQ(kinds(3), "d"); /* what is still allocated */
	EXPECT_EQ(trace_.slots, 4u);
	EXPECT_EQ(trace_.calls, 5u);
	EXPECT_EQ(trace_.begin[2][0].slot, trace_.begin[1][0].slot);
	EXPECT_EQ(trace_.begin[3][0].slot, trace_.begin[0][1].slot);
	EXPECT_EQ(trace_.begin[3][0].what, 100u);
}

TEST_F(TraceTest, AnObjectHasAtLeastAWord)
{
	hand_over();
	ASSERT_EQ(open(contents()), "");
	EXPECT_EQ(trace_.begin[1][1].what, sizeof(std::uintptr_t));
	EXPECT_STREQ(trace_.cache[0].name, "entry");
	EXPECT_EQ(trace_.cache[0].size, size);
}

TEST_F(TraceTest, ThreadsWithFewCallsShareTheFirstStream)
{
	for (std::uint64_t i = 1; i <= 100; i++)
		call(TRACE_ALLOC, static_cast<std::uint16_t>(1 + i % 2), i * 16);
	call(TRACE_FREE, 3, 16);
	ASSERT_EQ(open(contents()), "");
	EXPECT_EQ(trace_.threads, 2u);
}

TEST_F(TraceTest, ThreadsMeet)
{
	for (std::uint64_t i = 1; i <= 100000; i++)
		call(i % 2 ? TRACE_ALLOC : TRACE_FREE, static_cast<std::uint16_t>(1 + i % 2), 16);
	ASSERT_EQ(open(contents()), "");
	for (unsigned stream : {1u, 2u}) {
		const std::string all = kinds(stream);

		EXPECT_EQ(std::count(all.begin(), all.end(), '|'), 4) << stream;
	}
}

TEST_F(TraceTest, CallsThatCannotBeAreRefused)
{
	call(TRACE_ALLOC, 1, 0x30);
	call(TRACE_ALLOC, 1, 0x30);
	EXPECT_EQ(open(contents()), "an address was allocated twice without a free");
	for (const trace_call &bad :
	     {trace_call{0x30, 0, 1, TRACE_FREE}, trace_call{0x40, 0, 1, TRACE_MFREE}}) {
		calls_ = {{0x40, 0, 1, TRACE_ALLOC}, bad};
		EXPECT_EQ(open(contents()), "an address was freed that was not allocated");
	}
	for (const trace_call &bad :
	     {trace_call{0x30, 1, 1, TRACE_ALLOC}, trace_call{0x30, 0, 65, TRACE_MALLOC},
	      trace_call{0x30, 0, 1, TRACE_MEET}}) {
		calls_ = {bad};
		EXPECT_EQ(open(contents()), "it has a call that cannot be");
	}
	calls_ = {{0x30, 0, 0, TRACE_ALLOC}};
	EXPECT_EQ(open(contents()), "nothing was recorded but the set-up");
}

TEST_F(TraceTest, OtherFilesAreRefused)
{
	hand_over();
	const std::string good = contents();
	std::string bad = good;

	for (std::size_t length : {good.size() - 1, sizeof(trace_header), std::size_t(10)})
		EXPECT_EQ(open(good.substr(0, length)), "it is truncated");
	EXPECT_EQ(open(good + "x"), "it is longer than its header says");
	EXPECT_EQ(open(""), "it is no trace of allocations");
	bad[0] = 'S';
	EXPECT_EQ(open(bad), "it is no trace of allocations");
	bad = good;
	bad[offsetof(trace_header, version)]++;
	EXPECT_EQ(open(bad), "it is of another version of this benchmark; record it again");
	EXPECT_STREQ(trace_open(&trace_, "/missing/file"), "No such file or directory");
}

} // namespace
