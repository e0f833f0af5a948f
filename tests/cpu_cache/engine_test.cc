/* SPDX-License-Identifier: MIT */
/*
 * The engines, held against pseudocode.h: every section commits what that text
 * says, and changes nothing when one of its conditions does not hold. The same
 * tests run over each engine; what one of them does otherwise on purpose (only
 * rseq has a last-freed object and notices being elsewhere) is said in the test.
 *
 * The thread is pinned to a CPU, but it may be preempted at any time, so a
 * section that is to commit is tried until it does, and one that is to miss is
 * tried until it was not merely restarted.
 */
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

INSTANTIATE_TEST_SUITE_P(Engines, EngineTest, testing::Values("rseq", "cmpxchg16b", "mutex"),
			 [](const auto &info) { return std::string(info.param); });

/* pop */

TEST_P(EngineTest, PopTakesTheCurrentSlabsObjectsLastInFirstOut)
{
	plain_slab &slab = make_current({3, 0, 5});

	EXPECT_EQ(pop(), slab.object(5));
	EXPECT_EQ(slab.free_objects(), (indices{0, 3}));
	EXPECT_EQ(pop(), slab.object(0));
	EXPECT_EQ(pop(), slab.object(3));
	EXPECT_EQ(slab.free_objects(), indices{});
	EXPECT_EQ(slot_->current, slab.get());
}

TEST_P(EngineTest, PopMissesWithoutACurrentSlab)
{
	make_owned({0, 1});
	pop_misses();
}

TEST_P(EngineTest, PopMissesOnAnExhaustedSlab)
{
	make_current({});
	pop_misses();
}

TEST_P(EngineTest, PopGivesTheLastFreedObjectFirst)
{
	if (!is("rseq"))
		GTEST_SKIP() << "only rseq keeps a last-freed object";
	plain_slab &slab = make_current({1});

	slot_->last_freed = reinterpret_cast<std::uint64_t>(slab.object(7));
	EXPECT_EQ(pop(), slab.object(7));
	EXPECT_EQ(slot_->last_freed, 0u);
	EXPECT_EQ(slab.free_objects(), indices{1});
	EXPECT_EQ(pop(), slab.object(1));
}

TEST_P(EngineTest, PopGivesTheLastFreedObjectOfAnExhaustedSlab)
{
	if (!is("rseq"))
		GTEST_SKIP() << "only rseq keeps a last-freed object";
	plain_slab &slab = make_current({});

	slot_->last_freed = reinterpret_cast<std::uint64_t>(slab.object(2));
	EXPECT_EQ(pop(), slab.object(2));
	pop_misses();
}

/* What revocation relies on: without a current slab, no allocation takes last_freed. */
TEST_P(EngineTest, PopLeavesTheLastFreedObjectWhenThereIsNoCurrentSlab)
{
	plain_slab &slab = make_owned({});

	slot_->last_freed = reinterpret_cast<std::uint64_t>(slab.object(2));
	pop_misses();
}

TEST_P(EngineTest, PopMissesOnACurrentSlabThatAnotherCpuOwns)
{
	if (!is("cmpxchg16b"))
		GTEST_SKIP() << "only cmpxchg16b reads a current slab that may be stale";
	plain_slab &slab = make_current({0, 1});

	cpu_slab_set_owner(slab.get(), static_cast<std::uint32_t>(cpu_) + 1);
	pop_misses();
	cpu_slab_set_owner(slab.get(), CPU_NONE);
	pop_misses();
}

TEST_P(EngineTest, PopLastFreedTakesTheLastFreedObjectWithOrWithoutACurrentSlab)
{
	plain_slab &slab = make_owned({0});
	void *obj = nullptr;

	EXPECT_EQ(engine_->pop_last_freed(slots_), nullptr);
	if (!is("rseq"))
		return;
	for (bool current : {false, true}) {
		if (current)
			commits([&] { return engine_->install(slots_, cpu_, slab.get()); });
		slot_->last_freed = reinterpret_cast<std::uint64_t>(slab.object(3));
		obj = nullptr;
		for (int i = 0; i < tries && !obj; i++)
			obj = engine_->pop_last_freed(slots_);
		EXPECT_EQ(obj, slab.object(3));
		EXPECT_EQ(slot_->last_freed, 0u);
		EXPECT_EQ(slab.free_objects(), indices{0});
	}
}

