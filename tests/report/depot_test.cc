/* SPDX-License-Identifier: MIT */
/*
 * The depot: a stack is stored once and comes back as it was, whatever threads save it
 * at the same time, until the depot is full.
 */
#include "../support/process.h"
#include "../support/rooms.h"

namespace
{

using stack = std::vector<const void *>;

constexpr unsigned threads_at_once = 8;
constexpr std::size_t chunk_bytes = std::size_t{1} << DEPOT_CHUNK_SHIFT;

/* Stack number `number`: no two are equal. */
stack make_stack(std::uintptr_t number, std::size_t frames = 10)
{
	stack made;

	for (std::size_t i = 0; i < frames; i++)
		made.push_back(reinterpret_cast<const void *>(0x400000 + number * 64 + i));
	return made;
}

stack load(std::uint32_t id)
{
	const void *const *frames = nullptr;
	const unsigned n = depot_load(id, &frames);

	return stack(frames, frames + n);
}

std::uint32_t save(const stack &saved)
{
	return depot_save(saved.data(), static_cast<unsigned>(saved.size()));
}

/* A depot of the test's own, for what the library's would not survive. */
class own_depot
{
public:
	explicit own_depot(std::uint32_t chunks_max = 0) : depot_(new stack_depot())
	{
		depot_->chunks_max = chunks_max;
	}

	~own_depot()
	{
		for (void *chunk : depot_->chunk)
			if (chunk)
				os_unmap(chunk, chunk_bytes);
		if (depot_->buckets)
			os_unmap(depot_->buckets, sizeof(std::uint32_t) << DEPOT_BUCKET_BITS);
	}

	own_depot(const own_depot &) = delete;
	own_depot &operator=(const own_depot &) = delete;

	std::uint32_t add(std::uint64_t hash, const stack &added)
	{
		return depot_add(depot_.get(), hash, added.data(),
				 static_cast<unsigned>(added.size()));
	}

	/* A stack of one frame, in bucket 0; calls no malloc(). */
	void add_address(std::uintptr_t address)
	{
		const void *frame = reinterpret_cast<const void *>(address);

		depot_add(depot_.get(), 0, &frame, 1);
	}

	stack frames(std::uint32_t id) const
	{
		const void *const *frames = nullptr;
		const unsigned n = depot_frames(depot_.get(), id, &frames);

		return stack(frames, frames + n);
	}

