/* SPDX-License-Identifier: MIT */
/*
 * The traces that ./run bench objects replays: from recorded calls to streams, the
 * self-check, and the file.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

extern "C" {
#include "trace_make.h"
}

namespace
{

constexpr size_t SIZE = 48;

class TraceTest : public testing::Test
{
protected:
	~TraceTest() override
	{
		if (trace_.header)
			trace_drop(&trace_);
		unlink(path_.c_str());
	}

	void Call(trace_kind kind, unsigned thread, uint64_t object, uint64_t source = 0)
	{
		events_.push_back({object, source, thread, kind});
	}

	/* NULL as "", so that failures show the sentence. */
	std::string Make()
	{
		trace_type cache = {};

		strcpy(cache.name, "entry");
		cache.size = SIZE;
		const char *why = trace_make(&trace_, events_.data(), events_.size(), &cache, 1);
		return why ? why : "";
	}

	std::string Check()
	{
		const char *why = trace_check(&trace_);
		return why ? why : "";
	}

	std::string Write()
	{
		const char *why = trace_write(&trace_, path_.c_str());
		return why ? why : "";
	}

	/* The error of opening the file; "" if there is none. */
	std::string Open()
	{
		trace trace;
		const char *why = trace_open(&trace, path_.c_str());

		if (why)
			return why;
		EXPECT_EQ(0, memcmp(trace.header, trace_.header, trace.bytes));
		trace_close(&trace);
		return "";
	}

	std::string Contents()
	{
		std::ifstream file(path_, std::ios::binary);
		return {std::istreambuf_iterator<char>(file), {}};
	}

	void Replace(const std::string &contents)
	{
		std::ofstream(path_, std::ios::binary | std::ios::trunc) << contents;
	}

	/* The kinds of a stream: one character each. */
	std::string Kinds(unsigned stream)
	{
		size_t n;
		const trace_step *step = trace_steps_of(&trace_, stream, &n);
		std::string kinds;

		for (size_t i = 0; i < n; i++)
			kinds += "afmdsw"[step[i].kind];
		return kinds;
	}

	/* The first step of a kind, to damage it. */
	trace_step *Find(trace_kind kind)
	{
		trace_step *step = const_cast<trace_step *>(trace_.steps);

		while (step->kind != kind)
			step++;
		return step;
	}

	/* Thread 0 sets up, 1 allocates two objects, 2 frees them, 1 frees one of the set-up. */
	void HandOver()
	{
		Call(TRACE_ALLOC, 0, 0x10);
		Call(TRACE_MALLOC, 0, 0x20, 100);
		Call(TRACE_ALLOC, 1, 0x30);
		Call(TRACE_MALLOC, 1, 0x40, 3);
		Call(TRACE_FREE, 2, 0x30);
		Call(TRACE_MFREE, 2, 0x40);
		Call(TRACE_FREE, 1, 0x10);
	}

	std::vector<trace_event> events_;
	trace trace_ = {};
	std::string path_ = testing::TempDir() + "objects_trace_test." + std::to_string(getpid());
};

TEST_F(TraceTest, AFreeOfAnotherThreadsObjectWaitsForItsAllocation)
{
	HandOver();
	ASSERT_EQ("", Make());
	EXPECT_EQ("", Check());
	EXPECT_EQ("am", Kinds(0));
	EXPECT_EQ("amsf", Kinds(1)); /* one signal for both objects */
	EXPECT_EQ("wfd", Kinds(2));
	EXPECT_EQ("d", Kinds(3)); /* what is still allocated */
	EXPECT_EQ(1u, Find(TRACE_WAIT)->target);
	EXPECT_EQ(0u, Find(TRACE_WAIT)->type);
	EXPECT_EQ(2u, trace_.header->allocs);
	EXPECT_EQ(3u, trace_.header->frees);
}

TEST_F(TraceTest, ObjectsThatComeLaterNeedAnotherWait)
{
	Call(TRACE_ALLOC, 1, 0x30);
	Call(TRACE_FREE, 2, 0x30);
	Call(TRACE_ALLOC, 1, 0x30);
	Call(TRACE_FREE, 2, 0x30);
	ASSERT_EQ("", Make());
	EXPECT_EQ("asas", Kinds(1));
	EXPECT_EQ("wfwf", Kinds(2));
	EXPECT_EQ("", Check());
}

TEST_F(TraceTest, TypesAreCachesAndSizesOfAtLeastAWord)
{
	HandOver();
	Call(TRACE_MALLOC, 1, 0x50, 100);
	ASSERT_EQ("", Make());
	ASSERT_EQ(3u, trace_.header->types);
	EXPECT_STREQ("entry", trace_.types[0].name);
	EXPECT_EQ(SIZE, trace_.types[0].size);
	EXPECT_STREQ("", trace_.types[1].name);
	EXPECT_EQ(100u, trace_.types[1].size);
	EXPECT_EQ(sizeof(uintptr_t), trace_.types[2].size);
}

TEST_F(TraceTest, ThreadsWithFewCallsShareTheFirstStream)
{
	for (uint64_t i = 1; i <= 100; i++)
		Call(TRACE_ALLOC, 1 + i % 2, i * 16);
	Call(TRACE_FREE, 3, 16);
	ASSERT_EQ("", Make());
	EXPECT_EQ(2u, trace_.header->threads);
	EXPECT_EQ("", Check());
}

