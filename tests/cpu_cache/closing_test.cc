/* SPDX-License-Identifier: MIT */
/* Arrays are closed and opened: what sections of late threads do meanwhile. */
#include "../support/process.h"
#include "fixture.h"

namespace
{

class ClosingTest : public EngineTest
{
};

INSTANTIATE_TEST_SUITE_P(Engines, ClosingTest, all_engines(), engine_name);

TEST_P(ClosingTest, SectionsOfAUserThatWasSentAwayMiss)
{
	char *own;

	push(0);
	own = send_away();
	EXPECT_EQ(pop(), nullptr);
	EXPECT_EQ(push(1), CPU_MISS);
	EXPECT_EQ(take(1), objects{});
	EXPECT_EQ(put({object(1)}), 0u);
	EXPECT_EQ(close(own), objects_from(0, 1));
	EXPECT_EQ(pop(), nullptr);
	EXPECT_EQ(push(1), CPU_MISS);
}

TEST_P(ClosingTest, CloseGivesAllObjectsTheOldestFirst)
{
	for (bool is_long : {false, true}) {
		use(is_long);
		ASSERT_EQ(put(objects_from(0, room_)), room_);
		EXPECT_EQ(close(send_away()), objects_from(0, room_));
		EXPECT_EQ(cpu_array_count(array_), 0u);
	}
}

TEST_P(ClosingTest, CloseOfAClosedArrayGivesNothing)
{
	push(0);
	char *own = send_away();

	close(own);
	EXPECT_EQ(close(own), objects{});
	open(own);
	EXPECT_EQ(pop(), nullptr);
	EXPECT_EQ(push(0), CPU_DONE);
}

TEST_P(ClosingTest, OpenArraysAreAsBefore)
{
	cpu_array_set_limit(array_, 3);
	put(objects_from(0, 3));
	char *own = send_away();

	close(own);
	open(own);
	EXPECT_EQ(pop(), nullptr);
	EXPECT_EQ(put(objects_from(4, 4)), 3u);
	EXPECT_EQ(held(), objects_from(4, 3));
	EXPECT_EQ(take(3), objects_from(4, 3));
}

TEST_P(ClosingTest, ArraysThatWereNeverUsedOpenToo)
{
	char *own = send_away();

	EXPECT_EQ(close(own), objects{});
	open(own);
	EXPECT_EQ(push(1), CPU_DONE);
	EXPECT_EQ(pop(), object(1));
}

TEST_P(ClosingTest, OpenOfAnOpenArrayChangesNothing)
{
	push(0);
	open(user_);
	EXPECT_EQ(pop(), object(0));
}

/* The fence was refused: the user gets the arrays back as they are. */
TEST_P(ClosingTest, AUserMayComeBackWithoutAClose)
{
	push(0);
	char *own = send_away();

	open(own);
	EXPECT_EQ(pop(), object(0));
}

TEST_P(ClosingTest, LongArraysReplaceShortOnes)
{
	char *before = user_;

	put(objects_from(0, 4));
	use(true);
	EXPECT_TRUE(engine_->fence());
	EXPECT_EQ(close(before), objects_from(0, 4));
	EXPECT_EQ(put(objects_from(0, room_)), room_);
	EXPECT_EQ(cpu_array_count(cpu_array(before, cpu_)), 0u);
}

TEST_P(ClosingTest, CloseTouchesNoArrayThatWasNeverUsed)
{
	struct cpu_array before = *array_;
	char *own = send_away();

	EXPECT_EQ(close(own), objects{});
	EXPECT_EQ(before.count, array_->count);
	EXPECT_EQ(before.limit, array_->limit);
}

TEST_P(ClosingTest, FenceReturnsWhenNoThreadIsInASection)
{
	for (int i = 0; i < 100; i++)
		EXPECT_TRUE(engine_->fence());
}

/*
 * A thread is held up in a section: another one runs `meanwhile` at the point. With engines in C
 * the hook itself does it.
 */
std::function<void()> meanwhile;
int held_up_at;

void interfere(int point)
{
	if (point != held_up_at || !meanwhile)
		return;
	const std::function<void()> act = std::move(meanwhile);

	meanwhile = nullptr;
	act();
}

class LateTest : public EngineTest
{
protected:
	void at(int point, const std::function<void()> &act)
	{
		held_up_at = point;
		meanwhile = act;
		cpu_inject_hook = interfere;
	}