TEST_P(EngineTest, PopLastFreedMissesOnAClosedSlot)
{
	plain_slab &slab = make_current({0});

	slot_->last_freed = reinterpret_cast<std::uint64_t>(slab.object(3));
	close();
	const struct state before = look();

	for (int i = 0; i < 10; i++)
		EXPECT_EQ(engine_->pop_last_freed(slots_), nullptr);
	EXPECT_TRUE(look() == before);
}

/*
 * A popper that was held up between reading current and the exchange: meanwhile
 * the slab was taken from its slot, given back, and became another user's, on the
 * same CPU. It must not serve the first user any more.
 */
struct stale_current {
	char *slots;
	struct cpu_slot *slot;
	plain_slab *slab;
	int cpu;
	bool done;
} stale;

void make_current_stale(int point)
{
	if (point != 2 || stale.done)
		return;
	stale.done = true;
	stale.slot->current = nullptr;
	cpu_engine->revoke(stale.slots, stale.cpu, stale.slab->get());
	cpu_slab_init(stale.slab->get(), stale.slab->get()->base, 64, 8, &stale);
	stale.slab->put({6, 7});
	cpu_slab_set_owner(stale.slab->get(), static_cast<std::uint32_t>(stale.cpu));
}

TEST_P(EngineTest, PopDoesNotFollowAStaleCurrentToAnotherUsersObjects)
{
	if (!is("cmpxchg16b"))
		GTEST_SKIP() << "only cmpxchg16b reads a current slab that may be stale";
	plain_slab &slab = make_current({0, 1});

	stale = {slots_, slot_, &slab, cpu_, false};
	cpu_inject_hook = make_current_stale;
	EXPECT_EQ(engine_->pop(slots_), nullptr);
	cpu_inject_hook = nullptr;
	EXPECT_TRUE(stale.done);
	EXPECT_EQ(slab.free_objects(), (indices{7, 6}));
}

/*
 * A popper that was held up the same way, while others made the list look as it
 * did before: the same first object and as many, with another one behind it.
 */
void make_list_look_the_same(int point)
{
	if (point != 2 || stale.done)
		return;
	stale.done = true;
	EXPECT_EQ(cpu_engine->pop(stale.slots), stale.slab->object(3));
	EXPECT_EQ(cpu_engine->pop(stale.slots), stale.slab->object(2));
	for (unsigned i : {7u, 3u})
		EXPECT_EQ(cpu_engine->push(stale.slots, stale.cpu, stale.slab->get(),
					   stale.slab->offset8(i)),
			  CPU_DONE);
}

TEST_P(EngineTest, PopSeesThatAListIsAnotherThatLooksTheSame)
{
	if (!is("cmpxchg16b"))
		GTEST_SKIP() << "only cmpxchg16b compares lists";
	plain_slab &slab = make_current({1, 2, 3});

	stale = {slots_, slot_, &slab, cpu_, false};
	cpu_inject_hook = make_list_look_the_same;
	EXPECT_EQ(engine_->pop(slots_), slab.object(3));
	cpu_inject_hook = nullptr;
	EXPECT_TRUE(stale.done);
	EXPECT_EQ(slab.free_objects(), (indices{7, 1}));
}

/* push */

TEST_P(EngineTest, PushFillsTheLastFreedPlaceFirst)
{
	if (!is("rseq"))
		GTEST_SKIP() << "only rseq keeps a last-freed object";
	/* Of any slab: this one has no owner. */
	plain_slab &slab = make();

	commits([&] { return push(slab, 4); });
	EXPECT_EQ(slot_->last_freed, reinterpret_cast<std::uint64_t>(slab.object(4)));
	EXPECT_EQ(slab.free_objects(), indices{});
	misses([&] { return push(slab, 5); });
}

TEST_P(EngineTest, PushPutsTheObjectOnTopOfASlabThatTheCpuOwns)
{
	plain_slab &slab = make_owned({1});

	fill_last_freed();
	commits([&] { return push(slab, 6); });
	commits([&] { return push(slab, 0); });
	EXPECT_EQ(slab.free_objects(), (indices{0, 6, 1}));
	EXPECT_EQ(cpu_slab_free_count(slab.get()), 3u);
}