TEST_F(TraceTest, ThreadsStayAsCloseAsTheyWere)
{
	for (uint64_t i = 1; i <= 200000; i++) {
		Call(TRACE_ALLOC, 1 + i % 2, i * 16);
		Call(TRACE_FREE, 1 + i % 2, i * 16);
	}
	ASSERT_EQ("", Make());
	EXPECT_EQ("", Check());
	EXPECT_NE(std::string::npos, Kinds(1).find('w'));
	EXPECT_NE(std::string::npos, Kinds(2).find('w'));
}

/* Objects cross between four threads at random, addresses are reused at once. */
TEST_F(TraceTest, AnyOrderOfCallsGivesATraceThatPassesTheCheck)
{
	std::mt19937 random(1);
	std::vector<uint64_t> live, empty;

	for (uint64_t i = 1; i <= 5000; i++)
		empty.push_back(i * 16);
	for (unsigned i = 0; i < 100000; i++) {
		auto &from = live.empty() || (random() % 2 && !empty.empty()) ? empty : live;
		auto &to = &from == &live ? empty : live;
		size_t k = random() % from.size();
		uint64_t object = from[k];

		from[k] = from.back();
		from.pop_back();
		to.push_back(object);
		Call(&to == &live ? TRACE_ALLOC : TRACE_FREE, i < 1000 ? 0 : 1 + random() % 4,
		     object);
	}
	ASSERT_EQ("", Make());
	EXPECT_EQ("", Check());
	EXPECT_EQ(99000u, trace_.header->allocs + trace_.header->frees);
}

TEST_F(TraceTest, CallsThatCannotBeAreRefused)
{
	Call(TRACE_ALLOC, 1, 0x30);
	Call(TRACE_ALLOC, 1, 0x30);
	EXPECT_EQ("an address was allocated twice without a free", Make());
	events_.clear();
	Call(TRACE_FREE, 1, 0x30);
	EXPECT_EQ("an address was freed that was not allocated", Make());
	events_.clear();
	EXPECT_EQ("nothing was recorded", Make());
	Call(TRACE_ALLOC, 0, 0x30);
	EXPECT_EQ("nothing was recorded but the set-up", Make());
}

TEST_F(TraceTest, TheCheckFindsAFreeThatDoesNotWait)
{
	HandOver();
	ASSERT_EQ("", Make());
	Find(TRACE_WAIT)->target = 0;
	EXPECT_EQ("a free does not wait for the allocation of its object", Check());
}

TEST_F(TraceTest, TheCheckFindsAWaitWithoutEnd)
{
	HandOver();
	ASSERT_EQ("", Make());
	Find(TRACE_WAIT)->target = 2;
	EXPECT_EQ("threads wait for each other forever", Check());
}

TEST_F(TraceTest, TheCheckFindsWrongFrees)
{
	HandOver();
	ASSERT_EQ("", Make());
	Find(TRACE_FREE)->target = 1;
	EXPECT_EQ("an object is freed as another type than it was allocated", Check());
	Find(TRACE_FREE)->target = 99;
	EXPECT_EQ("a step names a slot or a type that does not exist", Check());
	*Find(TRACE_FREE) = *Find(TRACE_MFREE);
	EXPECT_EQ("an object is freed that is not allocated", Check());
}

TEST_F(TraceTest, TheCheckCounts)
{
	HandOver();
	ASSERT_EQ("", Make());
	const_cast<trace_header *>(trace_.header)->allocs++;
	EXPECT_EQ("its header counts other allocations or frees than there are", Check());
	const_cast<trace_header *>(trace_.header)->allocs--;
	const_cast<trace_stream *>(trace_.streams)[3].steps--;
	EXPECT_EQ("its streams are not as long as the trace", Check());
}

TEST_F(TraceTest, AFileIsReadAsItWasWritten)
{
	HandOver();
	ASSERT_EQ("", Make());
	ASSERT_EQ("", Write());
	EXPECT_EQ("", Open());
}

TEST_F(TraceTest, OtherFilesAreRefused)
{
	HandOver();
	ASSERT_EQ("", Make());
	EXPECT_EQ("No such file or directory", Open());
	ASSERT_EQ("", Write());
	std::string good = Contents(), bad = good;

	for (size_t length : {good.size() - 1, sizeof(trace_header), size_t(10)}) {
		Replace(good.substr(0, length));
		EXPECT_EQ("it is truncated", Open());
	}
	Replace(good + "x");
	EXPECT_EQ("it is longer than its header says", Open());
	Replace("");
	EXPECT_EQ("it is no trace of allocations", Open());
	bad[0] = 'S';
	Replace(bad);
	EXPECT_EQ("it is no trace of allocations", Open());
	bad = good;
	bad[offsetof(trace_header, version)]++;
	Replace(bad);
	EXPECT_EQ("it is of another version of this benchmark; record it again", Open());
}

/* Any byte may be wrong: the check must not read beyond the trace or run forever. */
TEST_F(TraceTest, DamagedFilesDoNoHarm)
{
	std::mt19937 random(1);

	HandOver();
	ASSERT_EQ("", Make());
	ASSERT_EQ("", Write());
	const std::string good = Contents();

	for (unsigned i = 0; i < 3000; i++) {
		std::string bad = good;
		trace trace;

		bad[random() % bad.size()] ^= static_cast<char>(1 + random() % 255);
		Replace(bad);
		if (!trace_open(&trace, path_.c_str()))
			trace_close(&trace);
	}
}

TEST_F(TraceTest, AFileThatCannotBeWrittenLeavesNothing)
{
	HandOver();
	ASSERT_EQ("", Make());
	path_ += "/missing/file";
	EXPECT_EQ("No such file or directory", Write());
}

} // namespace
