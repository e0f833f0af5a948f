/* SPDX-License-Identifier: MIT */
/* The sections of a LIFO, by themselves. Only the rseq engine allocates from one. */
#include "../support/engine_fixture.h"

using namespace slab_test;

namespace
{

class LifoSectionTest : public EngineTest
{
protected:
	void SetUp() override
	{
		EngineTest::SetUp();
		if (slots_)
			lifo_ = cpu_lifo(cpu_slots_lifos(slots_), cpu_);
	}

	enum cpu_result push(plain_slab &slab, unsigned index, std::uint64_t max = CPU_LIFO_MAX)
	{
		return engine_->lifo_push(slots_, cpu_, slab.get(), slab.offset8(index), max);
	}

	/* Until it has that object: sections may be aborted. */
	void must_push(plain_slab &slab, unsigned index)
	{
		commits([&] { return push(slab, index); });
	}

	void misses_with(std::uint64_t count, const std::function<enum cpu_result()> &section)
	{
		misses(section);
		EXPECT_EQ(lifo_->count, count);
	}

	void *lifo_pop()
	{
		void *obj = nullptr;

		for (int i = 0; i < tries && !obj; i++)
			obj = engine_->lifo_pop(slots_);
		return obj;
	}

	void *pop_held()
	{
		void *obj = nullptr;

		for (int i = 0; i < tries && !obj; i++)
			obj = engine_->pop_held(slots_);
		return obj;
	}

	struct cpu_lifo *lifo_ = nullptr;
};

INSTANTIATE_TEST_SUITE_P(Engines, LifoSectionTest, testing::Values("rseq"));

class NoLifoTest : public EngineTest
{
};

INSTANTIATE_TEST_SUITE_P(Engines, NoLifoTest, testing::Values("cmpxchg16b", "mutex"));

TEST_P(NoLifoTest, LockedEnginesHoldNothing)
{
	plain_slab &slab = make(8);

	make_current({});
	EXPECT_EQ(engine_->lifo_push(slots_, cpu_, slab.get(), 0, CPU_LIFO_MAX), CPU_MISS);
	EXPECT_EQ(engine_->lifo_pop(slots_), nullptr);
}

TEST_P(LifoSectionTest, PopGivesTheNewestObjectFirst)
{
	plain_slab &slab = make(8);

	make_current({});
	must_push(slab, 3);
	must_push(slab, 1);
	EXPECT_EQ(lifo_->count, 2u);
	EXPECT_EQ(lifo_pop(), slab.object(1));
	EXPECT_EQ(lifo_pop(), slab.object(3));
	EXPECT_EQ(lifo_->count, 0u);
	EXPECT_EQ(engine_->lifo_pop(slots_), nullptr);
}

TEST_P(LifoSectionTest, PushMissesForASlabThatTheCpuOwns)
{
	plain_slab &slab = make_owned({});

	misses_with(0, [&] { return push(slab, 3); });
}

TEST_P(LifoSectionTest, PushMissesWhenThereAreMaxObjects)
{
	plain_slab &slab = make(8);

	must_push(slab, 0);
	must_push(slab, 1);
	misses_with(2, [&] { return push(slab, 2, 2); });
	misses_with(2, [&] { return push(slab, 2, 0); });
}

TEST_P(LifoSectionTest, NothingIsWrittenBehindAFullLifo)
{
	plain_slab &slab = make(CPU_LIFO_MAX + 1);
	const struct cpu_lifo behind = lifo_[1];

	for (unsigned i = 0; i < CPU_LIFO_MAX; i++)
		must_push(slab, i);
	misses_with(CPU_LIFO_MAX, [&] { return push(slab, CPU_LIFO_MAX); });
	EXPECT_EQ(std::memcmp(&behind, &lifo_[1], sizeof(behind)), 0);
	for (unsigned i = CPU_LIFO_MAX; i-- > 0;)
		EXPECT_EQ(lifo_->obj[i], slab.object(i));
}

TEST_P(LifoSectionTest, PushMissesOnAClosedSlot)
{
	plain_slab &slab = make(8);

	close();
	misses_with(0, [&] { return push(slab, 3); });
}

TEST_P(LifoSectionTest, PushSeesAnObjectThatItHoldsAsNewest)
{
	plain_slab &slab = make(8);

	must_push(slab, 3);
	sees_double([&] { return push(slab, 3); });
	EXPECT_EQ(lifo_->count, 1u);
}

TEST_P(LifoSectionTest, PushSeesTheLastFreedObject)
{
	plain_slab &slab = make(8);

	slot_->last_freed = reinterpret_cast<std::uint64_t>(slab.object(3));
	sees_double([&] { return push(slab, 3); });
	EXPECT_EQ(lifo_->count, 0u);
}

/* What revocation relies on: without a current slab, no allocation takes an object. */
TEST_P(LifoSectionTest, PopMissesWithoutACurrentSlab)
{
	plain_slab &slab = make(8);

	must_push(slab, 3);
	for (int i = 0; i < 10; i++)
		EXPECT_EQ(engine_->lifo_pop(slots_), nullptr);
	EXPECT_EQ(lifo_->count, 1u);
}

TEST_P(LifoSectionTest, PopHeldGivesTheLastFreedObjectThenTheNewest)
{
	plain_slab &slab = make(8);

	must_push(slab, 3);
	slot_->last_freed = reinterpret_cast<std::uint64_t>(slab.object(5));
	EXPECT_EQ(pop_held(), slab.object(5));
	EXPECT_EQ(pop_held(), slab.object(3));
	EXPECT_EQ(engine_->pop_held(slots_), nullptr);
}

TEST_P(LifoSectionTest, PopHeldMissesOnAClosedSlot)
{
	plain_slab &slab = make(8);

	must_push(slab, 3);
	close();
	for (int i = 0; i < 10; i++)
		EXPECT_EQ(engine_->pop_held(slots_), nullptr);
	EXPECT_EQ(lifo_->count, 1u);
}

/* lifo_add, lifo_take: with every engine */
class LifoAddTest : public LifoSectionTest
{
protected:
	enum cpu_result add(plain_slab &slab, unsigned index, std::uint64_t max = CPU_LIFO_MAX)
	{
		return engine_->lifo_add(slots_, cpu_, slab.object(index), max);
	}