TEST_P(EngineTest, PushMissesOnSlabsOfOthersAndOfNobody)
{
	plain_slab &slab = make();

	fill_last_freed();
	misses([&] { return push(slab, 0); });
	cpu_slab_set_owner(slab.get(), static_cast<std::uint32_t>(cpu_) + 1);
	misses([&] { return push(slab, 0); });
}

/* A closed slot still serves slabs that it owns. */
TEST_P(EngineTest, PushAndPopGoOnOnAClosedSlot)
{
	plain_slab &slab = make_current({0});

	close();
	fill_last_freed();
	commits([&] { return push(slab, 3); });
	slot_->last_freed = 0;
	EXPECT_EQ(pop(), slab.object(3));
}

TEST_P(EngineTest, PushFillsASlabToTheLastObject)
{
	plain_slab &slab = make_owned({}, 65);

	fill_last_freed();
	for (unsigned i = 0; i < slab.objects(); i++)
		commits([&] { return push(slab, i); });
	EXPECT_EQ(cpu_slab_free_count(slab.get()), slab.objects());
	EXPECT_EQ(slab.free_objects().size(), slab.objects());
}

/* frees that are seen to be the second */

TEST_P(EngineTest, PushSeesThatTheObjectIsTheHotOne)
{
	if (!is("rseq"))
		GTEST_SKIP() << "only rseq keeps a last-freed object";
	/* Whatever the owner of the slab. */
	plain_slab &owned = make_owned({1, 2}), &other = make();

	for (plain_slab *slab : {&owned, &other}) {
		slot_->last_freed = 0;
		commits([&] { return push(*slab, 4); });
		sees_double([&] { return push(*slab, 4); });
	}
	misses([&] { return push(other, 5); });
}

TEST_P(EngineTest, PushSeesThatTheObjectIsOnTop)
{
	plain_slab &slab = make_owned({1, 6});

	fill_last_freed();
	sees_double([&] { return push(slab, 6); });
	commits([&] { return push(slab, 3); });
	sees_double([&] { return push(slab, 3); });
	EXPECT_EQ(slab.free_objects(), (indices{3, 6, 1}));
}

TEST_P(EngineTest, PushSeesThatTheLastFreeObjectIsOnTop)
{
	plain_slab &slab = make_owned({}, 65);

	fill_last_freed();
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
		fill_last_freed();
		sees_double([&] { return push(slab, i); });
		slot_->last_freed = 0;
		EXPECT_EQ(pop(), slab.object(i));
	}
	fill_last_freed();
	commits([&] { return push(slab, 0); });
	commits([&] { return push(slab, 1); });
	EXPECT_EQ(slab.free_objects(), (indices{1, 0}));
}

/* What lies below the stack is no object, not even the first. */
TEST_P(EngineTest, PushPutsAnyObjectOnAnEmptyStack)
{
	for (unsigned i = 0; i < 8; i++) {
		plain_slab &slab = make_owned({});

		fill_last_freed();
		commits([&] { return push(slab, i); });
		EXPECT_EQ(slab.free_objects(), indices{i});
	}
}

TEST_P(EngineTest, PushDoesNotLookIntoSlabsOfOthers)
{
	plain_slab &slab = make();

	slab.put({1});
	fill_last_freed();
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

	fill_last_freed();
	for (unsigned i : {0u, 1u, 0u, 1u})
		ends_as(CPU_FULL, [&] { return push(slab, i); });
	EXPECT_EQ(cpu_slab_free_count(slab.get()), 8u);
}

