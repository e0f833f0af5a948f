/* SPDX-License-Identifier: MIT */
/* The engines (engine_test.cc): bulk sections, and those that move slabs and batches. */
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

TEST_P(EngineTest, PopBulkTakesTheRequestedNumberTheTopLast)
{
	plain_slab &slab = make_current({0, 1, 2, 3, 4});

	EXPECT_EQ(pop_bulk(3),
		  (std::vector<void *>{slab.object(2), slab.object(3), slab.object(4)}));
	EXPECT_EQ(slab.free_objects(), (indices{1, 0}));
}

TEST_P(EngineTest, PopBulkTakesNoMoreThanThereIs)
{
	plain_slab &slab = make_current({5, 2});

	EXPECT_EQ(pop_bulk(7), (std::vector<void *>{slab.object(5), slab.object(2)}));
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
		all.insert(all.end(), some.rbegin(), some.rend());
	ASSERT_EQ(all.size(), 200u);
	for (unsigned i = 0; i < 200; i++)
		EXPECT_EQ(all[i], slab.object(199 - i));
}

TEST_P(EngineTest, PopBulkLeavesTheLifoAlone)
{
	plain_slab &slab = make_current({1, 2});

	commits([&] { return engine_->lifo_push(slots_, cpu_, slab.object(7), CPU_LIFO_MAX); });
	EXPECT_EQ(pop_bulk(8).size(), 2u);
	EXPECT_EQ(lifo_->count, 1u);
}

TEST_P(EngineTest, PushBulkPutsTheLastObjectOnTop)
{
	plain_slab &slab = make_owned({0});

	commits([&] { return push_bulk(slab, {3, 1, 4}); });
	EXPECT_EQ(slab.free_objects(), (indices{4, 1, 3, 0}));
	EXPECT_EQ(lifo_->count, 0u);
}

TEST_P(EngineTest, PushBulkMissesOnSlabsOfOtherCpusAndOfNone)
{
	plain_slab &slab = make();

	misses([&] { return push_bulk(slab, {1, 2}); });
	cpu_slab_set_owner(slab.get(), static_cast<std::uint32_t>(cpu_) + 1);
	misses([&] { return push_bulk(slab, {1, 2}); });
}

/* Another thread isolates the slab in the middle of a push, uses the entries of the allocated
 * objects, as a legacy slab does, and gives the slab back to the CPU. */
struct isolation {
	plain_slab *slab;
	int cpu;
};
isolation pushed_to;

void isolate_once(int point)
{
	if (point != 2 || !pushed_to.slab)
		return;
	struct cpu_slab *slab = pushed_to.slab->get();

	pushed_to.slab = nullptr;
	cpu_engine->revoke(nullptr, pushed_to.cpu, slab);
	for (const unsigned index : {1u, 3u, 4u})
		cpu_slab_stack(slab)[index] = 0;
	cpu_slab_set_owner(slab, static_cast<std::uint32_t>(pushed_to.cpu));
}

TEST_P(EngineTest, PushBulkLinksItsObjectsAgainAfterTheSlabWasIsolated)
{
	if (!engine_->links)
		GTEST_SKIP() << "other engines have no links";
	plain_slab &slab = make_owned({0, 2});

	pushed_to = {&slab, cpu_};
	cpu_inject_hook = isolate_once;
	EXPECT_EQ(push_bulk(slab, {3, 1, 4}), CPU_DONE);
	cpu_inject_hook = nullptr;
	EXPECT_EQ(pushed_to.slab, nullptr);
	EXPECT_EQ(slab.free_objects(), (indices{4, 1, 3, 2, 0}));
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

TEST_P(EngineTest, DisownMissesOnRequestOnASlabThatIsNotExhausted)
{
	plain_slab &slab = make_owned({1});

	misses([&] { return engine_->disown(slots_, cpu_, slab.get(), true); });
}

TEST_P(EngineTest, DisownMissesOnSlabsOfOtherCpusAndOfNone)
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
