/* SPDX-License-Identifier: MIT */
/*
 * The engines under threads that fight for the same slots, with sections that
 * are held up at each injection point in turn.
 *
 * Threads allocate from and free to a slot_arena, which sees at once when an object
 * is handed out or given back twice, and in the end when one is lost.
 *
 * Each test works for half a second, or a third of SLAB_STRESS_SECONDS: there are sixty.
 */
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include <sys/syscall.h>

#include <gtest/gtest.h>

#include "../support/plain_slab.h"
#include "../support/process.h"
#include "../support/refuse.h"
#include "../support/slot_arena.h"

extern "C" {
#include "cpu_cache.h"
#include "cpu_slab.h"
#include "inject.h"
#include "rseq.h"
#include "slots.h"
}

using namespace slab_test;

namespace
{

constexpr std::size_t most_held = 24;

/* Signals that this thread has seen. */
thread_local volatile unsigned signals_seen;

void count_signal(int)
{
	signals_seen = signals_seen + 1;
}

/* Points in C: how long to stay at each, and how often a thread was there. */
std::atomic<unsigned> hook_loops[CPU_INJECT_POINTS], hook_hits[CPU_INJECT_POINTS];

void spin_at(int point)
{
	hook_hits[point].fetch_add(1, std::memory_order_relaxed);
	for (unsigned i = hook_loops[point]; i > 0; i--)
#ifdef __x86_64__
		__builtin_ia32_pause();
#else
		std::atomic_signal_fence(std::memory_order_seq_cst);
#endif
}

/* One thread's life: it allocates and frees, singly and in bulk. */
class worker
{
public:
	worker(slot_arena &place, unsigned seed) : arena_(place), random_(seed) {}

	~worker()
	{
		for (void *obj : held_)
			arena_.free(obj);
	}

	worker(const worker &) = delete;
	worker &operator=(const worker &) = delete;

	void step()
	{
		const unsigned before = signals_seen, dice = random_() % 32;

		if (dice < 14 && held_.size() < most_held)
			keep(arena_.alloc());
		else if (dice == 14 && held_.size() < most_held)
			keep_bulk();
		else if (dice == 15)
			free_bulk();
		else if (dice == 16)
			arena_.drain();
		else if (!held_.empty())
			arena_.free(give_up());
		interrupted_ += signals_seen != before;
	}

	/* Steps that a signal hit. */
	unsigned interrupted() const
	{
		return interrupted_;
	}

private:
	void keep(void *obj)
	{
		if (obj)
			held_.push_back(obj);
	}

	void keep_bulk()
	{
		void *objs[8];
		const std::size_t n = arena_.alloc_bulk(8, objs);

		held_.insert(held_.end(), objs, objs + n);
	}

	void *give_up()
	{
		const std::size_t i = random_() % held_.size();
		void *obj = held_[i];

		held_[i] = held_.back();
		held_.pop_back();
		return obj;
	}

	/* Two objects of one slab, if the last two we hold are. */
	void free_bulk()
	{
		if (held_.size() < 2)
			return;
		void *a = give_up(), *b = give_up();

		if (arena_.same_slab(a, b))
			arena_.free_bulk({a, b});
		else
			for (void *obj : {a, b})
				arena_.free(obj);
	}

	slot_arena &arena_;
	std::mt19937 random_;
	std::vector<void *> held_;
	unsigned interrupted_ = 0;
};

struct scene {
	const char *engine;
	int point; /* where sections are held up; -1: nowhere */
	unsigned threads;
};

std::string scene_name(const testing::TestParamInfo<struct scene> &info)
{
	const struct scene &s = info.param;
	const std::string point = s.point < 0 ? "Nowhere" : "At" + std::to_string(s.point);

	return std::string(s.engine) + point + "With" + std::to_string(s.threads) + "Threads";
}

class EngineStressTest : public testing::TestWithParam<struct scene>
{
protected:
	void SetUp() override
	{
		const struct scene &s = GetParam();

		if (!cpu_engine_init(s.engine))
			GTEST_SKIP() << s.engine << " is not available here";
		arena_ = std::make_unique<slot_arena>();
		for (std::atomic<unsigned> &hits : hook_hits)
			hits = 0;
		cpu_inject_hook = spin_at;
	}