TEST_P(EngineTest, FreesInTurnsEndWhenTheStackIsFull)
{
	plain_slab &slab = make_owned({}, 8);
	enum cpu_result result = CPU_MOVED;

	fill_last_freed();
	for (unsigned done = 0; done < 100 && result != CPU_FULL;) {
		result = push(slab, done % 2);
		done += result == CPU_DONE;
	}
	EXPECT_EQ(result, CPU_FULL);
	EXPECT_EQ(cpu_slab_free_count(slab.get()), slab.objects());
	/* And as many are handed out, no more. */
	commits([&] { return engine_->install(slots_, cpu_, slab.get()); });
	slot_->last_freed = 0;
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

	fill_last_freed();
	stale = {slots_, slot_, &slab, cpu_, false};
	cpu_inject_hook = take_back_and_write_over;
	for (int i = 0; i < tries && result == CPU_MOVED; i++)
		result = push(slab, 0);
	cpu_inject_hook = nullptr;
	EXPECT_TRUE(stale.done);
	EXPECT_EQ(result, CPU_MISS);
}

/* bulk */

TEST_P(EngineTest, PopBulkTakesWhatIsAskedForInTheOrderOfPops)
{
	plain_slab &slab = make_current({0, 1, 2, 3, 4});

	EXPECT_EQ(pop_bulk(3),
		  (std::vector<void *>{slab.object(4), slab.object(3), slab.object(2)}));
	EXPECT_EQ(slab.free_objects(), (indices{1, 0}));
}

TEST_P(EngineTest, PopBulkTakesNoMoreThanThereIs)
{
	plain_slab &slab = make_current({5, 2});

	EXPECT_EQ(pop_bulk(7), (std::vector<void *>{slab.object(2), slab.object(5)}));
	EXPECT_EQ(slab.free_objects(), indices{});
	EXPECT_EQ(pop_bulk(7).size(), 0u);
}

TEST_P(EngineTest, PopBulkOfNothingAndWithoutACurrentSlab)
{
	EXPECT_EQ(engine_->pop_bulk(slots_, 0, nullptr), 0u);
	EXPECT_EQ(pop_bulk(4).size(), 0u);
	make_current({0});
	EXPECT_EQ(engine_->pop_bulk(slots_, 0, nullptr), 0u);
}

TEST_P(EngineTest, PopBulkDrainsASlabOfMoreThanOneBatch)
{
	plain_slab &slab = make_current({}, 200);
	std::vector<void *> all;

	slab.put_all();
	cpu_slab_set_owner(slab.get(), static_cast<std::uint32_t>(cpu_));
	for (std::vector<void *> some = pop_bulk(150); !some.empty(); some = pop_bulk(150))
		all.insert(all.end(), some.begin(), some.end());
	ASSERT_EQ(all.size(), 200u);
	for (unsigned i = 0; i < 200; i++)
		EXPECT_EQ(all[i], slab.object(199 - i));
}

TEST_P(EngineTest, PopBulkLeavesTheLastFreedObjectAlone)
{
	plain_slab &slab = make_current({1, 2});

	slot_->last_freed = is("rseq") ? reinterpret_cast<std::uint64_t>(slab.object(7)) : 0;
	const std::uint64_t last_freed = slot_->last_freed;
	EXPECT_EQ(pop_bulk(8).size(), 2u);
	EXPECT_EQ(slot_->last_freed, last_freed);
}

TEST_P(EngineTest, PushBulkPutsTheLastObjectOnTop)
{
	plain_slab &slab = make_owned({0});

	commits([&] { return push_bulk(slab, {3, 1, 4}); });
	EXPECT_EQ(slab.free_objects(), (indices{4, 1, 3, 0}));
	EXPECT_EQ(slot_->last_freed, 0u);
}

TEST_P(EngineTest, PushBulkMissesOnSlabsOfOthersAndOfNobody)
{
	plain_slab &slab = make();

	misses([&] { return push_bulk(slab, {1, 2}); });
	cpu_slab_set_owner(slab.get(), static_cast<std::uint32_t>(cpu_) + 1);
	misses([&] { return push_bulk(slab, {1, 2}); });
}

/* install, retire, disown, revoke */

TEST_P(EngineTest, InstallSetsCurrentOnce)
{
	plain_slab &slab = make_owned({0}), &other = make_owned({1});

	commits([&] { return engine_->install(slots_, cpu_, slab.get()); });
	EXPECT_EQ(slot_->current, slab.get());
	misses([&] { return engine_->install(slots_, cpu_, other.get()); });
	misses([&] { return engine_->install(slots_, cpu_, slab.get()); });
}

