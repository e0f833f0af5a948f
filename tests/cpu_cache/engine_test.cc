/* SPDX-License-Identifier: MIT */
/*
 * The engines, compared with pseudocode.h: every section commits what that text
 * specifies, and changes nothing when one of its conditions does not hold. The same
 * tests run over each engine; a comment in the test names what an engine does
 * differently on purpose (only rseq notices migration).
 * Here: pop. Push: engine_push_test.cc. LIFOs: lifo_section_test.cc. All others:
 * engine_section_test.cc.
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

/*
 * A thread that pops was held up between reading current and the exchange: meanwhile
 * the slab was taken from its slot, given back, and became another user's, on the
 * same CPU. It must not serve the first user any more.
 */
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
 * A thread that pops was held up the same way, while others made the list look as it
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

} /* namespace */
