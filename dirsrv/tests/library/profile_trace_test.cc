/* SPDX-License-Identifier: MIT */
/*
 * Traces: each call is a line, in the order in which it was made, and what is written can
 * be replayed whatever was going on when recording began and ended.
 */
#include "../../../tests/support/cancelled.h"
#include "profile_tools.h"
#include "profiles.h"

#include <thread>

using namespace slab_test;

namespace
{

class TraceTest : public testing::Test
{
protected:
	TraceTest() : file(dir.path() + "/calls.trace") {}

	~TraceTest() override
	{
		slab_pblock_trace_stop();
	}

	void start()
	{
		ASSERT_EQ(slab_pblock_trace_start(file.c_str()), 0);
	}

	/* Its calls, after it has been replayed. */
	std::string stop()
	{
		EXPECT_EQ(slab_pblock_trace_stop(), 0);
		return calls_of(file);
	}

	static std::string calls_of(const std::string &path)
	{
		const result got = run_tool(PBLOCK_REPLAY, {"--rounds=1", path});
		std::string calls;

		for (const std::string &line : lines_of(file_text(path)))
			calls += line[0] == '#' ? "" : line + "\n";
		if (calls != "") {
			EXPECT_EQ(got.status, 0) << got.err;
		}
		return calls;
	}