TEST_P(EngineTest, InstallMissesOnAClosedSlot)
{
	plain_slab &slab = make_owned({0});

	close();
	misses([&] { return engine_->install(slots_, cpu_, slab.get()); });
}

TEST_P(EngineTest, RetireClearsCurrentWhenExhausted)
{
	plain_slab &slab = make_current({});

	commits([&] { return engine_->retire(slots_, cpu_, slab.get()); });
	EXPECT_EQ(slot_->current, nullptr);
	EXPECT_EQ(cpu_slab_owner(slab.get()), static_cast<std::uint32_t>(cpu_));
}

TEST_P(EngineTest, RetireMissesOnAnotherCurrentSlab)
{
	plain_slab &other = make_owned({});

	misses([&] { return engine_->retire(slots_, cpu_, other.get()); });
	make_current({});
	misses([&] { return engine_->retire(slots_, cpu_, other.get()); });
}

TEST_P(EngineTest, RetireMissesOnAClosedSlot)
{
	plain_slab &slab = make_current({});

	close();
	misses([&] { return engine_->retire(slots_, cpu_, slab.get()); });
}

TEST_P(EngineTest, RetireMissesOnASlabThatIsNotExhausted)
{
	if (is("cmpxchg16b"))
		GTEST_SKIP() << "there, disown looks, in the exchange that matters";
	plain_slab &slab = make_current({5});

	misses([&] { return engine_->retire(slots_, cpu_, slab.get()); });
}

TEST_P(EngineTest, DisownClearsTheOwner)
{
	plain_slab &slab = make_owned({1, 2}), &exhausted = make_owned({});

	commits([&] { return engine_->disown(slots_, cpu_, slab.get(), false); });
	EXPECT_EQ(cpu_slab_owner(slab.get()), CPU_NONE);
	EXPECT_EQ(slab.free_objects(), (indices{2, 1}));
	commits([&] { return engine_->disown(slots_, cpu_, exhausted.get(), true); });
	EXPECT_EQ(cpu_slab_owner(exhausted.get()), CPU_NONE);
}

TEST_P(EngineTest, DisownMissesOnASlabThatIsNotExhaustedWhenAskedFor)
{
	plain_slab &slab = make_owned({1});

	misses([&] { return engine_->disown(slots_, cpu_, slab.get(), true); });
}

TEST_P(EngineTest, DisownMissesOnSlabsOfOthersAndOfNobody)
{
	plain_slab &slab = make();

	for (bool exhausted : {false, true})
		misses([&] { return engine_->disown(slots_, cpu_, slab.get(), exhausted); });
	cpu_slab_set_owner(slab.get(), static_cast<std::uint32_t>(cpu_) + 1);
	for (bool exhausted : {false, true})
		misses([&] { return engine_->disown(slots_, cpu_, slab.get(), exhausted); });
}

TEST_P(EngineTest, DisownMissesOnAClosedSlot)
{
	plain_slab &slab = make_owned({});

	close();
	misses([&] { return engine_->disown(slots_, cpu_, slab.get(), true); });
}

TEST_P(EngineTest, RevokeClearsTheOwnerWhateverGoesOn)
{
	plain_slab &slab = make_current({1, 2});

	close();
	engine_->revoke(slots_, cpu_, slab.get());
	EXPECT_EQ(cpu_slab_owner(slab.get()), CPU_NONE);
	EXPECT_EQ(slab.free_objects(), (indices{2, 1}));
	fill_last_freed();
	misses([&] { return push(slab, 0); });
}

/* partial */

TEST_P(EngineTest, PartialIsAListThatCounts)
{
	plain_slab &a = make_owned({0}), &b = make_owned({0}), &c = make_owned({0});
	struct cpu_slab *popped = nullptr;

	for (plain_slab *slab : {&a, &b, &c})
		commits([&] { return list(*slab); });
	EXPECT_EQ(partial(), (std::vector<struct cpu_slab *>{c.get(), b.get(), a.get()}));
	commits([&] { return engine_->partial_pop(slots_, cpu_, &popped); });
	EXPECT_EQ(popped, c.get());
	EXPECT_EQ(partial(), (std::vector<struct cpu_slab *>{b.get(), a.get()}));
	commits([&] { return list(c); });
	EXPECT_EQ(partial(), (std::vector<struct cpu_slab *>{c.get(), b.get(), a.get()}));
}

