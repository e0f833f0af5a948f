/* SPDX-License-Identifier: MIT */
/* What each section does, and when it misses, with every engine. */
#include "fixture.h"
#include "../support/process.h"

namespace
{

class SectionTest : public EngineTest
{
};

INSTANTIATE_TEST_SUITE_P(Engines, SectionTest, all_engines(), engine_name);

/* pop and push */

TEST_P(SectionTest, PopGivesTheNewestObjectFirst)
{
	for (std::size_t i = 0; i < 4; i++)
		EXPECT_EQ(push(i), CPU_DONE);
	for (std::size_t i = 4; i-- > 0;)
		EXPECT_EQ(pop(), object(i));
}

TEST_P(SectionTest, PopMissesOnAnEmptyArray)
{
	EXPECT_EQ(pop(), nullptr);
	EXPECT_EQ(push(0), CPU_DONE);
	EXPECT_EQ(pop(), object(0));
	EXPECT_EQ(pop(), nullptr);
	EXPECT_EQ(cpu_array_count(array_), 0u);
}

TEST_P(SectionTest, ObjectsBelowStayAsTheyWereOverPopsAndPushes)
{
	for (std::size_t i = 0; i < 5; i++)
		push(i);
	pop();
	pop();
	push(7);
	push(8);
	EXPECT_EQ(held(), (objects{object(0), object(1), object(2), object(7), object(8)}));
	pop();
	push(9);
	EXPECT_EQ(held(), (objects{object(0), object(1), object(2), object(7), object(9)}));
}

TEST_P(SectionTest, PushMissesOnAFullArray)
{
	for (std::size_t i = 0; i < room_; i++)
		EXPECT_EQ(push(i), CPU_DONE);
	EXPECT_EQ(push(room_), CPU_MISS);
	EXPECT_EQ(held(), objects_from(0, room_));
}

/* The next array of the row begins there. */
TEST_P(SectionTest, NothingIsWrittenBehindAFullArray)
{
	for (bool is_long : {false, true}) {
		use(is_long);
		const auto *behind = reinterpret_cast<const unsigned char *>(array_) +
				     (is_long ? CPU_LONG_BYTES : CPU_SHORT_BYTES);
		const std::vector<unsigned char> before(behind, behind + CPU_SHORT_BYTES);

		for (std::size_t i = 0; i < room_; i++)
			ASSERT_EQ(push(i), CPU_DONE);
		EXPECT_EQ(put({object(room_)}), 0u);
		EXPECT_EQ(before, std::vector<unsigned char>(behind, behind + CPU_SHORT_BYTES));
		for (std::size_t i = room_; i-- > 0;)
			ASSERT_EQ(pop(), object(i));
	}
}

TEST_P(SectionTest, PushSeesThatTheObjectIsTheNewest)
{
	push(3);
	EXPECT_EQ(push(3), CPU_DOUBLE);
	push(4);
	EXPECT_EQ(push(4), CPU_DOUBLE);
	EXPECT_EQ(held(), (objects{object(3), object(4)}));
}

TEST_P(SectionTest, PushSeesThatTheObjectIsTheNewestOfAFullArray)
{
	for (std::size_t i = 0; i < room_; i++)
		push(i);
	EXPECT_EQ(push(room_ - 1), CPU_DOUBLE);
	EXPECT_EQ(push(0), CPU_MISS);
}

/* Popped objects stay in memory. */
TEST_P(SectionTest, AnObjectThatWasPoppedIsNotTheNewest)
{
	push(3);
	pop();
	EXPECT_EQ(push(3), CPU_DONE);
	push(4);
	pop();
	EXPECT_EQ(push(4), CPU_DONE);
}

TEST_P(SectionTest, NewArraysTakeNoObject)
{
	user_ = cpu_arrays_create(false);
	all_.push_back(user_);
	EXPECT_EQ(push(0), CPU_MISS);
	EXPECT_EQ(put({object(0)}), 0u);
	EXPECT_EQ(pop(), nullptr);
	EXPECT_EQ(take(1), objects{});
}

/* take and put */

TEST_P(SectionTest, TakeGivesTheNewestObjectsTheNewestLast)
{
	for (std::size_t i = 0; i < 6; i++)
		push(i);
	EXPECT_EQ(take(4), objects_from(2, 4));
	EXPECT_EQ(held(), objects_from(0, 2));
	EXPECT_EQ(pop(), object(1));
}

TEST_P(SectionTest, TakeGivesNoMoreThanThereIs)
{
	push(0);
	push(1);
	EXPECT_EQ(take(5), objects_from(0, 2));
	EXPECT_EQ(take(5), objects{});
	EXPECT_EQ(cpu_array_count(array_), 0u);
}

TEST_P(SectionTest, TakeOfNothingTakesNothing)
{
	push(0);
	EXPECT_EQ(take(0), objects{});
	EXPECT_EQ(cpu_array_count(array_), 1u);
}

TEST_P(SectionTest, PutPushesInOrder)
{
	push(0);
	EXPECT_EQ(put(objects_from(1, 3)), 3u);
	EXPECT_EQ(held(), objects_from(0, 4));
	EXPECT_EQ(pop(), object(3));
}

TEST_P(SectionTest, PutPushesAsFarAsThereIsRoom)
{
	cpu_array_set_limit(array_, 5);
	push(0);
	EXPECT_EQ(put(objects_from(1, 9)), 4u);
	EXPECT_EQ(held(), objects_from(0, 5));
	EXPECT_EQ(put(objects_from(7, 1)), 0u);
}

TEST_P(SectionTest, PutOfNothingPutsNothing)
{
	EXPECT_EQ(put({}), 0u);
	EXPECT_EQ(cpu_array_count(array_), 0u);
}

/* Copies take different ways by their length. */
TEST_P(SectionTest, TakeAndPutMoveAnyNumber)
{
	use(true);
	for (std::size_t n = 0; n <= room_; n += n < 140 ? 1 : 61) {
		const objects objs = objects_from(n, n);

		ASSERT_EQ(put(objs), n);
		ASSERT_EQ(held(), objs);
		ASSERT_EQ(take(n), objs);
		ASSERT_EQ(cpu_array_count(array_), 0u);
	}
}

/* limits and room */

TEST_P(SectionTest, TheLimitStopsPushesAndNoPop)
{
	cpu_array_set_limit(array_, 2);
	EXPECT_EQ(cpu_array_limit(array_), 2u);
	EXPECT_EQ(push(0), CPU_DONE);
	EXPECT_EQ(push(1), CPU_DONE);
	EXPECT_EQ(push(2), CPU_MISS);
	cpu_array_set_limit(array_, 3);
	EXPECT_EQ(push(2), CPU_DONE);
	cpu_array_set_limit(array_, 0);
	for (std::size_t i = 3; i-- > 0;)
		EXPECT_EQ(pop(), object(i));
	EXPECT_EQ(push(0), CPU_MISS);
}

TEST_P(SectionTest, AnArrayKeepsObjectsBeyondALowerLimit)
{
	put(objects_from(0, 6));
	cpu_array_set_limit(array_, 2);
	EXPECT_EQ(held(), objects_from(0, 6));
	EXPECT_EQ(put(objects_from(6, 1)), 0u);
	EXPECT_EQ(take(5), objects_from(1, 5));
	EXPECT_EQ(push(7), CPU_DONE);
	EXPECT_EQ(push(8), CPU_MISS);
}

TEST_P(SectionTest, RoomIsWhatFits)
{
	const unsigned words = engine_->pairs ? 2 : 1;

	EXPECT_EQ(cpu_array_room(true),
		  (CPU_LONG_BYTES - CPU_ARRAY_HEAD) / (8 * words) + words - 1);
	EXPECT_EQ(cpu_array_room(false),
		  (CPU_SHORT_BYTES - CPU_ARRAY_HEAD) / (8 * words) + words - 1);
	EXPECT_LE(cpu_array_room(true), CPU_ARRAY_MAX);
}

/* The fast paths, which other rooms inline */

class FastPathTest : public SectionTest
{
protected:
	bool fast_push(std::size_t i)
	{
		bool done = false;

		for (int tries = 0; tries < 100 && !done; tries++)
			done = rseq_push(&user_, object(i), cpu_rseq_offset);
		return done;
	}

