/* SPDX-License-Identifier: MIT */
/* The names of threads that tracks keep. */
#include "../support/process.h"
#include "tracks.h"

namespace
{

/* As many tracks as make a renamed thread's new name known. */
struct track finished_track()
{
	struct track track;

	for (int i = 0; i < 256; i++)
		public_function(&track);
	return track;
}

TEST(TrackTest, AThreadHasTheNameItStartedWith)
{
	std::thread([] {
		struct track track;

		pthread_setname_np(pthread_self(), "exactly-15-long");
		public_function(&track);
		EXPECT_STREQ(describe(track).thread, "exactly-15-long");
	}).join();
}

TEST(TrackTest, ARenamedThreadHasItsNewNameSoon)
{
	std::thread([] {
		pthread_setname_np(pthread_self(), "before");
		EXPECT_STREQ(describe(finished_track()).thread, "before");
		pthread_setname_np(pthread_self(), "after");
		EXPECT_STREQ(describe(finished_track()).thread, "after");
	}).join();
}

/* As most are: something is allocated before the thread names itself. */
TEST(TrackTest, AThreadThatNamesItselfEarlyIsKnownAtOnce)
{
	std::thread([] {
		struct track track;

		for (int i = 0; i < 4; i++)
			public_function(&track);
		pthread_setname_np(pthread_self(), "named-early");
		public_function(&track);
		EXPECT_STREQ(describe(track).thread, "named-early");
	}).join();
}

TEST(TrackTest, ATrackKeepsTheNameThatTheThreadHadThen)
{
	std::thread([] {
		pthread_setname_np(pthread_self(), "then");
		const struct track then = finished_track();

		pthread_setname_np(pthread_self(), "now");
		EXPECT_STREQ(describe(finished_track()).thread, "now");
		EXPECT_STREQ(describe(then).thread, "then");
	}).join();
}

TEST(TrackTest, AThreadMayHaveNoName)
{
	std::thread([] {
		struct track track;

		pthread_setname_np(pthread_self(), "");
		public_function(&track);
		EXPECT_EQ(track.name, 0U);
		EXPECT_STREQ(describe(track).thread, "");
	}).join();
}

/* Track once in a new thread of that name. */
struct track track_as(const std::string &name)
{
	struct track track;

	std::thread([&] {
		pthread_setname_np(pthread_self(), name.c_str());
		public_function(&track);
	}).join();
	return track;
}

TEST(TrackTest, EqualNamesAreOneName)
{
	EXPECT_EQ(track_as("twins").name, track_as("twins").name);
	EXPECT_NE(track_as("twins").name, track_as("twin").name);
	EXPECT_NE(track_as("same-start-1").name, track_as("same-start-2").name);
}

TEST(TrackTest, ThreadsThatStartAtOnceKeepTheirNames)
{
	constexpr unsigned threads = 8, rounds = 20;

	for (unsigned round = 0; round < rounds; round++) {
		std::vector<std::thread> started;
		std::atomic<unsigned> ready{0};

		for (unsigned t = 0; t < threads; t++)
			started.emplace_back([&, t] {
				/* Two each have the same name, all the same beginning. */
				const std::string name = "at-once-" + std::to_string(round) + "-" +
							 std::to_string(t / 2);
				struct track track;

				pthread_setname_np(pthread_self(), name.c_str());
				ready++;
				while (ready < threads)
					sched_yield();
				public_function(&track);
				EXPECT_EQ(describe(track).thread, name);
			});
		join_all(started);
	}
}

TEST(TrackTest, WhenThereIsNoRoomForMoreNamesThreadsAreNameless)
{
	EXPECT_IN_CHILD([] {
		const struct track first = track_as("name-first");
		unsigned named = 0;

		for (unsigned i = 0; i < 4200; i++)
			named += track_as("name-" + std::to_string(i)).name != 0;
			  /* This test's program had some already. */
		if (named < 4000 || named > 4094)
			return 1;
		if (track_as("one-too-many").name != 0)
			return 2;
		return std::strcmp(describe(first).thread, "name-first") == 0 ? 0 : 3;
	});
}

} /* namespace */