TEST_P(EngineTest, PartialTakesAChainAtOnce)
{
	plain_slab &a = make_owned({0}), &b = make_owned({0}), &c = make_owned({0});

	commits([&] { return list(a); });
	b.get()->next = cpu_word(c.get(), 2);
	commits([&] { return engine_->partial_push(slots_, cpu_, b.get(), c.get(), 2); });
	EXPECT_EQ(partial(), (std::vector<struct cpu_slab *>{b.get(), c.get(), a.get()}));
}

TEST_P(EngineTest, PartialTakeEmptiesTheList)
{
	plain_slab &a = make_owned({0}), &b = make_owned({0});
	std::uint64_t word = 0;

	for (plain_slab *slab : {&a, &b})
		commits([&] { return list(*slab); });
	commits([&] { return engine_->partial_take(slots_, cpu_, &word); });
	EXPECT_EQ(slot_->partial, 0u);
	EXPECT_EQ(word, cpu_word(b.get(), 2));
	EXPECT_EQ(b.get()->next, cpu_word(a.get(), 1));
	EXPECT_EQ(a.get()->next, 0u);
}

TEST_P(EngineTest, PartialPopAndTakeMissOnAnEmptyList)
{
	struct cpu_slab *slab;
	std::uint64_t word;

	misses([&] { return engine_->partial_pop(slots_, cpu_, &slab); });
	misses([&] { return engine_->partial_take(slots_, cpu_, &word); });
}

TEST_P(EngineTest, PartialSectionsMissOnAClosedSlot)
{
	plain_slab &listed = make_owned({0}), &other = make_owned({0});
	struct cpu_slab *slab;
	std::uint64_t word;

	commits([&] { return list(listed); });
	close();
	misses([&] { return list(other); });
	misses([&] { return engine_->partial_pop(slots_, cpu_, &slab); });
	misses([&] { return engine_->partial_take(slots_, cpu_, &word); });
}

/* batch_add, batch_take */

TEST_P(EngineTest, BatchFillsTheBufferWithOneSlabsObjects)
{
	plain_slab &slab = make(100), &other = make();
	struct cpu_batch batch;

	for (unsigned i = 0; i < CPU_BATCH_MAX; i++) {
		commits([&] {
			return engine_->batch_add(slots_, cpu_, slab.get(), slab.offset8(i));
		});
		EXPECT_EQ(slot_->remote_batch, cpu_word(slab.get(), i + 1));
		misses([&] { return engine_->batch_add(slots_, cpu_, other.get(), 0); });
	}
	misses([&] { return engine_->batch_add(slots_, cpu_, slab.get(), slab.offset8(70)); });
	commits([&] { return engine_->batch_take(slots_, cpu_, &batch); });
	EXPECT_EQ(slot_->remote_batch, 0u);
	EXPECT_EQ(batch.slab, slab.get());
	ASSERT_EQ(batch.count, static_cast<unsigned>(CPU_BATCH_MAX));
	for (unsigned i = 0; i < CPU_BATCH_MAX; i++)
		EXPECT_EQ(batch.offset8[i], slab.offset8(i));
	commits([&] { return engine_->batch_add(slots_, cpu_, other.get(), other.offset8(3)); });
	commits([&] { return engine_->batch_take(slots_, cpu_, &batch); });
	EXPECT_EQ(batch.slab, other.get());
	EXPECT_EQ(batch.count, 1u);
	EXPECT_EQ(batch.offset8[0], other.offset8(3));
}

TEST_P(EngineTest, BatchTakeMissesOnAnEmptyBuffer)
{
	struct cpu_batch batch;

	misses([&] { return engine_->batch_take(slots_, cpu_, &batch); });
}

TEST_P(EngineTest, BatchSectionsMissOnAClosedSlot)
{
	plain_slab &slab = make();
	struct cpu_batch batch;

	commits([&] { return engine_->batch_add(slots_, cpu_, slab.get(), 0); });
	close();
	misses([&] { return engine_->batch_add(slots_, cpu_, slab.get(), 8); });
	misses([&] { return engine_->batch_take(slots_, cpu_, &batch); });
}

} /* namespace */
