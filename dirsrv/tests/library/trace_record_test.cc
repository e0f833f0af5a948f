/* SPDX-License-Identifier: MIT */
/*
 * Recording: each call is a line, in the order in which it was made, and what is written can be
 * replayed whatever was going on when recording began and ended; files, forked children, and the
 * end of a process.
 */
#include "../../../tests/support/cancelled.h"
#include "../../../tests/support/server.h"

#include <slab/dirsrv/pblock.h>
#include <slab/dirsrv/profile.h>

extern "C" {
#include "profile/record.h"
}

namespace
{

void set_int(Slapi_PBlock *pblock, int parameter, int value)
{
	EXPECT_EQ(slapi_pblock_set(pblock, parameter, &value), 0);
}

int get_int(Slapi_PBlock *pblock, int parameter)
{
	int value = -1;

	EXPECT_EQ(slapi_pblock_get(pblock, parameter, &value), 0);
	return value;
}

/* An address that stands for a pblock: recording never looks into it. */
const struct slapi_pblock *stand_in(std::uintptr_t number)
{
	return reinterpret_cast<const struct slapi_pblock *>((number + 1) * 64);
}

class TraceTest : public testing::Test
{
protected:
	TraceTest() : file(dir.path() + "/calls.trace") {}

	~TraceTest() override { slab_pblock_trace_stop(); }

	void start() { ASSERT_EQ(slab_pblock_trace_start(file.c_str()), 0); }

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
	EXPECT_EQ(pblock_quick_numbers, unsigned(SLAB_PBLOCK_NUMBERS));
	start();
	EXPECT_EQ(pblock_recording, 1U);
	EXPECT_EQ(pblock_quick_numbers, 0U);
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
	EXPECT_EQ(pblock_quick_numbers, unsigned(SLAB_PBLOCK_NUMBERS));
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

TEST_F(TraceTest, ParametersThatDoNotExistAreNotRecorded)
{
	start();
	Slapi_PBlock *pblock = slapi_pblock_new();
	int value = 0;

	for (int parameter : {-1, 0, 2047, 2048, 1 << 30}) {
		EXPECT_EQ(slapi_pblock_get(pblock, parameter, &value), -1);
		EXPECT_EQ(slapi_pblock_set(pblock, parameter, &value), -1);
	}
	slapi_pblock_destroy(pblock);
	EXPECT_EQ(stop(), "new 1\ndestroy 1\n");
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
	pblock_record(CALL_NEW, stand_in(0), 0);
	for (int i = 0; i < 1000000 + 5; i++)
		pblock_record(CALL_SET, stand_in(0), 110);
	pblock_record(CALL_DESTROY, stand_in(0), 0);
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
	join_all(all);
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
	join_all(all);
	calls_of(file);
}

TEST_F(TraceTest, AForkedChildRecordsWhatItDoesItself)
{
	if (under_tsan)
		GTEST_SKIP() << "children of threads call malloc";
	start();
	pblock_record(CALL_NEW, stand_in(0), 0);
	const pid_t child = fork();

	if (child == 0) {
		alarm(child_seconds);
		pblock_record(CALL_NEW, stand_in(1), 0);
		pblock_record(CALL_SET, stand_in(1), 3);
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

/* --- files ------------------------------------------------------------------------- */

TEST_F(TraceTest, WantsAName)
{
	EXPECT_EQ(slab_pblock_trace_start(nullptr), -EINVAL);
	EXPECT_EQ(slab_pblock_trace_start(""), -EINVAL);
	EXPECT_EQ(errno, EINVAL);
	EXPECT_EQ(slab_pblock_trace_start(std::string(5000, 'a').c_str()), -ENAMETOOLONG);
}

TEST_F(TraceTest, StartsOnceAtATime)
{
	start();
	EXPECT_EQ(slab_pblock_trace_start("/nowhere"), -EBUSY);
	EXPECT_EQ(errno, EBUSY);
	stop();
	EXPECT_FALSE(exists("/nowhere"));
}

TEST_F(TraceTest, AFileThatCannotBeWrittenLeavesNothingBehind)
{
	const std::string nowhere = dir.path() + "/no/calls.trace", taken = dir.path() + "/taken";

	ASSERT_EQ(slab_pblock_trace_start(nowhere.c_str()), 0);
	EXPECT_EQ(slab_pblock_trace_stop(), -ENOENT);
	EXPECT_EQ(errno, ENOENT);
	EXPECT_EQ(pblock_recording, 0U);
	/* A directory cannot be replaced by a file: what was written beside it must go. */
	ASSERT_EQ(mkdir(taken.c_str(), 0700), 0);
	ASSERT_EQ(slab_pblock_trace_start(taken.c_str()), 0);
	EXPECT_EQ(slab_pblock_trace_stop(), -EISDIR);
	DIR *listing = opendir(dir.path().c_str());

	while (const struct dirent *entry = readdir(listing))
		EXPECT_FALSE(contains(entry->d_name, "taken.")) << entry->d_name;
	closedir(listing);
}

TEST_F(TraceTest, ARelativeNameGoesByTheFolderOfTheStart)
{
	if (running_again()) {
		EXPECT_EQ(chdir("/"), 0);
		slapi_pblock_destroy(slapi_pblock_new());
		exit(HasFailure() ? 1 : 0);
	}
	std::vector<char> folder(PATH_MAX);

	ASSERT_NE(getcwd(folder.data(), folder.size()), nullptr);
	ASSERT_EQ(chdir(dir.path().c_str()), 0);
	const second_run run = run_again({"SLAB_PBLOCK_TRACE=calls.trace"});

	ASSERT_EQ(chdir(folder.data()), 0);
	EXPECT_EQ(run.failure, "") << run.output;
	EXPECT_EQ(calls_of(file), "new 1\ndestroy 1\n");
}

TEST_F(TraceTest, AProcessWhoseTraceCannotBeWrittenReportsIt)
{
	if (running_again())
		exit(0);
	const second_run run = run_again({"SLAB_PBLOCK_TRACE=" + dir.path() + "/no/trace"});

	EXPECT_TRUE(contains(run.output,
			     "libslab_dirsrv: the trace of pblocks was not written: " + dir.path() +
				     "/no/trace: No such file or directory\n"))
		<< run.output;
}

} /* namespace */