	runtime_dir dir;
	const std::string file;
};

TEST_F(TraceTest, HasALineForEachCall)
{
	start();
	EXPECT_EQ(pblock_recording, RECORD_CALLS);
	Slapi_PBlock *pblock = slapi_pblock_new();

	set_int(pblock, SLAPI_SEARCH_SCOPE, 2);
	get_int(pblock, SLAPI_SEARCH_SCOPE);
	Slapi_PBlock *clone = slapi_pblock_clone(pblock);

	get_int(clone, SLAPI_RESULT_CODE);
	slapi_pblock_init(pblock);
	slapi_pblock_destroy(pblock);
	slapi_pblock_destroy(clone);
	EXPECT_EQ(stop(), "new 1\nset 1 110\nget 1 110\nclone 1 2\nget 2 881\ninit 1\n"
			  "destroy 1\ndestroy 2\n");
	EXPECT_EQ(pblock_recording, 0U);
}

TEST_F(TraceTest, IsWrittenByAThreadWithAPendingCancellation)
{
	if (under_tsan)
		GTEST_SKIP() << "ThreadSanitizer does not see that a cancelled thread ends";
	alarm(child_seconds);
	start();
	slapi_pblock_destroy(slapi_pblock_new());
	expect_not_cancelled_within([] { EXPECT_EQ(slab_pblock_trace_stop(), 0); });
	EXPECT_EQ(calls_of(file), "new 1\ndestroy 1\n");
	expect_not_cancelled_within([this] { start(); });
	EXPECT_EQ(stop(), "");
	alarm(0);
}

TEST_F(TraceTest, PblocksFromBeforeBeginWithInitOrAreLeftOut)
{
	Slapi_PBlock *earlier = slapi_pblock_new(), *init = slapi_pblock_new();

	start();
	set_int(earlier, SLAPI_SEARCH_SCOPE, 2);
	set_int(init, SLAPI_SEARCH_SCOPE, 2);
	slapi_pblock_init(init);
	get_int(init, SLAPI_SEARCH_SCOPE);
	Slapi_PBlock *clone = slapi_pblock_clone(earlier);

	slapi_pblock_destroy(clone);
	slapi_pblock_destroy(earlier);
	slapi_pblock_destroy(init);
	EXPECT_EQ(stop(), "new 1\nget 1 110\nnew 2\ndestroy 2\ndestroy 1\n");
}

TEST_F(TraceTest, ThoseThatGoOnLivingAreDestroyedInTheEnd)
{
	start();
	Slapi_PBlock *pblock = slapi_pblock_new();

	set_int(pblock, SLAPI_SEARCH_SCOPE, 2);
	EXPECT_EQ(stop(), "new 1\nset 1 110\ndestroy 1\n");
	slapi_pblock_destroy(pblock);
}

TEST_F(TraceTest, NamesAreUsedAgain)
{
	start();
	for (int i = 0; i < 3; i++)
		slapi_pblock_destroy(slapi_pblock_new());
	EXPECT_EQ(stop(), "new 1\ndestroy 1\nnew 1\ndestroy 1\nnew 1\ndestroy 1\n");
}

TEST_F(TraceTest, GoesTogetherWithAProfile)
{
	const std::string profile_file = dir.path() + "/profile.json";

	start();
	ASSERT_EQ(slab_pblock_profile_start(profile_file.c_str()), 0);
	EXPECT_EQ(slab_pblock_trace_start("/nowhere"), -EBUSY);
	EXPECT_EQ(pblock_recording, RECORD_CALLS | RECORD_LIVES);
	Slapi_PBlock *pblock = slapi_pblock_new();

	set_int(pblock, SLAPI_SEARCH_SCOPE, 2);
	EXPECT_EQ(slab_pblock_profile_stop(), 0);
	set_int(pblock, SLAPI_SEARCH_SCOPE, 1);
	slapi_pblock_destroy(pblock);
	EXPECT_EQ(stop(), "new 1\nset 1 110\nset 1 110\ndestroy 1\n");
	EXPECT_EQ(read_profile(profile_file).parameters, (uses{{SLAPI_SEARCH_SCOPE, {0, 1}}}));
}

TEST_F(TraceTest, ASecondTraceKnowsNothingOfTheFirst)
{
	start();
	slapi_pblock_destroy(slapi_pblock_new());
	stop();
	start();
	EXPECT_EQ(stop(), "");
	EXPECT_EQ(slab_pblock_trace_stop(), -EINVAL);
}

TEST_F(TraceTest, HasRoomForAMillionCalls)
{
	start();
	pblock_record_new(stand_in(0));
	for (int i = 0; i < 1000000 + 5; i++)
		pblock_record_access(stand_in(0), 110, true);
	pblock_record_end(stand_in(0));
	const std::string calls = stop();

	EXPECT_EQ(lines_of(calls).size(), 1000001U);
	EXPECT_TRUE(contains(calls, "set 1 110\ndestroy 1\n"));
	EXPECT_TRUE(contains(file_text(file),
			     "\n# 7 later calls had no room beside the first 1000000.\n"));
}

TEST_F(TraceTest, CallsOfThreadsAreInOrder)
{
	constexpr unsigned threads = 4, rounds = 300;
	std::atomic<unsigned> turn{0};
	std::vector<std::thread> all;

	start();
	Slapi_PBlock *shared = slapi_pblock_new();

	/* One pblock goes round; each thread has others beside. */
	for (unsigned self = 0; self < threads; self++)
		all.emplace_back([&, self] {
			for (unsigned i = 0; i < rounds; i++) {
				Slapi_PBlock *own = slapi_pblock_new();

				set_int(own, SLAPI_SEARCH_SCOPE, 2);
				while (turn.load() != i * threads + self)
					std::this_thread::yield();
				if (self % 2)
					get_int(shared, SLAPI_SEARCH_SCOPE);
				else
					set_int(shared, SLAPI_SEARCH_SCOPE, 2);
				turn++;
				slapi_pblock_destroy(own);
			}
		});
	for (std::thread &thread : all)
		thread.join();
	slapi_pblock_destroy(shared);
	std::string of_shared;
	std::size_t calls = 0;

	for (const std::string &line : lines_of(stop())) {
		const std::vector<std::string> words = words_of(line);

		calls++;
		if (words[1] == "1" && words.size() == 3)
			of_shared += words[0][0];
	}
	EXPECT_EQ(calls, threads * rounds * 3 + threads * rounds + 2);
	ASSERT_EQ(of_shared.size(), threads * rounds);
	for (std::size_t i = 0; i < of_shared.size(); i++)
		ASSERT_EQ(of_shared[i], i % 2 ? 'g' : 's') << i;
}

TEST_F(TraceTest, RecordingBeginsAndEndsAmongThreads)
{
	std::atomic<bool> done{false};
	std::vector<std::thread> all;

	for (unsigned self = 0; self < 3; self++)
		all.emplace_back([&] {
			while (!done) {
				Slapi_PBlock *pblock = slapi_pblock_new();

				set_int(pblock, SLAPI_SEARCH_SCOPE, 1);
				slapi_pblock_destroy(pblock);
				std::this_thread::yield();
			}
		});
	for (int i = 0; i < 20; i++) {
		start();
		std::this_thread::yield();
		EXPECT_EQ(slab_pblock_trace_stop(), 0);
	}
	done = true;
	for (std::thread &thread : all)
		thread.join();
	calls_of(file);
}

TEST_F(TraceTest, AForkedChildRecordsWhatItDoesItself)
{
	if (under_tsan)
		GTEST_SKIP() << "children of threads call malloc";
	start();
	pblock_record_new(stand_in(0));
	const pid_t child = fork();

	if (child == 0) {
		alarm(child_seconds);
		pblock_record_new(stand_in(1));
		pblock_record_access(stand_in(1), 3, true);
		_exit(slab_pblock_trace_stop() == 0 ? 0 : 1);
	}
	EXPECT_EQ(child_failure(child), "");
	EXPECT_EQ(calls_of(file + "." + std::to_string(child)), "new 1\nset 1 3\ndestroy 1\n");
	EXPECT_EQ(stop(), "new 1\ndestroy 1\n");
}

TEST_F(TraceTest, TheEnvironmentRecordsAWholeProcess)
{
	if (running_again()) {
		slapi_pblock_destroy(slapi_pblock_new());
		exit(0);
	}
	const second_run run = run_again({"SLAB_PBLOCK_TRACE=" + file});

	EXPECT_EQ(run.failure, "") << run.output;
	EXPECT_EQ(calls_of(file), "new 1\ndestroy 1\n");
}

TEST_F(TraceTest, WantsAName)
{
	EXPECT_EQ(slab_pblock_trace_start(nullptr), -EINVAL);
	EXPECT_EQ(slab_pblock_trace_start(""), -EINVAL);
	EXPECT_EQ(slab_pblock_trace_start(std::string(5000, 'a').c_str()), -ENAMETOOLONG);
}

} /* namespace */