	std::uint32_t count() const { return depot_->count; }

private:
	std::unique_ptr<stack_depot> depot_;
};

/* Let threads call work(thread) at once. */
template <typename Work> void at_once(Work work)
{
	std::atomic<unsigned> ready{0};
	std::vector<std::thread> threads;

	for (unsigned t = 0; t < threads_at_once; t++)
		threads.emplace_back([&, t] {
			ready++;
			while (ready < threads_at_once)
				sched_yield();
			work(t);
		});
	join_all(threads);
}

TEST(DepotTest, TheSameStackHasTheSameId)
{
	const std::uint32_t id = save(make_stack(1));
	const unsigned count = depot_count();
	const std::size_t bytes = depot_bytes();

	EXPECT_NE(id, 0U);
	for (int i = 0; i < 1000; i++)
		EXPECT_EQ(save(make_stack(1)), id);
	EXPECT_EQ(depot_count(), count);
	EXPECT_EQ(depot_bytes(), bytes);
}

TEST(DepotTest, DifferentStacksHaveDifferentIds)
{
	std::set<std::uint32_t> ids;

	for (std::uintptr_t i = 0; i < 10000; i++)
		ids.insert(save(make_stack(10000 + i)));
	EXPECT_EQ(ids.size(), 10000U);
	EXPECT_EQ(ids.count(0), 0U);
}

TEST(DepotTest, FramesComeBackExactly)
{
	for (std::size_t frames = 1; frames <= SLAB_STACK_MAX; frames++)
		EXPECT_EQ(load(save(make_stack(2, frames))), make_stack(2, frames));
}

TEST(DepotTest, TheBeginningOfAStackIsAnotherStack)
{
	EXPECT_NE(save(make_stack(3, 4)), save(make_stack(3, 5)));
}

TEST(DepotTest, TheSameFramesInAnotherOrderAreAnotherStack)
{
	const stack forwards = make_stack(4);
	const stack backwards(forwards.rbegin(), forwards.rend());

	EXPECT_NE(save(forwards), save(backwards));
}

TEST(DepotTest, TheOuterFramesOfATooDeepStackAreLeftOut)
{
	EXPECT_EQ(load(save(make_stack(5, SLAB_STACK_MAX + 3))), make_stack(5, SLAB_STACK_MAX));
}

TEST(DepotTest, NoFramesAreNoStack)
{
	EXPECT_EQ(depot_save(nullptr, 0), 0U);
	EXPECT_EQ(load(0), stack());
}

TEST(DepotTest, AnIdThatWasNeverReturnedHasNoFrames)
{
	EXPECT_EQ(load(static_cast<std::uint32_t>(depot_bytes() / 8 + 1000)), stack());
	EXPECT_EQ(load(UINT32_MAX), stack());
}

TEST(DepotTest, EqualHashesDoNotMixStacks)
{
	const std::uint64_t hash = UINT64_C(0x123456789abcdef0);
	own_depot depot;
	std::vector<std::uint32_t> ids;

	for (std::uintptr_t i = 0; i < 1000; i++)
		ids.push_back(depot.add(hash, make_stack(i, 1 + i % SLAB_STACK_MAX)));
	EXPECT_EQ(depot.count(), 1000U);
	for (std::uintptr_t i = 0; i < 1000; i++) {
		EXPECT_EQ(depot.frames(ids[i]), make_stack(i, 1 + i % SLAB_STACK_MAX));
		EXPECT_EQ(depot.add(hash, make_stack(i, 1 + i % SLAB_STACK_MAX)), ids[i]);
	}
}

TEST(DepotTest, EqualBucketsDoNotMixStacks)
{
	own_depot depot;
	const std::uint32_t first = depot.add(1, make_stack(1));
	const std::uint32_t second = depot.add(2, make_stack(2));

	EXPECT_NE(first, second);
	EXPECT_EQ(depot.add(1, make_stack(1)), first);
	EXPECT_EQ(depot.add(2, make_stack(2)), second);
}

/* As random numbers would: 50000 of them hit 35000 of 65536 buckets, and ten pairs
 * are equal in the 27 bits that are compared first. */
TEST(DepotTest, HashesOfStacksAreSpreadEvenly)
{
	std::set<std::uint64_t> buckets, compared;

	for (std::uintptr_t i = 0; i < 50000; i++) {
		const stack hashed = make_stack(i, 3);
		const std::uint64_t hash =
			depot_hash(hashed.data(), static_cast<unsigned>(hashed.size()));

		buckets.insert(hash >> (64 - DEPOT_BUCKET_BITS));
		compared.insert(hash & ((1U << 27) - 1));
	}
	EXPECT_GT(buckets.size(), 33000U);
	EXPECT_GT(compared.size(), 49900U);
}

TEST(DepotTest, ThreadsThatSaveTheSameStacksAtOnceGetTheSameIds)
{
	constexpr std::uintptr_t stacks = 1000;
	/* Others each time that the test is repeated: they are kept. */
	static std::uintptr_t first = 500000;
	std::vector<std::uint32_t> ids[threads_at_once];
	const unsigned before = depot_count();

	first += stacks;
	at_once([&](unsigned t) {
		for (std::uintptr_t i = 0; i < stacks; i++)
			ids[t].push_back(save(make_stack(first + i)));
	});
	EXPECT_EQ(depot_count(), before + stacks);
	for (const std::vector<std::uint32_t> &other : ids)
		EXPECT_EQ(other, ids[0]);
	for (std::uintptr_t i = 0; i < stacks; i++)
		EXPECT_EQ(load(ids[0][i]), make_stack(first + i));
}

/* One bucket, so that each exchange fails now and then. */
TEST(DepotTest, ThreadsThatSaveIntoOneBucketLoseNothing)
{
	constexpr std::uintptr_t stacks = 500;
	own_depot depot;
	std::vector<std::uint32_t> ids[threads_at_once];

	at_once([&](unsigned t) {
		for (std::uintptr_t i = 0; i < stacks; i++)
			ids[t].push_back(depot.add(0, make_stack(i)));
	});
	EXPECT_EQ(depot.count(), stacks);
	for (const std::vector<std::uint32_t> &other : ids)
		EXPECT_EQ(other, ids[0]);
	for (std::uintptr_t i = 0; i < stacks; i++)
		EXPECT_EQ(depot.frames(ids[0][i]), make_stack(i));
}

TEST(DepotTest, AFullDepotKnowsWhatItHas)
{
	constexpr std::size_t frames = 10;
	/* The first unit of 8 bytes is no record's: no id is 0. */
	constexpr std::uintptr_t fit = (chunk_bytes / 8 - 1) / (1 + frames);
	own_depot depot(1);

	for (std::uintptr_t i = 0; i < fit; i++)
		ASSERT_NE(depot.add(i << 40, make_stack(i, frames)), 0U) << i;
	EXPECT_EQ(depot.add(fit << 40, make_stack(fit, frames)), 0U);
	EXPECT_EQ(depot.count(), fit);
	for (std::uintptr_t i = 0; i < fit; i++)
		ASSERT_EQ(depot.frames(depot.add(i << 40, make_stack(i, frames))),
			  make_stack(i, frames));
}

TEST(DepotTest, StacksOfManyChunksComeBackExactly)
{
	constexpr std::size_t frames = SLAB_STACK_MAX;
	constexpr std::uintptr_t fit = 3 * (chunk_bytes / 8 / (1 + frames));
	own_depot depot(3);
	std::vector<std::uint32_t> ids;

	for (std::uintptr_t i = 0; i < fit; i++)
		ids.push_back(depot.add(i << 40, make_stack(i, frames)));
	for (std::uintptr_t i = 0; i < fit; i++)
		ASSERT_EQ(depot.frames(ids[i]), make_stack(i, frames)) << i;
	EXPECT_EQ(depot.add(fit << 40, make_stack(fit, frames)), 0U);
}

TEST(DepotTest, WithoutMemoryNothingIsSavedUntilThereIsSome)
{
	if (under_asan || under_tsan)
		GTEST_SKIP() << "sanitizers need address space of their own";
	EXPECT_IN_CHILD([] {
		struct rlimit none = {}, before = {};
		own_depot depot;

		getrlimit(RLIMIT_AS, &before);
		none = before;
		none.rlim_cur = 1;
		setrlimit(RLIMIT_AS, &none);
		errno = EDOM;
		const std::uint32_t refused = depot.add(1, make_stack(1));
		const int error = errno;
		setrlimit(RLIMIT_AS, &before);
		const std::uint32_t id = depot.add(1, make_stack(1));

		return refused == 0 && error == EDOM && id != 0 && depot.frames(id) == make_stack(1)
			       ? 0
			       : 1;
	});
}

TEST(DepotTest, AForkedChildHasTheStacksAndCanSaveMore)
{
	const std::uint32_t id = save(make_stack(6));

	EXPECT_IN_CHILD([id] {
		const std::uint32_t more = save(make_stack(7));

		return save(make_stack(6)) == id && more != id && load(more) == make_stack(7) ? 0
											      : 1;
	});
}

/* What the signal handler works on, and how often. */
own_depot *interrupted;
std::atomic<std::uintptr_t> saved_now;
std::atomic<unsigned> handled;

void save_in_handler(int)
{
	interrupted->add_address(saved_now);
	handled++;
}

/* The handler saves what the interrupted save is about. */
TEST(DepotTest, ASignalHandlerCanSaveTheSameStackInTheMiddleOfASave)
{
	own_depot depot;

	interrupted = &depot;
	saved_now = 0;
	handled = 0;
	depot.add_address(saved_now); /* the first signal may come before the loop begins */
	{
		const interruptions timer(2000, save_in_handler);

		do {
			saved_now++;
			depot.add_address(saved_now);
		} while (handled < 200);
	}
	EXPECT_EQ(depot.count(), saved_now + 1);
}

} /* namespace */
