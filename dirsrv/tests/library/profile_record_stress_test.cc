/* SPDX-License-Identifier: MIT */
/*
 * Recording by many threads at once: no access is lost and none counted twice, whether
 * pblocks stay with a thread or are handed on, and recording may begin and end meanwhile.
 */
#include "profiles.h"

#include <atomic>
#include <thread>

using namespace slab_test;

namespace
{

constexpr unsigned threads = 4;

template <typename Body> void in_threads(Body body)
{
	std::vector<std::thread> all;

	for (unsigned i = 0; i < threads; i++)
		all.emplace_back(body, i);
	for (std::thread &thread : all)
		thread.join();
}

TEST_F(ProfileTest, NoAccessIsLost)
{
	constexpr unsigned lives = 3000;

	start();
	in_threads([](unsigned) {
		for (unsigned i = 0; i < lives; i++) {
			Slapi_PBlock *pblock = slapi_pblock_new();

			set_int(pblock, SLAPI_SEARCH_SCOPE, 1);
			if (i % 2)
				get_int(pblock, SLAPI_RESULT_CODE);
			slapi_pblock_destroy(pblock);
		}
	});
	const profile read = stop();

	EXPECT_EQ(read.pblocks, threads * lives);
	EXPECT_EQ(read.dropped_pblocks + read.dropped_accesses, 0U);
	EXPECT_EQ(read.parameters, (uses{{SLAPI_SEARCH_SCOPE, {0, threads * lives}},
					 {SLAPI_RESULT_CODE, {threads * lives / 2, 0}}}));
	EXPECT_EQ(read.kinds.size(), 2U);
}

TEST_F(ProfileTest, APblockIsHandedFromThreadToThread)
{
	constexpr unsigned rounds = 2000;
	std::atomic<unsigned> turn{0};

	start();
	Slapi_PBlock *pblock = slapi_pblock_new();

	in_threads([&](unsigned self) {
		for (unsigned i = 0; i < rounds; i++) {
			while (turn.load() != i * threads + self)
				std::this_thread::yield();
			set_int(pblock, SLAPI_SEARCH_SCOPE, 1);
			turn++;
		}
	});
	slapi_pblock_destroy(pblock);
	const profile read = stop();

	EXPECT_EQ(read.pblocks, 1U);
	EXPECT_EQ(read.parameters, (uses{{SLAPI_SEARCH_SCOPE, {0, threads * rounds}}}));
}

TEST_F(ProfileTest, RecordingBeginsAndEndsAmongThreads)
{
	std::atomic<bool> done{false};
	std::thread control([&] {
		for (int i = 0; i < 40; i++) {
			EXPECT_EQ(slab_pblock_profile_start(file.c_str()), 0);
			std::this_thread::yield();
			EXPECT_EQ(slab_pblock_profile_stop(), 0);
		}
		done = true;
	});

	in_threads([&](unsigned) {
		while (!done) {
			Slapi_PBlock *pblock = slapi_pblock_new();

			set_int(pblock, SLAPI_SEARCH_SCOPE, 1);
			EXPECT_EQ(get_int(pblock, SLAPI_SEARCH_SCOPE), 1);
			slapi_pblock_destroy(pblock);
		}
	});
	control.join();
	const profile read = read_profile(file);
	std::uint64_t pblocks = 0;

	for (const kind_of_life &kind : read.kinds)
		pblocks += kind.pblocks;
	EXPECT_EQ(pblocks, read.pblocks + read.earlier);
}

TEST_F(ProfileTest, ChildrenAreForkedWhileThreadsRecord)
{
	std::atomic<bool> done{false};
	std::vector<std::string> failures;

	start();
	std::thread control([&] {
		/* Nothing is allocated in the child. */
		for (int i = 0; i < 20; i++)
			failures.push_back(run_in_child([] {
				pblock_record_new(stand_in(0));
				pblock_record_access(stand_in(0), 3, true);
				pblock_record_end(stand_in(0));
				return 0;
			}));
		done = true;
	});

	in_threads([&](unsigned self) {
		for (unsigned i = 1; !done; i++) {
			pblock_record_new(stand_in(i * threads + self));
			pblock_record_access(stand_in(i * threads + self), 3, true);
			pblock_record_end(stand_in(i * threads + self));
		}
	});
	control.join();
	EXPECT_EQ(failures, std::vector<std::string>(20));
	EXPECT_EQ(stop().earlier, 0U);
}

} /* namespace */
