/* SPDX-License-Identifier: MIT */
/* The sections of a LIFO, by themselves. Only the rseq engine allocates from one. */
#include "../support/engine_fixture.h"

extern "C" {
#include "rseq.h"
}

using namespace slab_test;

namespace
{

/* lifo_push, lifo_take and lifo_push_bulk: with every engine */
class LifoSectionTest : public EngineTest
{
protected:
	enum cpu_result push(plain_slab &slab, unsigned index, std::uint64_t max = CPU_LIFO_MAX)
	{
		return engine_->lifo_push(slots_, cpu_, slab.object(index), max);
	}

	/* Until it has that object: sections may be aborted. */
	void must_push(plain_slab &slab, unsigned index, std::uint64_t max = CPU_LIFO_MAX)
	{
		commits([&] { return push(slab, index, max); });
	}

	void misses_with(std::uint64_t count, const std::function<enum cpu_result()> &section)
	{
		misses(section);
		EXPECT_EQ(lifo_->count, count);
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

	enum cpu_result push_bulk(const std::vector<void *> &objs, std::uint64_t max = CPU_LIFO_MAX)
	{
		return engine_->lifo_push_bulk(slots_, cpu_, objs.size(), objs.data(), max);
	}
};

INSTANTIATE_TEST_SUITE_P(Engines, LifoSectionTest, testing::Values("rseq", "cmpxchg16b", "mutex"));

TEST_P(LifoSectionTest, PushTakesObjectsOfAnySlab)
{
	plain_slab &slab = make(8), &owned = make_owned({}), &current = make_current({});

	must_push(slab, 3);
	must_push(owned, 1);
	must_push(current, 5);
	EXPECT_EQ(take(3),
		  (std::vector<void *>{slab.object(3), owned.object(1), current.object(5)}));
}

TEST_P(LifoSectionTest, PushMissesWhenThereAreMaxObjects)
{
	plain_slab &slab = make(8);

	must_push(slab, 0);
	must_push(slab, 1);
	misses_with(2, [&] { return push(slab, 2, 2); });
	misses_with(2, [&] { return push(slab, 2, 0); });
}

TEST_P(LifoSectionTest, PushOfNothingAtAllMisses)
{
	plain_slab &slab = make(8);

	misses_with(0, [&] { return push(slab, 2, 0); });
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

TEST_P(LifoSectionTest, PushSeesThatTheObjectIsTheNewest)
{
	/* Whatever the owner of the slab. */
	plain_slab &slab = make(8), &owned = make_owned({});

	must_push(slab, 3);
	sees_double([&] { return push(slab, 3); });
	must_push(owned, 2);
	sees_double([&] { return push(owned, 2); });
}

TEST_P(LifoSectionTest, AFullLifoSeesThatTheObjectIsTheNewest)
{
	plain_slab &slab = make(8);

	must_push(slab, 1, 2);
	must_push(slab, 3, 2);
	sees_double([&] { return push(slab, 3, 2); });
	misses_with(2, [&] { return push(slab, 1, 2); });
}

TEST_P(LifoSectionTest, TakeGivesTheNewestObjectsAndLeavesTheOthers)
{
	plain_slab &slab = make(8), &owned = make_owned({});

	must_push(slab, 3);
	must_push(owned, 1);
	must_push(slab, 0);
	EXPECT_EQ(take(2), (std::vector<void *>{owned.object(1), slab.object(0)}));
	EXPECT_EQ(lifo_->count, 1u);
	EXPECT_EQ(take(1), (std::vector<void *>{slab.object(3)}));
	EXPECT_EQ(lifo_->count, 0u);
}

TEST_P(LifoSectionTest, TakeOfMoreObjectsThanThereAreMisses)
{
	plain_slab &slab = make(8);

	EXPECT_TRUE(take(1).empty());
	must_push(slab, 3);
	EXPECT_TRUE(take(2).empty());
	EXPECT_EQ(lifo_->count, 1u);
}

TEST_P(LifoSectionTest, TakeMissesOnAClosedSlot)
{
	plain_slab &slab = make(8);

	must_push(slab, 3);
	close();
	EXPECT_TRUE(take(1).empty());
	EXPECT_EQ(lifo_->count, 1u);
}

TEST_P(LifoSectionTest, PushBulkPutsObjectsIntoAnEmptyLifo)
{
	plain_slab &slab = make(8);
	const std::vector<void *> objs = {slab.object(3), slab.object(1), slab.object(0)};

	commits([&] { return push_bulk(objs); });
	EXPECT_EQ(lifo_->count, 3u);
	EXPECT_EQ(take(3), objs);
}

TEST_P(LifoSectionTest, PushBulkPutsObjectsBehindTheNewest)
{
	plain_slab &slab = make(8);

	must_push(slab, 3);
	commits([&] { return push_bulk({slab.object(1), slab.object(0)}, 3); });
	EXPECT_EQ(take(3), (std::vector<void *>{slab.object(3), slab.object(1), slab.object(0)}));
}

TEST_P(LifoSectionTest, PushBulkMissesWhenThereWouldBeMoreThanMax)
{
	plain_slab &slab = make(8);

	must_push(slab, 3);
	misses_with(1, [&] { return push_bulk({slab.object(1), slab.object(0)}, 2); });
	EXPECT_EQ(take(1), (std::vector<void *>{slab.object(3)}));
}

/* A magazine may be of a time when LIFOs were longer. */
TEST_P(LifoSectionTest, PushBulkFillsAnEmptyLifoWhateverMaxIs)
{
	plain_slab &slab = make(8);

	commits([&] { return push_bulk({slab.object(1), slab.object(0)}, 1); });
	EXPECT_EQ(lifo_->count, 2u);
}

TEST_P(LifoSectionTest, PushBulkSeesThatItsFirstObjectIsTheNewest)
{
	plain_slab &slab = make(8);

	must_push(slab, 3);
	sees_double([&] { return push_bulk({slab.object(3), slab.object(0)}); });
	EXPECT_EQ(lifo_->count, 1u);
}

TEST_P(LifoSectionTest, PushBulkMissesOnAClosedSlot)
{
	plain_slab &slab = make(8);

	close();
	misses_with(0, [&] { return push_bulk({slab.object(1)}); });
}

class NoLifoTest : public LifoSectionTest
{
};

INSTANTIATE_TEST_SUITE_P(Engines, NoLifoTest, testing::Values("cmpxchg16b", "mutex"));

TEST_P(NoLifoTest, AllocationsTakeNoObjectOfALifo)
{
	plain_slab &slab = make(8);

	make_current({});
	must_push(slab, 3);
	EXPECT_FALSE(engine_->lifos);
	EXPECT_EQ(engine_->lifo_pop(slots_), nullptr);
	EXPECT_EQ(lifo_->count, 1u);
}

/* lifo_pop, and the fast paths rseq_pop() and rseq_push(). Each obeys the limit. */
class LifoPopTest : public LifoSectionTest
{
protected:
	void *lifo_pop()
	{
		void *obj = nullptr;

		for (int i = 0; i < tries && !obj; i++)
			obj = engine_->lifo_pop(slots_);
		return obj;
	}

	void *fast_pop()
	{
		char *lifos = cpu_slots_lifos(slots_);
		void *obj = nullptr;

		for (int i = 0; i < tries; i++)
			if (rseq_pop(&lifos, cpu_rseq_offset, &obj))
				return obj;
		return nullptr;
	}

	bool fast_push(void *obj)
	{
		char *lifos = cpu_slots_lifos(slots_);
		bool done = false;

		for (int i = 0; i < tries && !done; i++)
			done = rseq_push(&lifos, obj, cpu_rseq_offset);
		return done;
	}
};

INSTANTIATE_TEST_SUITE_P(Engines, LifoPopTest, testing::Values("rseq"));

TEST_P(LifoPopTest, PopGivesTheNewestObjectFirst)
{
	plain_slab &slab = make(8);

	must_push(slab, 3);
	must_push(slab, 1);
	EXPECT_EQ(lifo_->count, 2u);
	EXPECT_EQ(lifo_pop(), slab.object(1));
	EXPECT_EQ(lifo_pop(), slab.object(3));
	EXPECT_EQ(lifo_->count, 0u);
	EXPECT_EQ(lifo_pop(), nullptr);
}

TEST_P(LifoPopTest, TheFastPopGivesTheNewestObjectFirst)
{
	plain_slab &slab = make(8);

	must_push(slab, 3);
	must_push(slab, 1);
	EXPECT_EQ(fast_pop(), slab.object(1));
	EXPECT_EQ(fast_pop(), slab.object(3));
	EXPECT_EQ(lifo_->count, 0u);
	EXPECT_EQ(fast_pop(), nullptr);
}

TEST_P(LifoPopTest, PopLeavesTheCurrentSlabAlone)
{
	plain_slab &slab = make_current({0, 1});

	must_push(slab, 3);
	EXPECT_EQ(lifo_pop(), slab.object(3));
	EXPECT_EQ(lifo_pop(), nullptr);
	EXPECT_EQ(slab.free_objects(), (indices{1, 0}));
}

TEST_P(LifoPopTest, PopMissesOnAClosedSlotWhoseLimitIsZero)
{
	plain_slab &slab = make(8);

	must_push(slab, 3);
	close();
	lifo_->limit = 0;
	EXPECT_EQ(lifo_pop(), nullptr);
	EXPECT_EQ(lifo_->count, 1u);
}

TEST_P(LifoPopTest, TheFastPathsMissInNewMemory)
{
	plain_slab &slab = make(8);

	EXPECT_EQ(lifo_->limit, 0u);
	EXPECT_EQ(fast_pop(), nullptr);
	EXPECT_FALSE(fast_push(slab.object(3)));
	EXPECT_EQ(lifo_->count, 0u);
}

TEST_P(LifoPopTest, TheFastPopMissesWhenTheLimitIsZero)
{
	plain_slab &slab = make(8);

	must_push(slab, 3);
	lifo_->limit = 0;
	EXPECT_EQ(fast_pop(), nullptr);
	EXPECT_EQ(lifo_->count, 1u);
}

TEST_P(LifoPopTest, TheFastPushMissesWhenTheLimitIsZero)
{
	plain_slab &slab = make(8);

	must_push(slab, 3);
	lifo_->limit = 0;
	EXPECT_FALSE(fast_push(slab.object(4)));
	EXPECT_EQ(lifo_->count, 1u);
}

TEST_P(LifoPopTest, TheFastPathsUseAFullLifoUpToItsLimit)
{
	plain_slab &slab = make(8);

	must_push(slab, 0, 2);
	EXPECT_TRUE(fast_push(slab.object(1)));
	EXPECT_FALSE(fast_push(slab.object(2)));
	EXPECT_EQ(fast_pop(), slab.object(1));
	EXPECT_TRUE(fast_push(slab.object(2)));
	EXPECT_EQ(lifo_->count, 2u);
}

TEST_P(LifoPopTest, TheFastPushMissesForTheNewestObject)
{
	plain_slab &slab = make(8);

	must_push(slab, 3);
	EXPECT_FALSE(fast_push(slab.object(3)));
	EXPECT_TRUE(fast_push(slab.object(2)));
}

/* The word below the first object is the limit. */
TEST_P(LifoPopTest, TheFastPushMissesForNoObjectOfAnEmptyLifo)
{
	plain_slab &slab = make(8);

	must_push(slab, 3);
	EXPECT_EQ(fast_pop(), slab.object(3));
	EXPECT_TRUE(fast_push(slab.object(3)));
}

TEST_P(LifoPopTest, ALimitBelowTheCountLeavesTheObjectsToLifoPop)
{
	plain_slab &slab = make(8);

	for (unsigned i = 0; i < 4; i++)
		must_push(slab, i);
	lifo_->limit = 2;
	EXPECT_FALSE(fast_push(slab.object(7)));
	EXPECT_EQ(fast_pop(), nullptr);
	EXPECT_EQ(lifo_pop(), slab.object(3));
	EXPECT_EQ(fast_pop(), nullptr);
	EXPECT_EQ(lifo_pop(), slab.object(2));
	EXPECT_EQ(fast_pop(), slab.object(1));
	EXPECT_EQ(fast_pop(), slab.object(0));
}

TEST_P(LifoPopTest, PushLowersTheLimit)
{
	plain_slab &slab = make(8);

	for (unsigned i = 0; i < 4; i++)
		must_push(slab, i);
	misses_with(4, [&] { return push(slab, 7, 2); });
	EXPECT_EQ(lifo_->limit, 2u);
}

TEST_P(LifoPopTest, PushOpensTheLifo)
{
	plain_slab &slab = make(8);

	must_push(slab, 3, 5);
	EXPECT_EQ(lifo_->limit, 5u);
	EXPECT_EQ(fast_pop(), slab.object(3));
}

TEST_P(LifoPopTest, PushLeavesTheLifoOfAClosedSlotClosed)
{
	plain_slab &slab = make(8);

	close();
	misses_with(0, [&] { return push(slab, 3); });
	EXPECT_EQ(lifo_->limit, 0u);
}

TEST_P(LifoPopTest, PushBulkOpensTheLifo)
{
	plain_slab &slab = make(8);

	commits([&] { return push_bulk({slab.object(1), slab.object(3)}, 5); });
	EXPECT_EQ(lifo_->limit, 5u);
	EXPECT_EQ(fast_pop(), slab.object(3));
	EXPECT_EQ(fast_pop(), slab.object(1));
}

TEST_P(LifoPopTest, PushBulkLeavesTheLifoOfAClosedSlotClosed)
{
	plain_slab &slab = make(8);

	close();
	misses_with(0, [&] { return push_bulk({slab.object(1)}); });
	EXPECT_EQ(lifo_->limit, 0u);
}

} /* namespace */
