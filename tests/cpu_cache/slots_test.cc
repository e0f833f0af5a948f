/* SPDX-License-Identifier: MIT */
/*
 * What the engines stand on: arithmetic of isolated slabs, the areas of slots,
 * threads without a CPU, and the choice of an engine.
 */
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include <sched.h>
#include <sys/mman.h>
#include <sys/rseq.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <slab/slab.h>

#include "../support/plain_slab.h"
#include "../support/process.h"
#include "../support/resident.h"

extern "C" {
#include "cas16.h"
#include "cpu_cache.h"
#include "cpu_slab.h"
#include "rseq.h"
#include "slots.h"
}

using namespace slab_test;

static bool cpu_is_unknown;

/* In place of glibc's. */
extern "C" int sched_getcpu() noexcept
{
	unsigned cpu;

	return cpu_is_unknown || getcpu(&cpu, nullptr) ? -1 : static_cast<int>(cpu);
}

namespace
{

using indices = std::vector<unsigned>;

/* Offsets become indices by a multiplication that must never be one off. */
TEST(IsolatedSlab, IndexIsExactForEveryObjectOfEverySize)
{
	struct slab slab = {};
	static char base[8];

	for (std::size_t size = 8; size <= SLAB_MAX_OBJECT_SIZE; size += 8) {
		cpu_slab_init(&slab.cpu, base, size, objects_of_largest_slab(size), nullptr);
		for (unsigned i = 0; i < objects_of_largest_slab(size); i++) {
			const std::size_t offset8 = i * size / 8;

			ASSERT_LE(offset8, UINT16_MAX);
			ASSERT_EQ(cpu_slab_index(&slab.cpu, static_cast<std::uint16_t>(offset8)), i)
				<< size;
			/* And the last word of the object is still of it. */
			ASSERT_EQ(cpu_slab_index(&slab.cpu, static_cast<std::uint16_t>(
								    offset8 + size / 8 - 1)),
				  i)
				<< size;
		}
	}
}

TEST(IsolatedSlab, ObjectAndOffsetAreInverse)
{
	plain_slab slab(100, 712);

	for (unsigned i = 0; i < 100; i++) {
		EXPECT_EQ(cpu_slab_offset8(slab.get(), slab.object(i)), slab.offset8(i));
		EXPECT_EQ(cpu_slab_object(slab.get(), slab.offset8(i)), slab.object(i));
	}
}

TEST(IsolatedSlab, ListWordsHoldASlabAndACount)
{
	plain_slab slab(1);

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

	/* The first slots of an untouched area. */
	char *create_in_fresh_area()
	{
		const unsigned before = cpu_area_count;
		char *slots;

		do
			slots = create();
		while (cpu_area_count == before);
		return slots;
	}

	std::vector<char *> all_;
};

/* Of more caches than any process has had so far. */
TEST_F(SlotsTest, ThereAreSlotsForThousandsOfUsers)
{
	std::set<char *> all;

	for (unsigned i = 0; i < 6000; i++)
		ASSERT_TRUE(all.insert(create()).second) << i;
	char *freed = all_[5000];

	cpu_slots_destroy(freed);
	all_.erase(all_.begin() + 5000);
	EXPECT_EQ(create(), freed) << "a place that is free again, in a full area";
}

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

TEST_F(SlotsTest, DestructionLeavesTheOtherUsersOfTheAreaAlone)
{
	char *kept = create(), *other = cpu_slots_create();

	cpu_slot(kept, 0)->partial = 1;
	cpu_slot(other, 0)->partial = 2;
	cpu_slots_destroy(other);
	EXPECT_EQ(cpu_slot(kept, 0)->partial, 1u);
	cpu_slot(kept, 0)->partial = 0;
}

/* A LIFO that was open or held objects is closed and empty for the next user. */
TEST_F(SlotsTest, LifosAreUsedAgainAndComeBackClosed)
{
	char *slots = cpu_slots_create();

	cpu_lifo(cpu_slots_lifos(slots), 0)->limit = 5;
	cpu_slots_destroy(slots);

	char *again = create();

	EXPECT_EQ(again, slots);
	EXPECT_EQ(cpu_lifo(cpu_slots_lifos(again), 0)->limit, 0u);
	EXPECT_EQ(cpu_lifo(cpu_slots_lifos(again), 0)->count, 0u);
}

TEST_F(SlotsTest, TheLastUserOfAnAreaReturnsItsMemory)
{
	char *slots = cpu_slots_create();
	auto *page = reinterpret_cast<char *>(reinterpret_cast<std::uintptr_t>(cpu_slot(slots, 0)) &
					      ~(static_cast<std::size_t>(getpagesize()) - 1));

	cpu_slot(slots, 0)->partial = 1;
	ASSERT_EQ(resident_pages(page, static_cast<std::size_t>(getpagesize())), 1u);
	cpu_slots_destroy(slots);
	EXPECT_EQ(resident_pages(page, static_cast<std::size_t>(getpagesize())), 0u);
}

TEST_F(SlotsTest, LockedSlotsComeBackEmpty)
{
	static const struct cpu_slot empty = {};
	char *slots = cpu_slots_create();
	void *slot = cpu_slot(slots, 0);

	if (mlock(slot, sizeof(empty)) != 0)
		GTEST_SKIP() << "mlock: " << std::strerror(errno);
	std::memset(slot, 0x5a, sizeof(empty));
	cpu_slots_destroy(slots);
	EXPECT_EQ(std::memcmp(slot, &empty, sizeof(empty)), 0);
	munlock(slot, sizeof(empty));
}

TEST_F(SlotsTest, PagesOfUnusedCpusAreNotTouched)
{
	char *slots = create_in_fresh_area();
	char *neighbour = create();
	const std::size_t row = std::size_t{1} << CPU_AREA_SHIFT;

	for (unsigned cpu = 0; cpu < cpu_possible(); cpu++)
		EXPECT_EQ(resident_pages(cpu_slot(slots, cpu), row), 0u) << cpu;
	cpu_slot(slots, 0)->partial = 1;
	cpu_slot(neighbour, 0)->partial = 1;
	EXPECT_EQ(resident_pages(cpu_slot(slots, 0), row), 1u);
	for (unsigned cpu = 1; cpu < cpu_possible(); cpu++)
		EXPECT_EQ(resident_pages(cpu_slot(slots, cpu), row), 0u) << cpu;
}

TEST_F(SlotsTest, TheSlotsOfNoCacheAreAlwaysEmpty)
{
	static const struct cpu_slot empty = {};

	for (long row = -2; row < static_cast<long>(cpu_possible()); row++)
		EXPECT_EQ(std::memcmp(cpu_slot(cpu_slots_none(), row), &empty, sizeof(empty)), 0);
	EXPECT_EXIT(cpu_slot(cpu_slots_none(), 0)->partial = 1, testing::KilledBySignal(SIGSEGV),
		    "");
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
	char *slots = create(), *lifos = cpu_slots_lifos(slots), *none = cpu_slots_none();
	plain_slab slab(4);
	void *obj;

	slab.put({0, 1});
	for (int cpu : {-1, -2}) {
		made_up.cpu_id = cpu;
		for (char *rows : {lifos, none}) {
			EXPECT_FALSE(rseq_pop(&rows, offset, &obj));
			EXPECT_FALSE(rseq_push(&rows, slab.object(2), offset));
		}
		for (char *rows : {slots, none})
			EXPECT_FALSE(rseq_pop_current(&rows, offset, &obj));
		EXPECT_FALSE(rseq_push_owned(slab.get(), slab.object(2), offset));
		EXPECT_EQ(slab.free_objects(), (indices{1, 0}));
		EXPECT_EQ(cpu_slot(slots, cpu)->current, nullptr);
		EXPECT_EQ(cpu_lifo(lifos, cpu)->count, 0u);
	}
}

/* With a CPU, the same works: the test above tests something. */
TEST_F(SlotsTest, ThreadsWithACpuAreServedByTheFastPaths)
{
	if (!RSEQ_ARCH)
		GTEST_SKIP() << "no restartable sequences in this build";
	const long offset = reinterpret_cast<char *>(&made_up) -
			    static_cast<char *>(__builtin_thread_pointer());
	char *slots = create(), *lifos = cpu_slots_lifos(slots);
	plain_slab slab(4);
	void *obj;

	made_up.cpu_id = 0;
	cpu_lifo(lifos, 0)->limit = 1;
	ASSERT_TRUE(rseq_push(&lifos, slab.object(2), offset));
	ASSERT_TRUE(rseq_pop(&lifos, offset, &obj));
	EXPECT_EQ(obj, slab.object(2));
	cpu_slab_set_owner(slab.get(), 0);
	ASSERT_TRUE(rseq_push_owned(slab.get(), slab.object(3), offset));
	cpu_slot(slots, 0)->current = slab.get();
	ASSERT_TRUE(rseq_pop_current(&slots, offset, &obj));
	EXPECT_EQ(obj, slab.object(3));
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

TEST(EngineChoice, AThreadWhoseCpuTheKernelDoesNotTellUsesTheFirst)
{
	ASSERT_TRUE(cpu_engine_init("mutex"));
	cpu_is_unknown = true;
	const int cpu = cpu_engine->cpu();

	cpu_is_unknown = false;
	EXPECT_EQ(cpu, 0);
}

/* With links, the list ends at its last link, and after as many objects as it counts. */
TEST(EngineChoice, DamagedLinksAreNoEndlessList)
{
	if (!cpu_engine_init("cmpxchg16b"))
		GTEST_SKIP() << "no cmpxchg16b";
	const plain_slab memory(3);
	struct cpu_slab *slab = memory.get();
	const auto objects_of = [slab](std::uint64_t first_plus_1, std::uint64_t count) {
		unsigned n = 0;

		cpu_slab_freelist(slab)->local = first_plus_1 | count << 16;
		cpu_slab_each(
			slab, [](void *arg, std::uint16_t) { ++*static_cast<unsigned *>(arg); },
			&n);
		return n;
	};

	cpu_slab_stack(slab)[0] = 1; /* leads to itself */
	EXPECT_EQ(objects_of(1, 2), 2u);
	EXPECT_EQ(objects_of(0, 2), 0u);
	EXPECT_TRUE(cpu_engine_init("mutex"));
}

/* A broken engine must not pass for one that the machine does not have. */
TEST(EngineChoice, EnginesThatTheMachineHasPassTheirSelfTest)
{
	EXPECT_EQ(cpu_engine_init("cmpxchg16b"), cas16_available());
	if (RSEQ_ARCH && __rseq_size > 0) {
		EXPECT_TRUE(cpu_engine_init("rseq"));
	}
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

	char *lifos = cpu_slots_lifos(slots);

	EXPECT_FALSE(rseq_pop(&lifos, cpu_rseq_offset, &obj));
	EXPECT_FALSE(rseq_pop_current(&slots, cpu_rseq_offset, &obj));
	cpu_slots_destroy(slots);
}

} /* namespace */