	void TearDown() override
	{
		hold_up_for(0);
		cpu_inject_hook = nullptr;
		arena_.reset();
	}

	/* How long sections stay at the point, in turns of a spin. */
	void hold_up_for(unsigned loops)
	{
		const int point = GetParam().point;

		if (point < 0)
			return;
		hook_loops[point] = loops;
		__atomic_store_n(&cpu_inject_loops[point], loops, __ATOMIC_RELAXED);
	}

	void work(unsigned seed)
	{
		interruptions often(2000, count_signal);
		worker self(*arena_, seed);

		tids_[seed] = thread_id();
		while (!stop_)
			self.step();
		interrupted_ += self.interrupted();
	}

	/* Change how long, and where threads run, all the time. */
	void disturb(bool revoke)
	{
		/* Locks are not fair: the fence must get at them between long spins. */
		static const unsigned lengths[] = {0, 200, 2000, 20000};
		const unsigned choices =
			revoke && std::strcmp(GetParam().engine, "rseq") != 0 ? 2 : 4;
		const char *seconds = std::getenv("SLAB_STRESS_SECONDS");
		const auto end =
			std::chrono::steady_clock::now() +
			std::chrono::duration<double>(seconds ? std::atof(seconds) / 3 : 0.5);
		std::mt19937 random(1);

		while (std::chrono::steady_clock::now() < end && arena_->healthy()) {
			hold_up_for(lengths[random() % choices]);
			pin(random(), tids_[random() % GetParam().threads]);
			if (revoke)
				arena_->revoke_all();
			std::this_thread::sleep_for(std::chrono::milliseconds(1));
		}
		hold_up_for(0);
		stop_ = true;
	}

	/* disturb() is called in a thread of its own, behind `before`. */
	void run(bool revoke, const std::function<void()> &before = [] {})
	{
		std::vector<std::thread> threads;

		for (unsigned i = 0; i < GetParam().threads; i++)
			threads.emplace_back([this, i] { work(i); });
		/* Before that, pin() would move this thread. */
		for (unsigned i = 0; i < GetParam().threads; i++)
			while (!tids_[i])
				std::this_thread::yield();
		std::thread([&] {
			before();
			disturb(revoke);
		}).join();
		for (std::thread &thread : threads)
			thread.join();
		arena_->expect_whole();
		EXPECT_GT(interrupted_, 0u) << "no section was ever interrupted";
		if (GetParam().point >= 0 && std::strcmp(GetParam().engine, "rseq") != 0) {
			EXPECT_GT(hook_hits[GetParam().point], 0u) << "no thread came by the point";
		}
	}

