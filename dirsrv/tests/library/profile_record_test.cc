/* SPDX-License-Identifier: MIT */
/*
 * Recording: what is counted, for which pblocks, into which file, and what becomes of it
 * without memory, in forked children, and at the end of a process.
 */
#include "../../../tests/support/cancelled.h"
#include "profiles.h"

using namespace slab_test;

namespace
{

TEST_F(ProfileTest, IsOffByDefault)
{
	EXPECT_EQ(pblock_recording, 0U);
	EXPECT_EQ(pblock_quick_numbers, unsigned(SLAB_PBLOCK_NUMBERS));
	start();
	EXPECT_EQ(pblock_recording, 1U);
	EXPECT_EQ(pblock_quick_numbers, 0U);
	stop();
	EXPECT_EQ(pblock_recording, 0U);
	EXPECT_EQ(pblock_quick_numbers, unsigned(SLAB_PBLOCK_NUMBERS));
}

TEST_F(ProfileTest, CountsGetsAndSetsOfEachParameter)
{
	start();
	Slapi_PBlock *pblock = slapi_pblock_new();

	set_int(pblock, SLAPI_SEARCH_SCOPE, 2);
	set_int(pblock, SLAPI_SEARCH_SCOPE, 1);
	get_int(pblock, SLAPI_SEARCH_SCOPE);
	get_int(pblock, SLAPI_RESULT_CODE);
	slapi_pblock_destroy(pblock);
	const profile read = stop();

	EXPECT_EQ(read.parameters,
		  (uses{{SLAPI_SEARCH_SCOPE, {1, 2}}, {SLAPI_RESULT_CODE, {1, 0}}}));
	ASSERT_EQ(read.kinds.size(), 1U);
	EXPECT_EQ(read.kinds[0].parameters, read.parameters);
	EXPECT_TRUE(read.kinds[0].whole);
	EXPECT_EQ(read.pblocks, 1U);
}

TEST_F(ProfileTest, PblocksThatUseTheSameParametersAreOneKind)
{
	start();
	for (int times : {1, 3}) {
		pblock_record_new(stand_in(0));
		for (int i = 0; i < times; i++)
			pblock_record_access(stand_in(0), 3, true);
		pblock_record_access(stand_in(0), 712, false);
		pblock_record_end(stand_in(0));
	}
	const profile read = stop();

	ASSERT_EQ(read.kinds.size(), 1U);
	EXPECT_EQ(read.kinds[0].pblocks, 2U);
	EXPECT_EQ(read.kinds[0].parameters, (uses{{3, {0, 4}}, {712, {2, 0}}}));
}

TEST_F(ProfileTest, TheOrderOfAccessesMakesNoOtherKind)
{
	start();
	for (bool turned : {false, true}) {
		pblock_record_new(stand_in(0));
		for (int i = 0; i < 25; i++)
			pblock_record_access(stand_in(0), turned ? 24 - i : i, true);
		pblock_record_end(stand_in(0));
	}
	EXPECT_EQ(stop().kinds.size(), 1U);
}

TEST_F(ProfileTest, ReadingAParameterIsAnotherKindThanSettingIt)
{
	start();
	for (bool set : {false, true}) {
		pblock_record_new(stand_in(0));
		pblock_record_access(stand_in(0), 3, set);
		pblock_record_end(stand_in(0));
	}
	EXPECT_EQ(stop().kinds.size(), 2U);
}

TEST_F(ProfileTest, FrequentKindsComeFirst)
{
	start();
	for (int i = 0; i < 6; i++) {
		pblock_record_new(stand_in(0));
		pblock_record_access(stand_in(0), i < 1 ? 3 : i < 3 ? 130 : 131, true);
		pblock_record_end(stand_in(0));
	}
	const profile read = stop();

	ASSERT_EQ(read.kinds.size(), 3U);
	EXPECT_EQ(read.kinds[0].pblocks, 3U);
	EXPECT_EQ(read.kinds[1].pblocks, 2U);
	EXPECT_EQ(read.kinds[2].pblocks, 1U);
}

TEST_F(ProfileTest, InitBeginsAnotherLife)
{
	start();
	Slapi_PBlock *pblock = slapi_pblock_new();

	set_int(pblock, SLAPI_SEARCH_SCOPE, 2);
	slapi_pblock_init(pblock);
	get_int(pblock, SLAPI_SEARCH_SCOPE);
	slapi_pblock_destroy(pblock);
	const profile read = stop();

	EXPECT_EQ(read.pblocks, 2U);
	ASSERT_EQ(read.kinds.size(), 2U);
	EXPECT_TRUE(read.kinds[0].whole && read.kinds[1].whole);
}

TEST_F(ProfileTest, ACloneIsAPblockOfItsOwn)
{
	start();
	Slapi_PBlock *pblock = slapi_pblock_new();

	set_int(pblock, SLAPI_SEARCH_SCOPE, 2);
	Slapi_PBlock *clone = slapi_pblock_clone(pblock);

	get_int(clone, SLAPI_SEARCH_SCOPE);
	slapi_pblock_destroy(clone);
	slapi_pblock_destroy(pblock);
	const profile read = stop();

	EXPECT_EQ(read.pblocks, 2U);
	EXPECT_EQ(read.earlier, 0U);
	EXPECT_EQ(read.kinds.size(), 2U);
}

TEST_F(ProfileTest, APblockWhoseEndWasNotSeenEndsWhenAnotherBegins)
{
	start();
	for (int parameter : {3, 130}) {
		pblock_record_new(stand_in(0));
		pblock_record_access(stand_in(0), parameter, true);
	}
	pblock_record_end(stand_in(0));
	const profile read = stop();

	EXPECT_EQ(read.pblocks, 2U);
	ASSERT_EQ(read.kinds.size(), 2U);
	EXPECT_EQ(read.kinds[0].parameters.size(), 1U);
	EXPECT_EQ(read.kinds[1].parameters.size(), 1U);
}

TEST_F(ProfileTest, PblocksFromBeforeAreCountedApart)
{
	Slapi_PBlock *pblock = slapi_pblock_new();

	start();
	set_int(pblock, SLAPI_SEARCH_SCOPE, 2);
	slapi_pblock_destroy(pblock);
	const profile read = stop();

	EXPECT_EQ(read.pblocks, 0U);
	EXPECT_EQ(read.earlier, 1U);
	ASSERT_EQ(read.kinds.size(), 1U);
	EXPECT_FALSE(read.kinds[0].whole);
	EXPECT_EQ(read.parameters, (uses{{SLAPI_SEARCH_SCOPE, {0, 1}}}));
}

TEST_F(ProfileTest, PblocksThatGoOnLivingCount)
{
	start();
	Slapi_PBlock *pblock = slapi_pblock_new();

	set_int(pblock, SLAPI_SEARCH_SCOPE, 2);
	const profile read = stop();

	EXPECT_EQ(read.pblocks, 1U);
	EXPECT_EQ(read.alive, 1U);
	ASSERT_EQ(read.kinds.size(), 1U);
	EXPECT_TRUE(read.kinds[0].whole);
	slapi_pblock_destroy(pblock);
}

TEST_F(ProfileTest, ASecondRecordingKnowsNothingOfTheFirst)
{
	start();
	pblock_record_new(stand_in(0));
	pblock_record_access(stand_in(0), 3, true);
	stop();
	start();
	const profile read = stop();

	EXPECT_EQ(read.pblocks + read.earlier + read.alive, 0U);
	EXPECT_TRUE(read.kinds.empty());
}

TEST_F(ProfileTest, ParametersThatDoNotExistAreNotRecorded)
{
	start();
	Slapi_PBlock *pblock = slapi_pblock_new();
	int value = 0;

	for (int parameter : {-1, 0, 2047, 2048, 1 << 30}) {
		EXPECT_EQ(slapi_pblock_get(pblock, parameter, &value), -1);
		EXPECT_EQ(slapi_pblock_set(pblock, parameter, &value), -1);
		pblock_record_access(pblock, parameter < 2048 ? -1 : parameter, true);
	}
	slapi_pblock_destroy(pblock);
	EXPECT_TRUE(stop().parameters.empty());
}

TEST_F(ProfileTest, AllParametersOfOnePblock)
{
	start();
	pblock_record_new(stand_in(0));
	for (int parameter = 0; parameter < 2048; parameter++)
		for (int i = 0; i <= parameter % 3; i++)
			pblock_record_access(stand_in(0), parameter, true);
	pblock_record_end(stand_in(0));
	const profile read = stop();

	ASSERT_EQ(read.parameters.size(), 2048U);
	for (const auto &use : read.parameters)
		EXPECT_EQ(use.second.second, static_cast<unsigned>(use.first) % 3 + 1) << use.first;
}

/* --- starting and stopping --------------------------------------------------------- */

TEST_F(ProfileTest, StartsOnceAtATime)
{
	start();
	EXPECT_EQ(slab_pblock_profile_start("/nowhere"), -EBUSY);
	EXPECT_EQ(errno, EBUSY);
	stop();
	EXPECT_FALSE(exists("/nowhere"));
}

TEST_F(ProfileTest, WantsAName)
{
	EXPECT_EQ(slab_pblock_profile_start(nullptr), -EINVAL);
	EXPECT_EQ(slab_pblock_profile_start(""), -EINVAL);
	EXPECT_EQ(errno, EINVAL);
	EXPECT_EQ(slab_pblock_profile_start(std::string(5000, 'a').c_str()), -ENAMETOOLONG);
	EXPECT_EQ(slab_pblock_profile_stop(), -EINVAL);
}

TEST_F(ProfileTest, AFileThatCannotBeWrittenLeavesNothingBehind)
{
	const std::string nowhere = dir.path() + "/no/profile.json";

	ASSERT_EQ(slab_pblock_profile_start(nowhere.c_str()), 0);
	EXPECT_EQ(slab_pblock_profile_stop(), -ENOENT);
	EXPECT_EQ(errno, ENOENT);
	EXPECT_EQ(pblock_recording, 0U);
	start();
	stop();
}

TEST_F(ProfileTest, TheFileIsCompleteOrTheOneBefore)
{
	const std::string taken = dir.path() + "/taken";

	/* A directory cannot be replaced by a file: what was written beside it must go. */
	ASSERT_EQ(mkdir(taken.c_str(), 0700), 0);
	ASSERT_EQ(slab_pblock_profile_start(taken.c_str()), 0);
	EXPECT_EQ(slab_pblock_profile_stop(), -EISDIR);
	DIR *listing = opendir(dir.path().c_str());

	while (const struct dirent *entry = readdir(listing))
		EXPECT_FALSE(contains(entry->d_name, "taken.")) << entry->d_name;
	closedir(listing);
}

TEST_F(ProfileTest, IsWrittenByAThreadWithAPendingCancellation)
{
	if (under_tsan)
		GTEST_SKIP() << "ThreadSanitizer does not see that a cancelled thread ends";
	alarm(child_seconds);
	start();
	slapi_pblock_destroy(slapi_pblock_new());
	expect_not_cancelled_within([] { EXPECT_EQ(slab_pblock_profile_stop(), 0); });
	EXPECT_EQ(read_profile(file).pblocks, 1U);
	expect_not_cancelled_within([this] { start(); });
	stop();
	alarm(0);
}

TEST_F(ProfileTest, ARelativeNameGoesByTheFolderOfTheStart)
{
	if (running_again()) {
		EXPECT_EQ(chdir("/"), 0);
		slapi_pblock_destroy(slapi_pblock_new());
		exit(HasFailure() ? 1 : 0);
	}
	std::vector<char> folder(PATH_MAX);

	ASSERT_NE(getcwd(folder.data(), folder.size()), nullptr);
	ASSERT_EQ(chdir(dir.path().c_str()), 0);
	const second_run run = run_again({"SLAB_PBLOCK_PROFILE=profile.json"});

	ASSERT_EQ(chdir(folder.data()), 0);
	EXPECT_EQ(run.failure, "") << run.output;
	EXPECT_EQ(read_profile(file).pblocks, 1U);
}

/* --- memory ------------------------------------------------------------------------ */

/* Some lives, with parameters for several pieces of memory. */
void live(int pblocks)
{
	for (int pblock = 0; pblock < pblocks; pblock++) {
		pblock_record_new(stand_in(static_cast<unsigned>(pblock)));
		for (int parameter = 0; parameter < 35; parameter++)
			pblock_record_access(stand_in(static_cast<unsigned>(pblock)),
					     pblock * 40 + parameter, true);
	}
	for (int pblock = 0; pblock < pblocks; pblock++)
		pblock_record_end(stand_in(static_cast<unsigned>(pblock)));
}

std::uint64_t sets(const profile &read)
{
	std::uint64_t all = 0;

	for (const auto &use : read.parameters)
		all += use.second.second;
	return all;
}

TEST_F(ProfileTest, EveryAllocationFailsInTurn)
{
	for (int interval = 1; interval <= 30; interval++) {
		start();
		const std::string spec =
			"cache=profile_*,times=-1,interval=" + std::to_string(interval);

		ASSERT_EQ(slab_set_fail(spec.c_str()), 0);
		errno = 0;
		live(5);
		EXPECT_EQ(errno, 0);
		ASSERT_EQ(slab_set_fail(nullptr), 0);
		const profile read = stop();

		EXPECT_EQ(sets(read) + read.dropped_accesses, 175U) << interval;
		EXPECT_EQ(read.dropped_accesses + read.dropped_pblocks > 0, interval <= 25)
			<< interval;
	}
}

TEST_F(ProfileTest, MemoryIsBounded)
{
	constexpr unsigned many = 400000;

	start();
	for (unsigned pblock = 0; pblock < many; pblock++)
		pblock_record_new(stand_in(pblock));
	const profile read = stop();

	EXPECT_GT(read.dropped_pblocks, 0U);
	EXPECT_GT(read.pblocks, 100000U);
	EXPECT_EQ(read.pblocks + read.dropped_pblocks, many);
}

TEST_F(ProfileTest, StartingWithoutMemoryFails)
{
	ASSERT_EQ(slab_set_fail("times=-1"), 0);
	const int status = slab_pblock_profile_start(file.c_str());

	ASSERT_EQ(slab_set_fail(nullptr), 0);
	EXPECT_TRUE(status == 0 || status == -ENOMEM);
	if (status == 0)
		stop();
	start();
	live(1);
	EXPECT_EQ(sets(stop()), 35U);
}

/* --- processes --------------------------------------------------------------------- */

TEST_F(ProfileTest, AForkedChildRecordsWhatItDoesItself)
{
	if (under_tsan)
		GTEST_SKIP() << "children of threads call malloc";
	start();
	live(3);
	pblock_record_new(stand_in(100));
	const pid_t child = fork();

	if (child == 0) {
		alarm(child_seconds);
		live(1);
		_exit(slab_pblock_profile_stop() == 0 ? 0 : 1);
	}
	EXPECT_EQ(child_failure(child), "");
	const profile in_child = read_profile(file + "." + std::to_string(child)), parents = stop();

	EXPECT_EQ(in_child.pblocks, 1U);
	EXPECT_EQ(sets(in_child), 35U);
	EXPECT_EQ(parents.pblocks, 4U);
	EXPECT_EQ(sets(parents), 105U);
}

TEST_F(ProfileTest, TheEnvironmentRecordsAWholeProcess)
{
	if (running_again()) {
		Slapi_PBlock *pblock = slapi_pblock_new();

		EXPECT_EQ(slab_pblock_profile_start("/nowhere"), -EBUSY);
		set_int(pblock, SLAPI_SEARCH_SCOPE, 2);
		slapi_pblock_destroy(pblock);
		/* The end of the fixture would end recording too early. */
		exit(HasFailure() ? 1 : 0);
	}
	const second_run run = run_again({"SLAB_PBLOCK_PROFILE=" + file});

	EXPECT_EQ(run.failure, "") << run.output;
	EXPECT_EQ(read_profile(file).parameters, (uses{{SLAPI_SEARCH_SCOPE, {0, 1}}}));
}

TEST_F(ProfileTest, AProcessWhoseProfileCannotBeWrittenReportsIt)
{
	if (running_again())
		exit(0);
	const second_run run = run_again({"SLAB_PBLOCK_PROFILE=" + dir.path() + "/no/profile"});

	EXPECT_TRUE(contains(run.output,
			     "libslab_dirsrv: the profile of pblocks was not written: " +
				     dir.path() + "/no/profile: No such file or directory\n"))
		<< run.output;
}

} /* namespace */
