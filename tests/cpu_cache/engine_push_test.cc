/* SPDX-License-Identifier: MIT */
/* The engines (engine_test.cc): push, and frees that a section itself sees to be wrong. */
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "../support/engine_fixture.h"
#include "../support/process.h"

extern "C" {
#include "cpu_cache.h"
#include "cpu_slab.h"
#include "inject.h"
#include "slots.h"
}

using namespace slab_test;

namespace
{

TEST_P(EngineTest, PushPutsTheObjectOnTopOfASlabThatTheCpuOwns)
{
	plain_slab &slab = make_owned({1});

	commits([&] { return push(slab, 6); });
	commits([&] { return push(slab, 0); });
	EXPECT_EQ(slab.free_objects(), (indices{0, 6, 1}));
	EXPECT_EQ(cpu_slab_free_count(slab.get()), 3u);
}

TEST_P(EngineTest, PushMissesOnSlabsOfOtherCpusAndOfNone)
{
	plain_slab &slab = make();

	misses([&] { return push(slab, 0); });
	cpu_slab_set_owner(slab.get(), static_cast<std::uint32_t>(cpu_) + 1);
	misses([&] { return push(slab, 0); });
}

/* A closed slot still serves slabs that it owns. */
TEST_P(EngineTest, PushAndPopGoOnOnAClosedSlot)
{
	plain_slab &slab = make_current({0});

	close();
	commits([&] { return push(slab, 3); });
	EXPECT_EQ(pop(), slab.object(3));
}

TEST_P(EngineTest, PushFillsASlabToTheLastObject)
{
	plain_slab &slab = make_owned({}, 65);

	for (unsigned i = 0; i < slab.objects(); i++)
		commits([&] { return push(slab, i); });
	EXPECT_EQ(cpu_slab_free_count(slab.get()), slab.objects());
	EXPECT_EQ(slab.free_objects().size(), slab.objects());
}

/* frees that are seen to be the second */

TEST_P(EngineTest, PushSeesThatTheObjectIsOnTop)
{
	plain_slab &slab = make_owned({1, 6});

	sees_double([&] { return push(slab, 6); });
	commits([&] { return push(slab, 3); });
	sees_double([&] { return push(slab, 3); });
	EXPECT_EQ(slab.free_objects(), (indices{3, 6, 1}));
}

TEST_P(EngineTest, PushSeesThatTheLastFreeObjectIsOnTop)
{
	plain_slab &slab = make_owned({}, 65);

	for (unsigned i = 0; i < slab.objects(); i++) {
		commits([&] { return push(slab, i); });
		sees_double([&] { return push(slab, i); });
	}
	EXPECT_EQ(slab.free_objects().size(), slab.objects());
}

/* The same slab, the same place, once as allocated as it can be. */
TEST_P(EngineTest, PushTakesAnObjectThatWasOnTopAndWasAllocatedSince)
{
	plain_slab &slab = make_current({0, 1});

	for (unsigned i : {1u, 0u}) {
		sees_double([&] { return push(slab, i); });
		EXPECT_EQ(pop(), slab.object(i));
	}
	commits([&] { return push(slab, 0); });
	commits([&] { return push(slab, 1); });
	EXPECT_EQ(slab.free_objects(), (indices{1, 0}));
}

/* What lies below the stack is no object, not even the first. */
TEST_P(EngineTest, PushPutsAnyObjectOnAnEmptyStack)
{
	for (unsigned i = 0; i < 8; i++) {
		plain_slab &slab = make_owned({});

		commits([&] { return push(slab, i); });
		EXPECT_EQ(slab.free_objects(), indices{i});
	}
}

TEST_P(EngineTest, PushDoesNotLookIntoSlabsOfOthers)
{
	plain_slab &slab = make();

	slab.put({1});
	misses([&] { return push(slab, 1); });
	cpu_slab_set_owner(slab.get(), static_cast<std::uint32_t>(cpu_) + 1);
	misses([&] { return push(slab, 1); });
}

TEST_P(EngineTest, BatchSeesThatTheObjectWasBatchedLast)
{
	plain_slab &slab = make(100), &other = make(100);
	struct cpu_batch batch;

	for (unsigned i = 0; i < CPU_BATCH_MAX; i++) {
		commits([&] {
			return engine_->batch_add(slots_, cpu_, slab.get(), slab.offset8(i));
		});
		sees_double([&] {
			return engine_->batch_add(slots_, cpu_, slab.get(), slab.offset8(i));
		});
		misses([&] {
			return engine_->batch_add(slots_, cpu_, other.get(), slab.offset8(i));
		});
	}
	const std::uint16_t last = slab.offset8(CPU_BATCH_MAX - 1);

	commits([&] { return engine_->batch_take(slots_, cpu_, &batch); });
	commits([&] { return engine_->batch_add(slots_, cpu_, slab.get(), last); });
}

TEST_P(EngineTest, BatchSeesNothingOnAClosedSlot)
{
	plain_slab &slab = make();

	commits([&] { return engine_->batch_add(slots_, cpu_, slab.get(), 8); });
	close();
	misses([&] { return engine_->batch_add(slots_, cpu_, slab.get(), 8); });
}

/* Two objects that are freed alternately are never detected on top. */
TEST_P(EngineTest, PushWritesNothingBehindAFullStack)
{
	plain_slab &slab = make_owned({0, 1, 2, 3, 4, 5, 6, 7});

	for (unsigned i : {0u, 1u, 0u, 1u})
		ends_as(CPU_FULL, [&] { return push(slab, i); });
	EXPECT_EQ(cpu_slab_free_count(slab.get()), 8u);
}

TEST_P(EngineTest, FreesInTurnsEndWhenTheStackIsFull)
{
	plain_slab &slab = make_owned({}, 8);
	enum cpu_result result = CPU_MOVED;

	for (unsigned done = 0; done < 100 && result != CPU_FULL;) {
		result = push(slab, done % 2);
		done += result == CPU_DONE;
	}
	EXPECT_EQ(result, CPU_FULL);
	EXPECT_EQ(cpu_slab_free_count(slab.get()), slab.objects());
	/* And as many are handed out, no more. */
	commits([&] { return engine_->install(slots_, cpu_, slab.get()); });
	for (unsigned i = 0; i < slab.objects(); i++)
		pop();
	pop_misses();
	commits([&] { return engine_->retire(slots_, cpu_, slab.get()); });
	commits([&] { return engine_->disown(slots_, cpu_, slab.get(), true); });
}

TEST_P(EngineTest, PushBulkWritesNothingBehindAFullStack)
{
	plain_slab &slab = make_owned({0, 1, 2, 3, 4, 5});

	ends_as(CPU_FULL, [&] { return push_bulk(slab, {0, 1, 2}); });
	commits([&] { return push_bulk(slab, {6, 7}); });
	ends_as(CPU_FULL, [&] { return push_bulk(slab, {7}); });
}

TEST_P(EngineTest, WhatIsPutOnAnIsolatedSlabEndsWhenTheStackIsFull)
{
	plain_slab &slab = make(8);

	slab.put({0, 1, 2, 3, 4, 5});
	slab.put({6, 7, 0, 1});
	EXPECT_EQ(cpu_slab_free_count(slab.get()), 8u);
	EXPECT_EQ(slab.free_objects(), (indices{7, 6, 5, 4, 3, 2, 1, 0}));
}

/*
 * A thread that frees was held up after it saw that its CPU owns the slab. Meanwhile another
 * thread took the slab back and wrote over its stack, as legacy_begin() does, with 0: the
 * offset of an object that is in use.
 */
void take_back_and_write_over(int point)
{
	if (point != 3 || stale.done)
		return;
	stale.done = true;
	cpu_engine->revoke(stale.slots, stale.cpu, stale.slab->get());
	for (unsigned i = 0; i < stale.slab->objects(); i++)
		cpu_slab_stack(stale.slab->get())[i] = 0;
}

TEST_P(EngineTest, PushDoesNotTakeForATopWhatAnotherThreadWritesToTheStack)
{
	if (!is("rseq"))
		GTEST_SKIP() << "the others look at it under the slot's lock, or not at all";
	/* Full, so that the push has to ask why it missed. */
	plain_slab &slab = make_owned({1, 2, 3, 4, 5, 6, 7, 1});
	enum cpu_result result = CPU_MOVED;

	stale = {slots_, slot_, &slab, cpu_, false};
	cpu_inject_hook = take_back_and_write_over;
	for (int i = 0; i < tries && result == CPU_MOVED; i++)
		result = push(slab, 0);
	cpu_inject_hook = nullptr;
	EXPECT_TRUE(stale.done);
	EXPECT_EQ(result, CPU_MISS);
}

} /* namespace */