	std::unique_ptr<slot_arena> arena_;

private:
	std::atomic<bool> stop_{false};
	std::atomic<pid_t> tids_[16] = {};
	std::atomic<unsigned> interrupted_{0};
};

TEST_P(EngineStressTest, NoObjectIsLostOrDoubled)
{
	run(false);
}

TEST_P(EngineStressTest, NorBesideRevocation)
{
	run(true);
}

/* The points of the fast sections in assembly are rseq's alone, 2 is C's. */
INSTANTIATE_TEST_SUITE_P(
	Sections, EngineStressTest,
	testing::Values(scene{"rseq", 0, 2}, scene{"rseq", 0, 16}, scene{"rseq", 1, 2},
			scene{"rseq", 1, 16}, scene{"rseq", 3, 2}, scene{"rseq", 3, 16},
			scene{"rseq", 5, 2}, scene{"rseq", 5, 16}, scene{"rseq", 6, 2},
			scene{"rseq", 6, 16}, scene{"rseq", 8, 2}, scene{"rseq", 8, 16},
			scene{"rseq", 9, 2}, scene{"rseq", 9, 16}, scene{"cmpxchg16b", -1, 2},
			scene{"cmpxchg16b", 2, 2}, scene{"cmpxchg16b", 2, 16},
			scene{"cmpxchg16b", 6, 2}, scene{"cmpxchg16b", 6, 16},
			scene{"mutex", -1, 2}, scene{"mutex", 2, 2}, scene{"mutex", 2, 16},
			scene{"mutex", 5, 2}, scene{"mutex", 5, 16}, scene{"mutex", 6, 2},
			scene{"mutex", 6, 16}),
	scene_name);

/* The fence of rseq where membarrier(2) is refused: it visits the CPUs. */
class RefusedFenceTest : public EngineStressTest
{
};

TEST_P(RefusedFenceTest, NoObjectIsLostOrDoubledBesideRevocation)
{
	bool refused = false;

	run(true, [&refused] { refused = refuse(SYS_membarrier, EPERM); });
	if (!refused)
		GTEST_SKIP() << "no seccomp filter here";
}

TEST_P(RefusedFenceTest, NoObjectIsLostOrDoubledWithoutAnyFence)
{
	bool refused = false;

	run(true, [&refused] { refused = refuse_fences(); });
	if (!refused)
		GTEST_SKIP() << "no seccomp filter here";
}

/* The point where a fence that does nothing shows within half a second. */
INSTANTIATE_TEST_SUITE_P(Sections, RefusedFenceTest,
			 testing::Values(scene{"rseq", 6, 2}, scene{"rseq", 6, 16}), scene_name);

/*
 * That a point is really where sections are aborted: a section that is held up
 * there for longer than the time between two signals never commits, and commits
 * at once when it is not.
 */
class AbortTest : public testing::TestWithParam<int>
{
};

enum cpu_result run_section_of_point(int point, char *slots, int cpu, plain_slab &slab)
{
	char *lifos = cpu_slots_lifos(slots);
	void *obj;

	/* The engine would try a second sequence. */
	if (point == 0 || point == 8)
		return rseq_pop(&lifos, cpu_rseq_offset, &obj) ? CPU_DONE : CPU_MOVED;
	if (point == 3 || point == 9)
		return cpu_engine->lifo_push(slots, cpu, slab.object(0), CPU_LIFO_MAX);
	if (point == 1)
		return cpu_engine->pop(slots) ? CPU_DONE : CPU_MOVED;
	if (point == 5)
		return cpu_engine->push(slots, cpu, slab.get(), 0);
	return cpu_engine->batch_add(slots, cpu, slab.get(), 0);
}

TEST_P(AbortTest, SectionsHeldUpAtThePointAreAborted)
{
	if (!cpu_engine_init("rseq"))
		GTEST_SKIP() << "rseq is not available here";
	const int point = GetParam();
	char *slots = cpu_slots_create();
	enum cpu_result result = CPU_MOVED;

	pin(0);
	{
		const int cpu = cpu_engine->cpu();
		struct cpu_lifo *lifo = cpu_lifo(cpu_slots_lifos(slots), cpu);
		interruptions often(1000);
		plain_slab slab(8);

		slab.put({5});
		cpu_slab_set_owner(slab.get(), static_cast<std::uint32_t>(cpu));
		cpu_slot(slots, cpu)->current = slab.get();
		lifo->obj[0] = slab.object(2);
		lifo->count = 1;
		lifo->limit = CPU_LIFO_MAX;

		cpu_inject_loops[point] = ~0u;
		for (int i = 0; i < 20; i++) {
			EXPECT_NE(run_section_of_point(point, slots, cpu, slab), CPU_DONE);
			EXPECT_EQ(slab.free_objects(), std::vector<unsigned>{5});
			EXPECT_EQ(cpu_slot(slots, cpu)->remote_batch, 0u);
			EXPECT_EQ(lifo->count, 1u);
		}
		cpu_inject_loops[point] = 0;
		for (int i = 0; i < 1000 && result != CPU_DONE; i++)
			result = run_section_of_point(point, slots, cpu, slab);
		EXPECT_EQ(result, CPU_DONE);
	}
	unpin();
	cpu_slots_destroy(slots);
}

INSTANTIATE_TEST_SUITE_P(Points, AbortTest, testing::Values(0, 1, 3, 5, 6, 8, 9));

} /* namespace */
