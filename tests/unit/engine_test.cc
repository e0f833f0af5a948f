/* SPDX-License-Identifier: MIT */
/*
 * The engines, held against pseudocode.h: every section commits what that text
 * says, and changes nothing when one of its conditions does not hold. The same
 * tests run over each engine; what one of them does otherwise on purpose (only
 * rseq has a hot object and notices being elsewhere) is said in the test.
 *
 * The thread is pinned to a CPU, but it may be preempted at any time, so a
 * section that is to commit is tried until it does, and one that is to miss is
 * tried until it was not merely restarted.
 */
#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "../support/bare_slab.h"
#include "../support/process.h"
#include "../support/whitebox.h"

using namespace slab_test;

namespace
{

using indices = std::vector<unsigned>;

constexpr int tries = 1000;

/* Everything that sections may change, of one slot and some slabs. */
struct state {
	std::vector<std::uint64_t> slot;
	std::vector<std::uint16_t> gathered;
	std::vector<std::uint32_t> owners;
	std::vector<indices> free_objects;

	bool operator==(const state &other) const
	{
		return slot == other.slot && gathered == other.gathered && owners == other.owners &&
		       free_objects == other.free_objects;
	}
};

class EngineTest : public testing::TestWithParam<const char *>
{
protected:
	void SetUp() override
	{
		if (!cpu_engine_init(GetParam()))
			GTEST_SKIP() << GetParam() << " is not available here";
		engine_ = cpu_engine;
		pin(0);
		cpu_ = engine_->cpu();
		ASSERT_EQ(cpu_, allowed_cpus()[0]);
		slots_ = cpu_slots_create();
		ASSERT_NE(slots_, nullptr);
		slot_ = cpu_slot(slots_, cpu_);
	}

	void TearDown() override
	{
		if (slots_)
			cpu_slots_destroy(slots_);
		unpin();
	}

	bool is(const char *name) const
	{
		return std::strcmp(GetParam(), name) == 0;
	}

	/* A slab with all of its objects free, in hand. */
	bare_slab &make(unsigned objects = 8)
	{
		slabs_.push_back(std::make_unique<bare_slab>(objects));
		return *slabs_.back();
	}

	/* The same with these objects free, owned by our CPU. */
	bare_slab &make_owned(const indices &free, unsigned objects = 8)
	{
		bare_slab &slab = make(objects);

		slab.put(free);
		cpu_slab_set_owner(slab.get(), static_cast<std::uint32_t>(cpu_));
		return slab;
	}

	bare_slab &make_current(const indices &free, unsigned objects = 8)
	{
		bare_slab &slab = make_owned(free, objects);

		commits([&] { return engine_->install(slots_, cpu_, slab.get()); });
		return slab;
	}

	/* Take the hot place with something that is not an object. */
	void fill_hot()
	{
		slot_->hot = is("rseq") ? 1 : 0;
	}

	void close()
	{
		slot_->closed = 1;
	}

	struct state look() const
	{
		struct state now;
		const unsigned gathered = cpu_word_count(slot_->gather);

		now.slot = {slot_->hot,      reinterpret_cast<std::uint64_t>(slot_->current),
			    slot_->partial,  slot_->gather,
			    slot_->incoming, slot_->closed};
		now.gathered.assign(slot_->gather_buf, slot_->gather_buf + gathered);
		for (const auto &slab : slabs_) {
			now.owners.push_back(cpu_slab_owner(slab->get()));
			now.free_objects.push_back(slab->free_objects());
		}
		return now;
	}

	void commits(const std::function<enum cpu_result()> &section)
	{
		enum cpu_result result = CPU_MOVED;

		for (int i = 0; i < tries && result != CPU_DONE; i++)
			result = section();
		EXPECT_EQ(result, CPU_DONE);
	}

	void ends_as(enum cpu_result wanted, const std::function<enum cpu_result()> &section)
	{
		const struct state before = look();
		enum cpu_result result = CPU_MOVED;

		for (int i = 0; i < tries && result == CPU_MOVED; i++)
			result = section();
		EXPECT_EQ(result, wanted);
		EXPECT_TRUE(look() == before) << "a section that missed has changed something";
	}

	void misses(const std::function<enum cpu_result()> &section)
	{
		ends_as(CPU_MISS, section);
	}

	void *pop()
	{
		void *obj = nullptr;

		for (int i = 0; i < tries && !obj; i++)
			obj = engine_->pop(slots_);
		EXPECT_NE(obj, nullptr);
		return obj;
	}

	void pop_misses()
	{
		const struct state before = look();

		for (int i = 0; i < 10; i++)
			EXPECT_EQ(engine_->pop(slots_), nullptr);
		EXPECT_TRUE(look() == before);
	}

	std::vector<void *> pop_bulk(std::size_t n)
	{
		std::vector<void *> objs(n);
		std::size_t got = 0;

		for (int i = 0; i < tries && !got; i++)
			got = engine_->pop_bulk(slots_, n, objs.data());
		objs.resize(got);
		return objs;
	}