	void TearDown() override
	{
		EXPECT_FALSE(meanwhile) << "no section came by the point";
		meanwhile = nullptr;
		EngineTest::TearDown();
	}

	/* Close the arrays; the objects are lost. */
	void close_all()
	{
		char *own = send_away();

		closed_ = close(own);
		user_ = own;
	}

	objects closed_;
};

INSTANTIATE_TEST_SUITE_P(Engines, LateTest, testing::Values("cmpxchg16b"), engine_name);

TEST_P(LateTest, APopMissesIfTheArrayIsClosedMeanwhile)
{
	put(objects_from(0, 3));
	at(2, [this] { close_all(); });
	EXPECT_EQ(pop(), nullptr);
	EXPECT_EQ(closed_, objects_from(0, 3));
}

TEST_P(LateTest, APushMissesIfTheArrayIsClosedMeanwhile)
{
	put(objects_from(0, 3));
	at(2, [this] { close_all(); });
	EXPECT_EQ(push(5), CPU_MISS);
	EXPECT_EQ(closed_, objects_from(0, 3));
	EXPECT_EQ(cpu_array_count(array_), 0u);
}

TEST_P(LateTest, APushThatSettlesMissesIfTheArrayIsClosedMeanwhile)
{
	put(objects_from(0, 3));
	at(4, [this] { close_all(); });
	EXPECT_EQ(push(5), CPU_MISS);
	EXPECT_EQ(closed_, objects_from(0, 3));
}

TEST_P(LateTest, ATakeMissesIfTheArrayIsClosedMeanwhile)
{
	put(objects_from(0, 3));
	at(2, [this] { close_all(); });
	EXPECT_EQ(take(2), objects{});
}

TEST_P(LateTest, ATakeGivesWhatIsThereIfTheArrayChangedMeanwhile)
{
	put(objects_from(0, 5));
	at(2, [this] {
		EXPECT_EQ(take(4), objects_from(1, 4));
		EXPECT_EQ(put(objects_from(6, 4)), 4u);
	});
	EXPECT_EQ(take(3), objects_from(7, 3));
}

/* The same newest object and as many, with another one below. */
TEST_P(LateTest, APopSeesThatAnArrayIsAnotherThatLooksTheSame)
{
	put(objects_from(0, 3));
	at(2, [this] {
		EXPECT_EQ(take(2), objects_from(1, 2));
		EXPECT_EQ(put({object(7), object(2)}), 2u);
	});
	EXPECT_EQ(pop(), object(2));
	EXPECT_EQ(held(), (objects{object(0), object(7)}));
}

/* A late writer of an entry must not overwrite what later pushes brought there. */
TEST_P(LateTest, AnEntryInUseIsNotOverwritten)
{
	put(objects_from(0, 2));
	at(4, [this] {
		EXPECT_EQ(pop(), object(1));
		EXPECT_EQ(put(objects_from(5, 3)), 3u);
	});
	EXPECT_EQ(push(9), CPU_DONE);
	EXPECT_EQ(held(), (objects{object(0), object(5), object(6), object(7), object(9)}));
}

/* The entry has the object again that the late thread read, by another transaction. */
TEST_P(LateTest, NorIsOneThatHasTheSameObjectAgain)
{
	put({object(0), object(1), object(2)});
	EXPECT_EQ(take(2), (objects{object(1), object(2)}));
	/* The entry has object 1; the newest in its place is 4. */
	push(4);
	at(4, [this] {
		EXPECT_EQ(pop(), object(4));
		EXPECT_EQ(put({object(1), object(3)}), 2u);
	});
	EXPECT_EQ(push(9), CPU_DONE);
	EXPECT_EQ(held(), (objects{object(0), object(1), object(3), object(9)}));
}

/* Of arrays that long ones replaced: they stay closed. */
TEST_P(LateTest, APushToReplacedArraysMisses)
{
	char *before = user_;

	put(objects_from(0, 3));
	at(2, [this, before] {
		use(true);
		EXPECT_TRUE(engine_->fence());
		closed_ = close(before);
	});
	EXPECT_EQ(engine_->push(&user_, object(5)), CPU_MISS);
	EXPECT_EQ(cpu_array_count(cpu_array(before, cpu_)), 0u);
}

TEST_P(LateTest, AnArrayThatIsClosedBeforeItsFirstUseStaysEmpty)
{
	at(7, [this] {
		char *own = send_away();

		EXPECT_EQ(close(own), objects{});
		user_ = own;
	});
	EXPECT_EQ(push(0), CPU_MISS);
	EXPECT_EQ(cpu_array_count(array_), 0u);
	open(user_);
	EXPECT_EQ(push(0), CPU_DONE);
}

/* The closer came before the array was touched, and so left it alone. */
TEST_P(LateTest, AnArrayOfAUserThatWasSentAwayIsNotOpenedForItsFirstUse)
{
	char *own = user_;

	at(7, [this] { send_away(); });
	EXPECT_EQ(push(0), CPU_MISS);
	EXPECT_EQ(cpu_array_count(array_), 0u);
	open(own);
	EXPECT_EQ(push(0), CPU_DONE);
}

/* mutex: a section of another thread that holds the lock until the test lets it go */

std::atomic<bool> inside, let_go;

void hold_up(int point)
{
	if (point != 2 || inside.exchange(true))
		return;
	while (!let_go)
		std::this_thread::yield();
}

class LockedTest : public EngineTest
{
protected:
	/* Run the section in another thread, up to its commit. */
	void hold(const std::function<void()> &section)
	{
		inside = let_go = false;
		cpu_inject_hook = hold_up;
		section_ = std::thread([section] {
			pin(0);
			section();
		});
		while (!inside)
			std::this_thread::yield();
	}

