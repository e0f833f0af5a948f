/* SPDX-License-Identifier: MIT */
/*
 * Tracks: the stack from the caller of a public function on, the thread, the CPU, the age;
 * and what they cost. Names of threads: track_names_test.cc.
 */
#include "../support/process.h"
#include "../support/track_apart.h"
#include "tracks.h"

namespace
{

/* A stack that is its own for each `path`: `calls` calls, each of one of two functions. */
template <bool odd>
__attribute__((noinline)) void walk_path(struct track *track, unsigned path, unsigned calls)
{
	if (calls == 0)
		public_function(track);
	else if (path & 1)
		walk_path<true>(track, path >> 1, calls - 1);
	else
		walk_path<false>(track, path >> 1, calls - 1);
	/* Without a difference compilers merge the two. */
	__asm__ volatile("" ::"i"(odd) : "memory");
}

__attribute__((noinline)) const void *deep(struct track *track, unsigned calls)
{
	const void *caller = calls ? deep(track, calls - 1) : public_function(track);

	NO_TAIL_CALL();
	return caller;
}

TEST(TrackTest, TheTopFrameIsTheCallerOfThePublicFunction)
{
	struct track track;
	const void *caller = public_function(&track);
	const struct slab_track described = describe(track);

	ASSERT_GT(described.frames, 1U);
	EXPECT_EQ(described.frame[0], caller);
}

TEST(TrackTest, FramesAreReturnAddressesInnermostFirst)
{
	struct track track;
	const void *caller = deep(&track, 3);
	const struct slab_track described = describe(track);

	ASSERT_GT(described.frames, 4U);
	EXPECT_EQ(described.frame[0], caller);
	/* deep() called itself three times, from the same place. */
	EXPECT_NE(described.frame[1], caller);
	EXPECT_EQ(described.frame[2], described.frame[1]);
	EXPECT_EQ(described.frame[3], described.frame[1]);
	EXPECT_NE(described.frame[4], described.frame[1]);
}

TEST(TrackTest, TheInnermostFramesOfADeepStackAreKept)
{
	struct track track;
	const void *caller = deep(&track, 100);
	const struct slab_track described = describe(track);

	EXPECT_EQ(described.frames, static_cast<unsigned>(SLAB_STACK_MAX));
	EXPECT_EQ(described.frame[0], caller);
	EXPECT_EQ(described.frame[SLAB_STACK_MAX - 2], described.frame[1]);
}

TEST(TrackTest, OnlyAStackThatHasMoreFramesEndsInNULL)
{
	struct track track;

	deep(&track, 0);
	const unsigned least = describe(track).frames;

	ASSERT_LT(least, static_cast<unsigned>(SLAB_STACK_MAX));
	deep(&track, SLAB_STACK_MAX - least);
	EXPECT_EQ(describe(track).frames, static_cast<unsigned>(SLAB_STACK_MAX));
	EXPECT_NE(describe(track).frame[SLAB_STACK_MAX - 1], nullptr);
	deep(&track, SLAB_STACK_MAX - least + 1);
	EXPECT_EQ(describe(track).frames, static_cast<unsigned>(SLAB_STACK_MAX));
	EXPECT_EQ(describe(track).frame[SLAB_STACK_MAX - 1], nullptr);
}

TEST(TrackTest, TheSamePlaceHasTheSameStack)
{
	std::set<std::uint32_t> stacks;
	volatile int times = 10; /* not known: the loop is not unrolled */

	while (times > 0) {
		struct track track;

		public_function(&track);
		stacks.insert(track.stack);
		times = times - 1;
	}
	EXPECT_EQ(stacks.size(), 1U);
}

TEST(TrackTest, OtherPlacesHaveOtherStacks)
{
	struct track first, second;

	public_function(&first);
	public_function(&second);
	EXPECT_NE(first.stack, second.stack);
}

TEST(TrackTest, ACallerThatIsNotOnTheStackStandsAlone)
{
	const void *no_frame = reinterpret_cast<const void *>(0x1234);
	struct track track;

	inside(&track, no_frame);
	ASSERT_EQ(describe(track).frames, 1U);
	EXPECT_EQ(describe(track).frame[0], no_frame);
}

/* As deep inside as the library never is. */
__attribute__((noinline)) void far_inside(struct track *track, const void *caller, unsigned calls)
{
	if (calls)
		far_inside(track, caller, calls - 1);
	else
		inside(track, caller);
	NO_TAIL_CALL();
}

TEST(TrackTest, ACallerBehindTooManyFramesStandsAlone)
{
	struct track track;
	std::thread([&track] {
		const void *caller = __builtin_return_address(0);

		far_inside(&track, caller, 22);
		EXPECT_EQ(describe(track).frame[0], caller);
	}).join();
	EXPECT_EQ(describe(track).frames, 1U);
}

TEST(TrackTest, WithoutACallerThereIsNoStack)
{
	struct track track;

	inside(&track, nullptr);
	EXPECT_EQ(track.stack, 0U);
	EXPECT_EQ(describe(track).tid, thread_id());
}

/* Are the two addresses of one program or library? */
bool same_object(const void *one, const void *other)
{
	Dl_info of_one = {}, of_other = {};

	return dladdr(one, &of_one) && dladdr(other, &of_other) &&
	       of_one.dli_fbase == of_other.dli_fbase;
}

/* In a shared library, frames inside of it are known by their addresses. */
TEST(TrackTest, ASharedLibraryLeavesItsOwnFramesOut)
{
	const void *no_frame = reinterpret_cast<const void *>(0x1234);
	struct slab_track described = {};

	track_apart(no_frame, &described);
	ASSERT_GT(described.frames, 1U);
	EXPECT_TRUE(same_object(described.frame[0], reinterpret_cast<const void *>(describe)));
}

TEST(TrackTest, ASharedLibraryThatCallsItselfIsNotTheCaller)
{
	struct slab_track described = {};

	track_apart_within(&described);
	ASSERT_GT(described.frames, 1U);
	EXPECT_TRUE(same_object(described.frame[0], reinterpret_cast<const void *>(describe)));
}

/* What a million objects cost, apart from 16 bytes each. */
TEST(TrackTest, ManyObjectsOfAHundredPlacesCostAHundredStacks)
{
	const unsigned objects = under_asan || under_tsan ? 10000 : 200000;
	constexpr unsigned places = 100;
	const std::size_t bytes = depot_bytes();
	const unsigned count = depot_count();
	std::set<std::uint32_t> stacks;
	struct track track;

	for (unsigned i = 0; i < objects; i++) {
		walk_path<false>(&track, i % places, 7);
		stacks.insert(track.stack);
	}
	EXPECT_EQ(stacks.size(), places);
	/* Fewer when the test is repeated: they are kept. */
	EXPECT_LE(depot_count() - count, places);
	EXPECT_LE(depot_bytes() - bytes, places * (SLAB_STACK_MAX + 1) * sizeof(void *));
}

TEST(TrackTest, TheThreadIsTheCallingOne)
{
	struct track track;

	public_function(&track);
	EXPECT_EQ(describe(track).tid, thread_id());
	std::thread([] {
		struct track other;

		public_function(&other);
		EXPECT_EQ(describe(other).tid, thread_id());
	}).join();
}

TEST(TrackTest, AForkedChildHasItsOwnThreadId)
{
	struct track before;

	public_function(&before);
	EXPECT_IN_CHILD([] {
		struct track track;

		track_after_fork_child();
		public_function(&track);
		return describe(track).tid == thread_id() ? 0 : 1;
	});
}

TEST(TrackTest, TheCpuIsThatOfTheThread)
{
	for (std::size_t i = 0; i < allowed_cpus().size(); i++) {
		struct track track;

		pin(i);
		public_function(&track);
		EXPECT_EQ(describe(track).cpu, allowed_cpus()[i]);
	}
	unpin();
}

TEST(TrackTest, ACpuThatHasNoRoomIsUnknown)
{
	struct track track;

	public_function(&track);
	track.cpu = 4095;
	EXPECT_EQ(describe(track).cpu, -1);
}

TEST(TrackTest, TheAgeIsTheTimeSinceThen)
{
	const auto start = std::chrono::steady_clock::now();
	struct track track;

	public_function(&track);
	std::this_thread::sleep_for(std::chrono::milliseconds(30));
	const std::uint64_t age = describe(track).age_ms;
	const std::chrono::duration<double, std::milli> most =
		std::chrono::steady_clock::now() - start;

	EXPECT_GE(age, 29U);
	EXPECT_LE(static_cast<double>(age), most.count() + 1);
}

TEST(TrackTest, ATrackOfLaterIsNoTimeAgo)
{
	struct track track;

	public_function(&track);
	track.when = track_now() + 1000000;
	EXPECT_EQ(describe(track).age_ms, 0U);
}

TEST(TrackTest, AnEmptyTrackDescribesNoThread)
{
	const struct track track = {};
	const struct slab_track described = describe(track);

	EXPECT_EQ(described.tid, 0);
	EXPECT_EQ(described.cpu, 0);
	EXPECT_EQ(described.age_ms, 0U);
	EXPECT_STREQ(described.thread, "");
	EXPECT_EQ(described.frames, 0U);
}

TEST(TrackTest, ErrnoIsUntouched)
{
	struct track track;

	errno = EDOM;
	public_function(&track);
	EXPECT_EQ(errno, EDOM);
}

/* --- the public functions ------------------------------------------------------------ */

/* The return address of the last call_from(): the second frame, when the first is its own. */
const void *outer;

template <typename Call>
__attribute__((noinline)) void *call_from(Call call, struct slab_cache *cache, void *obj)
{
	outer = __builtin_return_address(0);
	void *result = call(cache, obj);

	NO_TAIL_CALL();
	return result;
}

#define CALL(expression)                                                                           \
	[](struct slab_cache *cache, void *obj) __attribute__((always_inline)) -> void * {         \
		(void)cache, (void)obj;                                                            \
		return (expression);                                                               \
	}

struct stacks {
	const void *allocated, *freed;
};

void take_stacks(const struct slab_report *report, void *arg)
{
	*static_cast<struct stacks *>(arg) = {report->allocated.frame[1], report->freed.frame[1]};
}

/* Allocate, free, and free again: the report shows the first two. */
template <typename Allocate, typename Free>
void expect_callers(Allocate allocate, Free free, struct slab_cache *cache, const char *what)
{
	struct stacks seen = {}, expected = {};

	slab_set_report_handler(take_stacks, &seen);
	void *obj = call_from(allocate, cache, nullptr);
	expected.allocated = outer;
	call_from(free, cache, obj);
	expected.freed = outer;
	free(cache, obj);
	slab_set_report_handler(nullptr, nullptr);
	EXPECT_EQ(seen.allocated, expected.allocated) << what;
	EXPECT_EQ(seen.freed, expected.freed) << what;
}

TEST(TrackTest, PublicFunctionsNameTheirCallers)
{
#ifndef __OPTIMIZE__
	GTEST_SKIP() << "without optimisation, functions stay on the stack";
#endif
	if (under_asan || under_tsan || under_gcov)
		GTEST_SKIP() << "with sanitizers or counts, functions stay on the stack";
	if (!running_again()) {
		EXPECT_EQ(run_again({"SLAB_DEBUG=FU"}).failure, "");
		return;
	}
	struct slab_cache *cache = slab_cache_create("tracked", 40, 0, 0);
	const auto free = CALL((slab_free(cache, obj), nullptr));
	const auto mfree = CALL((slab_mfree(obj), nullptr));

	expect_callers(CALL(slab_alloc(cache)), free, cache, "slab_alloc, slab_free");
	expect_callers(CALL(slab_alloc_node(cache, 0)), free, cache, "slab_alloc_node");
	expect_callers(CALL((slab_alloc_bulk(cache, SLAB_ALLOC_FULL, 1, &obj), obj)), free, cache,
		       "slab_alloc_bulk");
	expect_callers(CALL(slab_alloc(cache)), CALL((slab_free_bulk(cache, 1, &obj), nullptr)),
		       cache, "slab_free_bulk");
	expect_callers(CALL(slab_malloc(40)), mfree, cache, "slab_malloc, slab_mfree");
	expect_callers(CALL(slab_malloc(40)), CALL((slab_free_sized(obj, 40), nullptr)), cache,
		       "slab_free_sized");
	expect_callers(CALL(slab_calloc(4, 10)), mfree, cache, "slab_calloc");
	expect_callers(CALL(slab_realloc(nullptr, 40)), mfree, cache, "slab_realloc");
	expect_callers(CALL(slab_memalign(64, 40)), mfree, cache, "slab_memalign");
}

/* --- signal handlers --------------------------------------------------------------- */

std::atomic<unsigned> handled, wrong;

TEST(TrackTest, ASignalHandlerIsTrackedInTheMiddleOfATrack)
{
	handled = wrong = 0;

	const interruptions timer(2000, [](int) {
		struct track track;
		const void *caller = public_function(&track);
		const struct slab_track described = describe(track);

		if (described.frames == 0 || described.frame[0] != caller)
			wrong++;
		handled++;
	});
	struct track track;

	while (handled < 100) {
		const void *caller = deep(&track, 10);
		const struct slab_track described = describe(track);

		ASSERT_GT(described.frames, 10U);
		ASSERT_EQ(described.frame[0], caller);
	}
	EXPECT_EQ(wrong, 0U);
}

} /* namespace */