	enum cpu_result push(bare_slab &slab, unsigned index)
	{
		return engine_->push(slots_, cpu_, slab.get(), slab.offset8(index));
	}

	enum cpu_result push_bulk(bare_slab &slab, const indices &which)
	{
		std::vector<std::uint16_t> offsets;

		for (unsigned i : which)
			offsets.push_back(slab.offset8(i));
		return engine_->push_bulk(slots_, cpu_, slab.get(),
					  static_cast<unsigned>(offsets.size()), offsets.data());
	}

	enum cpu_result list(bare_slab &slab)
	{
		return engine_->partial_push(slots_, cpu_, slab.get(), slab.get(), 1);
	}

	/* The partial list as it stands, first slab first. */
	std::vector<struct cpu_slab *> partial() const
	{
		std::vector<struct cpu_slab *> list;

		for (std::uint64_t word = slot_->partial; word; word = list.back()->next) {
			list.push_back(cpu_word_slab(word));
			if (list.size() > 100)
				break;
		}
		EXPECT_EQ(cpu_word_count(slot_->partial), list.size());
		return list;
	}

	const struct cpu_engine *engine_ = nullptr;
	int cpu_ = -1;
	char *slots_ = nullptr;
	struct cpu_slot *slot_ = nullptr;
	std::vector<std::unique_ptr<bare_slab>> slabs_;
};

INSTANTIATE_TEST_SUITE_P(Engines, EngineTest, testing::Values("rseq", "cmpxchg16b", "mutex"),
			 [](const auto &info) { return std::string(info.param); });

/* pop */

TEST_P(EngineTest, PopTakesTheCurrentSlabsObjectsLastInFirstOut)
{
	bare_slab &slab = make_current({3, 0, 5});

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

TEST_P(EngineTest, PopGivesTheHotObjectFirst)
{
	if (!is("rseq"))
		GTEST_SKIP() << "only rseq keeps a hot object";
	bare_slab &slab = make_current({1});

	slot_->hot = reinterpret_cast<std::uint64_t>(slab.object(7));
	EXPECT_EQ(pop(), slab.object(7));
	EXPECT_EQ(slot_->hot, 0u);
	EXPECT_EQ(slab.free_objects(), indices{1});
	EXPECT_EQ(pop(), slab.object(1));
}

TEST_P(EngineTest, PopGivesTheHotObjectOfAnExhaustedSlab)
{
	if (!is("rseq"))
		GTEST_SKIP() << "only rseq keeps a hot object";
	bare_slab &slab = make_current({});

	slot_->hot = reinterpret_cast<std::uint64_t>(slab.object(2));
	EXPECT_EQ(pop(), slab.object(2));
	pop_misses();
}

/* What revocation relies on: without a current slab, hot is nobody's. */
TEST_P(EngineTest, PopLeavesTheHotObjectWhenThereIsNoCurrentSlab)
{
	bare_slab &slab = make_owned({});

	slot_->hot = reinterpret_cast<std::uint64_t>(slab.object(2));
	pop_misses();
}

TEST_P(EngineTest, PopMissesOnACurrentSlabThatAnotherCpuOwns)
{
	if (!is("cmpxchg16b"))
		GTEST_SKIP() << "only cmpxchg16b reads a current slab that may be stale";
	bare_slab &slab = make_current({0, 1});

	cpu_slab_set_owner(slab.get(), static_cast<std::uint32_t>(cpu_) + 1);
	pop_misses();
	cpu_slab_set_owner(slab.get(), CPU_NONE);
	pop_misses();
}

TEST_P(EngineTest, PopHotTakesTheHotObjectWithOrWithoutACurrentSlab)
{
	bare_slab &slab = make_owned({0});
	void *obj = nullptr;

	EXPECT_EQ(engine_->pop_hot(slots_), nullptr);
	if (!is("rseq"))
		return;
	for (bool current : {false, true}) {
		if (current)
			commits([&] { return engine_->install(slots_, cpu_, slab.get()); });
		slot_->hot = reinterpret_cast<std::uint64_t>(slab.object(3));
		obj = nullptr;
		for (int i = 0; i < tries && !obj; i++)
			obj = engine_->pop_hot(slots_);
		EXPECT_EQ(obj, slab.object(3));
		EXPECT_EQ(slot_->hot, 0u);
		EXPECT_EQ(slab.free_objects(), indices{0});
	}
}

TEST_P(EngineTest, PopHotMissesOnAClosedSlot)
{
	bare_slab &slab = make_current({0});

	slot_->hot = reinterpret_cast<std::uint64_t>(slab.object(3));
	close();
	const struct state before = look();

	for (int i = 0; i < 10; i++)
		EXPECT_EQ(engine_->pop_hot(slots_), nullptr);
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
	bare_slab *slab;
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
	cpu_slab_init(stale.slab->get(), stale.slab->get()->base, 64, &stale);
	stale.slab->put({6, 7});
	cpu_slab_set_owner(stale.slab->get(), static_cast<std::uint32_t>(stale.cpu));
}

TEST_P(EngineTest, PopDoesNotFollowAStaleCurrentToAnotherUsersObjects)
{
	if (!is("cmpxchg16b"))
		GTEST_SKIP() << "only cmpxchg16b reads a current slab that may be stale";
	bare_slab &slab = make_current({0, 1});

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
	bare_slab &slab = make_current({1, 2, 3});

	stale = {slots_, slot_, &slab, cpu_, false};
	cpu_inject_hook = make_list_look_the_same;
	EXPECT_EQ(engine_->pop(slots_), slab.object(3));
	cpu_inject_hook = nullptr;
	EXPECT_TRUE(stale.done);
	EXPECT_EQ(slab.free_objects(), (indices{7, 1}));
}

/* push */

TEST_P(EngineTest, PushFillsTheHotPlaceFirst)
{
	if (!is("rseq"))
		GTEST_SKIP() << "only rseq keeps a hot object";
	/* Of whatever slab: this one is nobody's. */
	bare_slab &slab = make();

	commits([&] { return push(slab, 4); });
	EXPECT_EQ(slot_->hot, reinterpret_cast<std::uint64_t>(slab.object(4)));
	EXPECT_EQ(slab.free_objects(), indices{});
	misses([&] { return push(slab, 5); });
}

TEST_P(EngineTest, PushPutsTheObjectOnTopOfASlabThatTheCpuOwns)
{
	bare_slab &slab = make_owned({1});

	fill_hot();
	commits([&] { return push(slab, 6); });
	commits([&] { return push(slab, 0); });
	EXPECT_EQ(slab.free_objects(), (indices{0, 6, 1}));
	EXPECT_EQ(cpu_slab_free_count(slab.get()), 3u);
}

TEST_P(EngineTest, PushMissesOnSlabsOfOthersAndOfNobody)
{
	bare_slab &slab = make();

	fill_hot();
	misses([&] { return push(slab, 0); });
	cpu_slab_set_owner(slab.get(), static_cast<std::uint32_t>(cpu_) + 1);
	misses([&] { return push(slab, 0); });
}

/* A closed slot still serves slabs that it owns. */
TEST_P(EngineTest, PushAndPopGoOnOnAClosedSlot)
{
	bare_slab &slab = make_current({0});

	close();
	fill_hot();
	commits([&] { return push(slab, 3); });
	slot_->hot = 0;
	EXPECT_EQ(pop(), slab.object(3));
}

TEST_P(EngineTest, PushFillsASlabToTheLastObject)
{
	bare_slab &slab = make_owned({}, 65);

	fill_hot();
	for (unsigned i = 0; i < slab.objects(); i++)
		commits([&] { return push(slab, i); });
	EXPECT_EQ(cpu_slab_free_count(slab.get()), slab.objects());
	EXPECT_EQ(slab.free_objects().size(), slab.objects());
}

/* bulk */

TEST_P(EngineTest, PopBulkTakesWhatIsAskedForInTheOrderOfPops)
{
	bare_slab &slab = make_current({0, 1, 2, 3, 4});

	EXPECT_EQ(pop_bulk(3),
		  (std::vector<void *>{slab.object(4), slab.object(3), slab.object(2)}));
	EXPECT_EQ(slab.free_objects(), (indices{1, 0}));
}

TEST_P(EngineTest, PopBulkTakesNoMoreThanThereIs)
{
	bare_slab &slab = make_current({5, 2});

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
	bare_slab &slab = make_current({}, 200);
	std::vector<void *> all;

	slab.put_all();
	cpu_slab_set_owner(slab.get(), static_cast<std::uint32_t>(cpu_));
	for (std::vector<void *> some = pop_bulk(150); !some.empty(); some = pop_bulk(150))
		all.insert(all.end(), some.begin(), some.end());
	ASSERT_EQ(all.size(), 200u);
	for (unsigned i = 0; i < 200; i++)
		EXPECT_EQ(all[i], slab.object(199 - i));
}

TEST_P(EngineTest, PopBulkLeavesTheHotObjectAlone)
{
	bare_slab &slab = make_current({1, 2});

	slot_->hot = is("rseq") ? reinterpret_cast<std::uint64_t>(slab.object(7)) : 0;
	const std::uint64_t hot = slot_->hot;
	EXPECT_EQ(pop_bulk(8).size(), 2u);
	EXPECT_EQ(slot_->hot, hot);
}

TEST_P(EngineTest, PushBulkPutsTheLastObjectOnTop)
{
	bare_slab &slab = make_owned({0});

	commits([&] { return push_bulk(slab, {3, 1, 4}); });
	EXPECT_EQ(slab.free_objects(), (indices{4, 1, 3, 0}));
	EXPECT_EQ(slot_->hot, 0u);
}

TEST_P(EngineTest, PushBulkMissesOnSlabsOfOthersAndOfNobody)
{
	bare_slab &slab = make();

	misses([&] { return push_bulk(slab, {1, 2}); });
	cpu_slab_set_owner(slab.get(), static_cast<std::uint32_t>(cpu_) + 1);
	misses([&] { return push_bulk(slab, {1, 2}); });
}

/* install, retire, disown, revoke */

TEST_P(EngineTest, InstallSetsCurrentOnce)
{
	bare_slab &slab = make_owned({0}), &other = make_owned({1});

	commits([&] { return engine_->install(slots_, cpu_, slab.get()); });
	EXPECT_EQ(slot_->current, slab.get());
	misses([&] { return engine_->install(slots_, cpu_, other.get()); });
	misses([&] { return engine_->install(slots_, cpu_, slab.get()); });
}

TEST_P(EngineTest, InstallMissesOnAClosedSlot)
{
	bare_slab &slab = make_owned({0});

	close();
	misses([&] { return engine_->install(slots_, cpu_, slab.get()); });
}

TEST_P(EngineTest, RetireClearsCurrentWhenExhausted)
{
	bare_slab &slab = make_current({});

	commits([&] { return engine_->retire(slots_, cpu_, slab.get()); });
	EXPECT_EQ(slot_->current, nullptr);
	EXPECT_EQ(cpu_slab_owner(slab.get()), static_cast<std::uint32_t>(cpu_));
}

TEST_P(EngineTest, RetireMissesOnAnotherCurrentSlab)
{
	bare_slab &other = make_owned({});

	misses([&] { return engine_->retire(slots_, cpu_, other.get()); });
	make_current({});
	misses([&] { return engine_->retire(slots_, cpu_, other.get()); });
}

TEST_P(EngineTest, RetireMissesOnAClosedSlot)
{
	bare_slab &slab = make_current({});

	close();
	misses([&] { return engine_->retire(slots_, cpu_, slab.get()); });
}

TEST_P(EngineTest, RetireMissesOnASlabThatIsNotExhausted)
{
	if (is("cmpxchg16b"))
		GTEST_SKIP() << "there, disown looks, in the exchange that matters";
	bare_slab &slab = make_current({5});

	misses([&] { return engine_->retire(slots_, cpu_, slab.get()); });
}

TEST_P(EngineTest, DisownClearsTheOwner)
{
	bare_slab &slab = make_owned({1, 2}), &exhausted = make_owned({});

	commits([&] { return engine_->disown(slots_, cpu_, slab.get(), false); });
	EXPECT_EQ(cpu_slab_owner(slab.get()), CPU_NONE);
	EXPECT_EQ(slab.free_objects(), (indices{2, 1}));
	commits([&] { return engine_->disown(slots_, cpu_, exhausted.get(), true); });
	EXPECT_EQ(cpu_slab_owner(exhausted.get()), CPU_NONE);
}

TEST_P(EngineTest, DisownMissesOnASlabThatIsNotExhaustedWhenAskedFor)
{
	bare_slab &slab = make_owned({1});

	misses([&] { return engine_->disown(slots_, cpu_, slab.get(), true); });
}

TEST_P(EngineTest, DisownMissesOnSlabsOfOthersAndOfNobody)
{
	bare_slab &slab = make();

	for (bool exhausted : {false, true})
		misses([&] { return engine_->disown(slots_, cpu_, slab.get(), exhausted); });
	cpu_slab_set_owner(slab.get(), static_cast<std::uint32_t>(cpu_) + 1);
	for (bool exhausted : {false, true})
		misses([&] { return engine_->disown(slots_, cpu_, slab.get(), exhausted); });
}

TEST_P(EngineTest, DisownMissesOnAClosedSlot)
{
	bare_slab &slab = make_owned({});

	close();
	misses([&] { return engine_->disown(slots_, cpu_, slab.get(), true); });
}

TEST_P(EngineTest, RevokeClearsTheOwnerWhateverGoesOn)
{
	bare_slab &slab = make_current({1, 2});

	close();
	engine_->revoke(slots_, cpu_, slab.get());
	EXPECT_EQ(cpu_slab_owner(slab.get()), CPU_NONE);
	EXPECT_EQ(slab.free_objects(), (indices{2, 1}));
	fill_hot();
	misses([&] { return push(slab, 0); });
}

/* partial */

TEST_P(EngineTest, PartialIsAListThatCounts)
{
	bare_slab &a = make_owned({0}), &b = make_owned({0}), &c = make_owned({0});
	struct cpu_slab *popped = nullptr;

	for (bare_slab *slab : {&a, &b, &c})
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
	bare_slab &a = make_owned({0}), &b = make_owned({0}), &c = make_owned({0});

	commits([&] { return list(a); });
	b.get()->next = cpu_word(c.get(), 2);
	commits([&] { return engine_->partial_push(slots_, cpu_, b.get(), c.get(), 2); });
	EXPECT_EQ(partial(), (std::vector<struct cpu_slab *>{b.get(), c.get(), a.get()}));
}

TEST_P(EngineTest, PartialTakeEmptiesTheList)
{
	bare_slab &a = make_owned({0}), &b = make_owned({0});
	std::uint64_t word = 0;

	for (bare_slab *slab : {&a, &b})
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
	bare_slab &listed = make_owned({0}), &other = make_owned({0});
	struct cpu_slab *slab;
	std::uint64_t word;

	commits([&] { return list(listed); });
	close();
	misses([&] { return list(other); });
	misses([&] { return engine_->partial_pop(slots_, cpu_, &slab); });
	misses([&] { return engine_->partial_take(slots_, cpu_, &word); });
}

/* gather */

TEST_P(EngineTest, GatherFillsTheBufferWithOneSlabsObjects)
{
	bare_slab &slab = make(100), &other = make();
	struct cpu_batch batch;

	for (unsigned i = 0; i < CPU_GATHER_MAX; i++) {
		commits([&] { return engine_->gather(slots_, cpu_, slab.get(), slab.offset8(i)); });
		EXPECT_EQ(slot_->gather, cpu_word(slab.get(), i + 1));
		misses([&] { return engine_->gather(slots_, cpu_, other.get(), 0); });
	}
	misses([&] { return engine_->gather(slots_, cpu_, slab.get(), slab.offset8(70)); });
	commits([&] { return engine_->gather_take(slots_, cpu_, &batch); });
	EXPECT_EQ(slot_->gather, 0u);
	EXPECT_EQ(batch.slab, slab.get());
	ASSERT_EQ(batch.count, static_cast<unsigned>(CPU_GATHER_MAX));
	for (unsigned i = 0; i < CPU_GATHER_MAX; i++)
		EXPECT_EQ(batch.offset8[i], slab.offset8(i));
	commits([&] { return engine_->gather(slots_, cpu_, other.get(), other.offset8(3)); });
	commits([&] { return engine_->gather_take(slots_, cpu_, &batch); });
	EXPECT_EQ(batch.slab, other.get());
	EXPECT_EQ(batch.count, 1u);
	EXPECT_EQ(batch.offset8[0], other.offset8(3));
}

TEST_P(EngineTest, GatherTakeMissesOnAnEmptyBuffer)
{
	struct cpu_batch batch;

	misses([&] { return engine_->gather_take(slots_, cpu_, &batch); });
}

TEST_P(EngineTest, GatherSectionsMissOnAClosedSlot)
{
	bare_slab &slab = make();
	struct cpu_batch batch;

	commits([&] { return engine_->gather(slots_, cpu_, slab.get(), 0); });
	close();
	misses([&] { return engine_->gather(slots_, cpu_, slab.get(), 8); });
	misses([&] { return engine_->gather_take(slots_, cpu_, &batch); });
}

/* Sections for a CPU that the thread is not on. */

TEST_P(EngineTest, SectionsForAnotherCpuSayThatWeMoved)
{
	if (!is("rseq"))
		GTEST_SKIP() << "engines with locks may act for any CPU";
	/* Our own slot under another CPU's number: it must stay as it is. */
	const int other = cpu_ + 1;
	char *elsewhere = slots_ - (std::ptrdiff_t{1} << CPU_AREA_SHIFT);
	bare_slab &current = make_current({}), &slab = make_owned({1}), &full = make_owned({});
	struct cpu_slab *popped;
	struct cpu_batch batch;
	std::uint64_t word;

	commits([&] { return list(full); });
	commits([&] { return engine_->gather(slots_, cpu_, slab.get(), 8); });
	for (bare_slab *s : {&current, &slab})
		cpu_slab_set_owner(s->get(), static_cast<std::uint32_t>(other));
	ASSERT_EQ(cpu_slot(elsewhere, other), slot_);

	const std::uint16_t three[] = {0, 8, 16};
	const auto moved = [this](const std::function<enum cpu_result()> &section) {
		ends_as(CPU_MOVED, section);
	};

	moved([&] { return engine_->push_bulk(elsewhere, other, slab.get(), 3, three); });
	moved([&] { return engine_->retire(elsewhere, other, current.get()); });
	moved([&] { return engine_->disown(elsewhere, other, current.get(), true); });
	moved([&] { return engine_->partial_push(elsewhere, other, slab.get(), slab.get(), 1); });
	moved([&] { return engine_->partial_pop(elsewhere, other, &popped); });
	moved([&] { return engine_->partial_take(elsewhere, other, &word); });
	moved([&] { return engine_->gather(elsewhere, other, slab.get(), 16); });
	moved([&] { return engine_->gather_take(elsewhere, other, &batch); });
	slot_->current = nullptr;
	moved([&] { return engine_->install(elsewhere, other, slab.get()); });
	fill_hot();
	moved([&] { return engine_->push(slots_, other, slab.get(), 0); });
}

TEST_P(EngineTest, SectionsWithLocksActForAnyCpu)
{
	if (is("rseq"))
		GTEST_SKIP() << "rseq says that it moved";
	if (cpu_possible() < 2)
		GTEST_SKIP() << "one CPU";
	const int other = cpu_ == 0 ? 1 : 0;
	bare_slab &slab = make();

	cpu_slab_set_owner(slab.get(), static_cast<std::uint32_t>(other));
	EXPECT_EQ(engine_->install(slots_, other, slab.get()), CPU_DONE);
	EXPECT_EQ(cpu_slot(slots_, other)->current, slab.get());
	EXPECT_EQ(engine_->push(slots_, other, slab.get(), 0), CPU_DONE);
	EXPECT_EQ(slot_->current, nullptr);
}

/* fence */

/* Where a section of another thread is held up until the test lets it go. */
std::atomic<bool> inside, let_go;

void hold_up(int point)
{
	if (point != 6)
		return;
	inside = true;
	while (!let_go)
		std::this_thread::yield();
}

TEST_P(EngineTest, FenceWaitsForSectionsUnderLocks)
{
	if (is("rseq"))
		GTEST_SKIP() << "rseq's fence restarts them";
	bare_slab &slab = make_owned({0});
	std::atomic<bool> fenced{false};

	inside = let_go = false;
	cpu_inject_hook = hold_up;
	std::thread section([&] { engine_->install(slots_, cpu_, slab.get()); });
	while (!inside)
		std::this_thread::yield();
	std::thread fence([&] {
		engine_->fence();
		fenced = true;
	});
	std::this_thread::sleep_for(std::chrono::milliseconds(20));
	EXPECT_FALSE(fenced);
	let_go = true;
	section.join();
	fence.join();
	EXPECT_TRUE(fenced);
	EXPECT_EQ(slot_->current, slab.get());
	cpu_inject_hook = nullptr;
}

TEST_P(EngineTest, FenceEndsSectionsThatBeganBefore)
{
	if (!is("rseq"))
		GTEST_SKIP() << "engines with locks wait for them";
	bare_slab &slab = make_current({0, 1});
	std::atomic<bool> running{false};
	void *obj = &running;

	/* A section that would take minutes: pop, held up behind its reads. */
	cpu_inject_loops[1] = ~0u;
	std::thread popper([&] {
		pin(0);
		running = true;
		obj = engine_->pop(slots_);
	});
	pin(1);
	while (!running)
		std::this_thread::yield();
	std::this_thread::sleep_for(std::chrono::milliseconds(20));
	engine_->fence();
	popper.join();
	cpu_inject_loops[1] = 0;
	EXPECT_EQ(obj, nullptr);
	EXPECT_EQ(slab.free_objects(), (indices{1, 0}));
	pin(0);
	EXPECT_EQ(pop(), slab.object(1));
}

TEST_P(EngineTest, FenceReturnsWhenNobodyIsThere)
{
	for (int i = 0; i < 100; i++)
		engine_->fence();
}

/* Fork handlers hold every lock over the fork. */
TEST_P(EngineTest, LockAllKeepsSectionsUnderLocksOut)
{
	bare_slab &slab = make_owned({0});
	std::atomic<bool> installed{false};

	cpu_slots_lock_all();
	std::thread section([&] {
		pin(0);
		commits([&] { return engine_->install(slots_, cpu_, slab.get()); });
		installed = true;
	});
	if (is("rseq")) {
		section.join();
		EXPECT_TRUE(installed);
		cpu_slots_unlock_all();
		return;
	}
	std::this_thread::sleep_for(std::chrono::milliseconds(20));
	EXPECT_FALSE(installed);
	cpu_slots_unlock_all();
	section.join();
}

/* Slabs in hand */

TEST_P(EngineTest, HandTakesWhatWasPutLastFirst)
{
	bare_slab &slab = make(16);
	std::uint16_t taken[16];

	EXPECT_EQ(cpu_slab_hand_take(slab.get(), 16, taken), 0u);
	slab.put({4, 9, 0});
	slab.put({15});
	slab.put({});
	EXPECT_EQ(cpu_slab_free_count(slab.get()), 4u);
	EXPECT_EQ(slab.free_objects(), (indices{15, 0, 9, 4}));
	EXPECT_EQ(cpu_slab_hand_take(slab.get(), 0, taken), 0u);
	EXPECT_EQ(cpu_slab_hand_take(slab.get(), 3, taken), 3u);
	EXPECT_EQ(taken[0], slab.offset8(15));
	EXPECT_EQ(taken[1], slab.offset8(0));
	EXPECT_EQ(taken[2], slab.offset8(9));
	EXPECT_EQ(cpu_slab_free_count(slab.get()), 1u);
	EXPECT_EQ(cpu_slab_hand_take(slab.get(), 16, taken), 1u);
	EXPECT_EQ(taken[0], slab.offset8(4));
	EXPECT_EQ(cpu_slab_free_count(slab.get()), 0u);
	EXPECT_EQ(cpu_slab_owner(slab.get()), CPU_NONE);
}

TEST_P(EngineTest, HandKeepsTheFreelistOverAChangeOfOwner)
{
	bare_slab &slab = make_owned({1, 2, 3});

	EXPECT_EQ(cpu_slab_owner(slab.get()), static_cast<std::uint32_t>(cpu_));
	commits([&] { return engine_->disown(slots_, cpu_, slab.get(), false); });
	slab.put({4});
	EXPECT_EQ(slab.free_objects(), (indices{4, 3, 2, 1}));
}

/* From the smallest to the largest object, in the largest slab there is. */
TEST_P(EngineTest, HandHoldsEveryObjectOfTheLargestSlab)
{
	for (std::size_t size : {8u, 16u, 24u, 56u, 712u, 4096u, 32768u}) {
		bare_slab slab(std::min(objects_of_largest_slab(size), 65535u), size);
		std::uint16_t taken;

		slab.put_all();
		ASSERT_EQ(cpu_slab_free_count(slab.get()), slab.objects()) << size;
		ASSERT_EQ(slab.free_objects().size(), slab.objects()) << size;
		for (unsigned i = slab.objects(); i-- > 0;) {
			ASSERT_EQ(cpu_slab_hand_take(slab.get(), 1, &taken), 1u) << size;
			ASSERT_EQ(taken, slab.offset8(i)) << size;
		}
	}
}

/* Offsets become indices by a multiplication that must never be one off. */
TEST(SlabInHand, IndexIsExactForEveryObjectOfEverySize)
{
	struct cpu_slab slab = {};
	static char base[8];

	for (std::size_t size = 8; size <= SLAB_MAX_OBJECT_SIZE; size += 8) {
		cpu_slab_init(&slab, base, size, nullptr);
		for (unsigned i = 0; i < objects_of_largest_slab(size); i++) {
			const std::size_t offset8 = i * size / 8;

			ASSERT_LE(offset8, UINT16_MAX);
			ASSERT_EQ(cpu_slab_index(&slab, static_cast<std::uint16_t>(offset8)), i)
				<< size;
			/* And the last word of the object is still of it. */
			ASSERT_EQ(cpu_slab_index(&slab, static_cast<std::uint16_t>(offset8 +
										   size / 8 - 1)),
				  i)
				<< size;
		}
	}
}

TEST(SlabInHand, ObjectAndOffsetAreInverse)
{
	bare_slab slab(100, 712);

	for (unsigned i = 0; i < 100; i++) {
		EXPECT_EQ(cpu_slab_offset8(slab.get(), slab.object(i)), slab.offset8(i));
		EXPECT_EQ(cpu_slab_object(slab.get(), slab.offset8(i)), slab.object(i));
	}
}

TEST(SlabInHand, ListWordsHoldASlabAndACount)
{
	bare_slab slab(1);

	for (unsigned count : {0u, 1u, 64u, 0xffffu}) {
		EXPECT_EQ(cpu_word_slab(cpu_word(slab.get(), count)), slab.get());
		EXPECT_EQ(cpu_word_count(cpu_word(slab.get(), count)), count);
	}
}

/* Areas of slots */

/* Slots that live as long as a test. */
class SlotsTest : public testing::Test
{
protected:
	~SlotsTest() override
	{
		for (char *slots : all_)
			cpu_slots_destroy(slots);
	}

	char *create()
	{
		char *slots = cpu_slots_create();

		EXPECT_NE(slots, nullptr);
		all_.push_back(slots);
		return slots;
	}

	/* The first slots of an area that nobody has touched. */
	char *create_in_fresh_area()
	{
		const std::size_t before = cpu_slots_bytes();
		char *slots;

		do
			slots = create();
		while (cpu_slots_bytes() == before);
		return slots;
	}

	std::vector<char *> all_;
};

TEST_F(SlotsTest, NoTwoUsersShareASlot)
{
	std::set<char *> starts;

	for (std::size_t i = 0; i < 2 * CPU_AREA_SLOTS + 1; i++) {
		char *slots = create();

		for (unsigned cpu = 0; cpu < cpu_possible(); cpu++) {
			auto *start = reinterpret_cast<char *>(cpu_slot(slots, cpu));

			EXPECT_EQ(reinterpret_cast<std::uintptr_t>(start) % CPU_CACHELINE, 0u);
			EXPECT_TRUE(starts.insert(start).second);
		}
	}
	for (auto it = starts.begin(); std::next(it) != starts.end(); ++it)
		ASSERT_GE(*std::next(it) - *it, std::ptrdiff_t{sizeof(struct cpu_slot)});
}

TEST_F(SlotsTest, SlotsAreUsedAgainAndComeBackEmpty)
{
	static const struct cpu_slot empty = {};
	char *slots = cpu_slots_create();

	std::memset(cpu_slot(slots, 0), 0x5a, sizeof(struct cpu_slot));
	cpu_slots_destroy(slots);

	char *again = create();

	EXPECT_EQ(again, slots);
	EXPECT_EQ(std::memcmp(cpu_slot(again, 0), &empty, sizeof(empty)), 0);
}

TEST_F(SlotsTest, PagesOfUnusedCpusAreNotTouched)
{
	char *slots = create_in_fresh_area();
	char *neighbour = create();
	const std::size_t row = std::size_t{1} << CPU_AREA_SHIFT;

	for (unsigned cpu = 0; cpu < cpu_possible(); cpu++)
		EXPECT_EQ(resident_pages(cpu_slot(slots, cpu), row), 0u) << cpu;
	cpu_slot(slots, 0)->hot = 1;
	cpu_slot(neighbour, 0)->hot = 1;
	EXPECT_EQ(resident_pages(cpu_slot(slots, 0), row), 1u);
	for (unsigned cpu = 1; cpu < cpu_possible(); cpu++)
		EXPECT_EQ(resident_pages(cpu_slot(slots, cpu), row), 0u) << cpu;
}

TEST_F(SlotsTest, NobodysSlotsAreAlwaysEmpty)
{
	static const struct cpu_slot empty = {};

	for (long row = -2; row < static_cast<long>(cpu_possible()); row++)
		EXPECT_EQ(std::memcmp(cpu_slot(cpu_slots_none(), row), &empty, sizeof(empty)), 0);
	EXPECT_EXIT(cpu_slot(cpu_slots_none(), 0)->hot = 1, testing::KilledBySignal(SIGSEGV), "");
}

/* What the kernel keeps for a thread, made up: the fast paths read the CPU here. */
struct made_up_rseq {
	std::uint32_t cpu_id_start;
	std::int32_t cpu_id;
	std::uint64_t rseq_cs;
	std::uint64_t more[2];
};

alignas(32) thread_local struct made_up_rseq made_up;

/* "Not registered" is -1, "registration failed" -2, and CPU_NONE owns nothing. */
TEST_F(SlotsTest, ThreadsWithoutACpuAreRefusedByTheFastPaths)
{
	const long offset = reinterpret_cast<char *>(&made_up) -
			    static_cast<char *>(__builtin_thread_pointer());
	char *slots = create(), *none = cpu_slots_none();
	bare_slab slab(4);
	void *obj;

	slab.put({0, 1});
	for (int cpu : {-1, -2}) {
		made_up.cpu_id = cpu;
		EXPECT_FALSE(rseq_pop(&slots, offset, &obj));
		EXPECT_FALSE(rseq_pop(&none, offset, &obj));
		EXPECT_FALSE(rseq_push(&slots, slab.get(), slab.object(2), offset));
		EXPECT_EQ(slab.free_objects(), (indices{1, 0}));
		EXPECT_EQ(cpu_slot(slots, cpu)->current, nullptr);
		EXPECT_EQ(cpu_slot(slots, cpu)->hot, 1u);
	}
}

/* With a CPU, the same works: the test above tests something. */
TEST_F(SlotsTest, ThreadsWithACpuAreServedByTheFastPaths)
{
	if (!RSEQ_ARCH)
		GTEST_SKIP() << "no restartable sequences in this build";
	const long offset = reinterpret_cast<char *>(&made_up) -
			    static_cast<char *>(__builtin_thread_pointer());
	char *slots = create();
	bare_slab slab(4);
	void *obj;

	made_up.cpu_id = 0;
	ASSERT_TRUE(rseq_push(&slots, slab.get(), slab.object(2), offset));
	cpu_slot(slots, 0)->current = slab.get();
	ASSERT_TRUE(rseq_pop(&slots, offset, &obj));
	EXPECT_EQ(obj, slab.object(2));
}

/* The choice */

TEST(EngineChoice, EachNameGivesThatEngine)
{
	for (const char *name : {"rseq", "cmpxchg16b", "mutex"}) {
		const bool had = cpu_engine_init(name);

		EXPECT_EQ(had, std::strcmp(cpu_engine->name, name) == 0) << name;
		EXPECT_GE(cpu_engine->cpu(), 0) << name;
	}
	EXPECT_TRUE(cpu_engine_init("mutex"));
}

TEST(EngineChoice, WithoutAWishItIsTheBestThatWorks)
{
	EXPECT_TRUE(cpu_engine_init(nullptr));
	const std::string best = cpu_engine->name;

	for (const char *name : {"rseq", "cmpxchg16b", "mutex"})
		if (cpu_engine_init(name)) {
			EXPECT_EQ(best, name);
			break;
		}
}

TEST(EngineChoice, WithoutRseqItFallsBackToTheNext)
{
	if (!running_again()) {
		const second_run again = run_again({"GLIBC_TUNABLES=glibc.pthread.rseq=0"});

		EXPECT_EQ(again.failure, "") << again.output;
		return;
	}
	EXPECT_FALSE(cpu_engine_init("rseq"));
	EXPECT_STRNE(cpu_engine->name, "rseq");
	const std::string next = cpu_engine->name;

	EXPECT_TRUE(cpu_engine_init(nullptr));
	EXPECT_EQ(cpu_engine->name, next);
	EXPECT_EQ(cpu_engine_init("cmpxchg16b"), next == "cmpxchg16b");
	/* The stand-in: a thread on no CPU. */
	char *slots = cpu_slots_create();
	void *obj;

	EXPECT_FALSE(rseq_pop(&slots, cpu_rseq_offset, &obj));
	cpu_slots_destroy(slots);
}

} /* namespace */