	void *fast_pop()
	{
		void *obj = nullptr;

		for (int tries = 0; tries < 100; tries++)
			if (rseq_pop(&user_, cpu_rseq_offset, &obj))
				return obj;
		return nullptr;
	}
};

INSTANTIATE_TEST_SUITE_P(Engines, FastPathTest, all_engines(), engine_name);

TEST_P(FastPathTest, DoTheSameAsTheEngineRseqAndMissWithOthers)
{
	const bool works = is("rseq");

	EXPECT_EQ(fast_push(0), works);
	EXPECT_EQ(fast_push(1), works);
	EXPECT_EQ(held(), works ? objects_from(0, 2) : objects{});
	EXPECT_EQ(fast_pop(), works ? object(1) : nullptr);
	EXPECT_EQ(fast_pop(), works ? object(0) : nullptr);
	EXPECT_EQ(fast_pop(), nullptr);
}

TEST_P(FastPathTest, MissOnAFullArrayAndForTheNewestObject)
{
	cpu_array_set_limit(array_, 2);
	push(0);
	EXPECT_FALSE(fast_push(0));
	push(1);
	EXPECT_FALSE(fast_push(2));
	EXPECT_EQ(held(), objects_from(0, 2));
}

/* The word below the first object is the limit. */
TEST_P(FastPathTest, MissForNoObjectOfAnEmptyArray)
{
	if (!is("rseq"))
		GTEST_SKIP() << "the fast paths always miss";
	push(0);
	pop();
	EXPECT_TRUE(fast_push(0));
}

TEST_P(FastPathTest, MissForAUserThatWasSentAway)
{
	char *own;

	push(0);
	own = send_away();
	EXPECT_EQ(fast_pop(), nullptr);
	EXPECT_FALSE(fast_push(1));
	user_ = own;
	EXPECT_EQ(held(), objects_from(0, 1));
}

/* The lock of four bytes. */

TEST(LockTest, OneThreadHasItAtATime)
{
	struct cpu_lock lock = {};
	unsigned long counter = 0;
	std::vector<std::thread> threads;

	for (int i = 0; i < 8; i++)
		threads.emplace_back([&] {
			for (int n = 0; n < 20000; n++) {
				cpu_lock_take(&lock);
				counter++;
				cpu_lock_drop(&lock);
			}
		});
	join_all(threads);
	EXPECT_EQ(counter, 160000u);
	EXPECT_EQ(lock.word, CPU_LOCK_FREE);
}

TEST(LockTest, TryFailsWhileAnotherHasIt)
{
	struct cpu_lock lock = {};

	EXPECT_TRUE(cpu_lock_try(&lock));
	EXPECT_FALSE(cpu_lock_try(&lock));
	cpu_lock_drop(&lock);
	EXPECT_TRUE(cpu_lock_try(&lock));
}

/* It must not burn the CPU that the holder may need; and errno is the caller's. */
TEST(LockTest, AThreadThatWaitsSleepsAndIsWoken)
{
	struct cpu_lock lock = {};
	int error = 0;

	cpu_lock_take(&lock);
	std::thread waiter([&] {
		errno = ENOTTY;
		cpu_lock_take(&lock);
		error = errno;
		cpu_lock_drop(&lock);
	});
	while (__atomic_load_n(&lock.word, __ATOMIC_RELAXED) != CPU_LOCK_WAITED_FOR ||
	       !other_threads_sleep())
		std::this_thread::yield();
	errno = EXDEV;
	cpu_lock_drop(&lock);
	EXPECT_EQ(errno, EXDEV);
	waiter.join();
	EXPECT_EQ(error, ENOTTY);
}

} /* namespace */