	/* The n newest objects, the newest last; empty: the section missed. */
	std::vector<void *> take(std::size_t n)
	{
		std::vector<void *> objs(n);
		enum cpu_result result = CPU_MOVED;

		for (int i = 0; i < tries && result != CPU_DONE; i++)
			result = engine_->lifo_take(slots_, cpu_, n, objs.data());
		if (result != CPU_DONE)
			objs.clear();
		return objs;
	}

	enum cpu_result fill(const std::vector<void *> &objs)
	{
		return engine_->lifo_fill(slots_, cpu_, objs.size(), objs.data());
	}
};

INSTANTIATE_TEST_SUITE_P(Engines, LifoAddTest, testing::Values("rseq", "cmpxchg16b", "mutex"));

TEST_P(LifoAddTest, TakeGivesTheNewestObjectsAndLeavesTheOthers)
{
	plain_slab &slab = make(8), &owned = make_owned({});

	commits([&] { return add(slab, 3); });
	commits([&] { return add(owned, 1); });
	commits([&] { return add(slab, 0); });
	EXPECT_EQ(take(2), (std::vector<void *>{owned.object(1), slab.object(0)}));
	EXPECT_EQ(lifo_->count, 1u);
	EXPECT_EQ(take(1), (std::vector<void *>{slab.object(3)}));
	EXPECT_EQ(lifo_->count, 0u);
}

TEST_P(LifoAddTest, TakeOfMoreObjectsThanThereAreMisses)
{
	plain_slab &slab = make(8);

	EXPECT_TRUE(take(1).empty());
	commits([&] { return add(slab, 3); });
	EXPECT_TRUE(take(2).empty());
	EXPECT_EQ(lifo_->count, 1u);
}

TEST_P(LifoAddTest, TakeMissesOnAClosedSlot)
{
	plain_slab &slab = make(8);

	commits([&] { return add(slab, 3); });
	close();
	EXPECT_TRUE(take(1).empty());
	EXPECT_EQ(lifo_->count, 1u);
}

TEST_P(LifoAddTest, FillPutsObjectsIntoAnEmptyLifo)
{
	plain_slab &slab = make(8);
	const std::vector<void *> objs = {slab.object(3), slab.object(1), slab.object(0)};

	commits([&] { return fill(objs); });
	EXPECT_EQ(lifo_->count, 3u);
	EXPECT_EQ(take(3), objs);
}

TEST_P(LifoAddTest, FillMissesWhenTheLifoIsNotEmpty)
{
	plain_slab &slab = make(8);

	commits([&] { return add(slab, 3); });
	misses_with(1, [&] { return fill({slab.object(1)}); });
	EXPECT_EQ(take(1), (std::vector<void *>{slab.object(3)}));
}

TEST_P(LifoAddTest, FillMissesOnAClosedSlot)
{
	plain_slab &slab = make(8);

	close();
	misses_with(0, [&] { return fill({slab.object(1)}); });
}

TEST_P(LifoAddTest, AddMissesWhenThereAreMaxObjects)
{
	plain_slab &slab = make(CPU_LIFO_MAX + 1);
	const struct cpu_lifo behind = lifo_[1];

	for (unsigned i = 0; i < CPU_LIFO_MAX; i++)
		commits([&] { return add(slab, i); });
	misses_with(CPU_LIFO_MAX, [&] { return add(slab, CPU_LIFO_MAX); });
	misses_with(CPU_LIFO_MAX, [&] { return add(slab, CPU_LIFO_MAX, 2); });
	EXPECT_EQ(std::memcmp(&behind, &lifo_[1], sizeof(behind)), 0);
	EXPECT_EQ(take(CPU_LIFO_MAX).size(), CPU_LIFO_MAX);
}

TEST_P(LifoAddTest, AddSeesTheNewestObject)
{
	plain_slab &slab = make(8);

	commits([&] { return add(slab, 3); });
	sees_double([&] { return add(slab, 3); });
	EXPECT_EQ(lifo_->count, 1u);
}

TEST_P(LifoAddTest, BothMissOnAClosedSlot)
{
	plain_slab &slab = make(8);

	commits([&] { return add(slab, 3); });
	close();
	misses_with(1, [&] { return add(slab, 4); });
	EXPECT_TRUE(take(1).empty());
	EXPECT_EQ(lifo_->count, 1u);
}

} /* namespace */