	void release()
	{
		let_go = true;
		section_.join();
	}

private:
	std::thread section_;
};

INSTANTIATE_TEST_SUITE_P(Engines, LockedTest, testing::Values("mutex"), engine_name);

TEST_P(LockedTest, CloseWaitsForASectionThatHasTheLock)
{
	std::atomic<bool> closed{false};
	objects objs;

	hold([this] { push(4); });
	char *own = send_away();
	std::thread closer([&] {
		objs = close(own);
		closed = true;
	});

	std::this_thread::sleep_for(std::chrono::milliseconds(20));
	EXPECT_FALSE(closed);
	release();
	closer.join();
	EXPECT_EQ(objs, (objects{object(4)}));
}

TEST_P(LockedTest, ASectionThatGetsTheLockAfterTheCloseMisses)
{
	char *own = user_;
	enum cpu_result result = CPU_DONE;
	std::atomic<pid_t> tid{0};

	/* The push has read the pointer and waits for the lock. */
	cpu_lock_take(&array_->lock);
	std::thread late([&] {
		pin(0);
		tid = thread_id();
		result = push(4);
	});
	while (!tid || !other_threads_sleep())
		std::this_thread::yield();
	__atomic_store_n(&user_, cpu_arrays_none(), __ATOMIC_RELEASE);
	cpu_lock_drop(&array_->lock);
	late.join();
	EXPECT_EQ(result, CPU_MISS);
	EXPECT_EQ(close(own), objects{});
}

/* Fork handlers hold every lock over the fork. */
class ForkTest : public EngineTest
{
};

INSTANTIATE_TEST_SUITE_P(Engines, ForkTest, all_engines(), engine_name);

TEST_P(ForkTest, LockAllKeepsSectionsUnderLocksOut)
{
	std::atomic<bool> pushed{false};

	cpu_arrays_lock_all();
	std::thread section([&] {
		pin(0);
		EXPECT_EQ(push(0), CPU_DONE);
		pushed = true;
	});
	if (engine_->locks) {
		std::this_thread::sleep_for(std::chrono::milliseconds(20));
		EXPECT_FALSE(pushed);
		cpu_arrays_unlock_all();
	}
	section.join();
	EXPECT_TRUE(pushed);
	if (!engine_->locks)
		cpu_arrays_unlock_all();
}

TEST_P(ForkTest, AChildUsesTheArraysOfItsParent)
{
	push(0);
	cpu_arrays_lock_all();
	EXPECT_IN_CHILD([this] {
		cpu_arrays_unlock_all();
		return pop() == object(0) && push(1) == CPU_DONE &&
				       close(send_away()) == objects_from(1, 1)
			       ? 0
			       : 1;
	});
	cpu_arrays_unlock_all();
	EXPECT_EQ(pop(), object(0));
}

} /* namespace */
