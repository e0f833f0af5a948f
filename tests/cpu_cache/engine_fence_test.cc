/* SPDX-License-Identifier: MIT */
/*
 * The engines between CPUs: sections for a CPU where the thread is not, fences and
 * locks that wait for other threads' sections, and isolated slabs.
 */
#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <sched.h>
#include <sys/resource.h>
#include <time.h>

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

/* Sections for a CPU that the thread is not on. */

TEST_P(EngineTest, SectionsForAnotherCpuSayThatWeMoved)
{
	if (!is("rseq"))
		GTEST_SKIP() << "engines with locks may act for any CPU";
	/* Our own slot under another CPU's number: it must stay as it is. */
	const int other = cpu_ + 1;
	char *elsewhere = slots_ - (std::ptrdiff_t{1} << CPU_AREA_SHIFT);
	plain_slab &current = make_current({}), &slab = make_owned({1}), &full = make_owned({});
	struct cpu_slab *popped;
	struct cpu_batch batch;
	std::uint64_t word;

	commits([&] { return list(full); });
	commits([&] { return engine_->batch_add(slots_, cpu_, slab.get(), 8); });
	for (plain_slab *s : {&current, &slab})
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
	moved([&] { return engine_->batch_add(elsewhere, other, slab.get(), 16); });
	moved([&] { return engine_->batch_take(elsewhere, other, &batch); });
	slot_->current = nullptr;
	moved([&] { return engine_->install(elsewhere, other, slab.get()); });
	moved([&] { return engine_->push(slots_, other, slab.get(), 0); });
}

TEST_P(EngineTest, SectionsWithLocksActForAnyCpu)
{
	if (is("rseq"))
		GTEST_SKIP() << "rseq reports that it moved";
	if (cpu_possible() < 2)
		GTEST_SKIP() << "one CPU";
	const int other = cpu_ == 0 ? 1 : 0;
	plain_slab &slab = make();

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
	plain_slab &slab = make_owned({0});
	std::atomic<bool> fenced{false};

	inside = let_go = false;
	cpu_inject_hook = hold_up;
	std::thread section([&] { engine_->install(slots_, cpu_, slab.get()); });
	while (!inside)
		std::this_thread::yield();
	std::thread fence([&] {
		engine_->fence(slots_);
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

/* A section of another thread that holds the slot's lock until the test lets it go. */
class held_section
{
public:
	explicit held_section(const std::function<void()> &section)
	{
		inside = let_go = false;
		cpu_inject_hook = hold_up;
		thread_ = std::thread(section);
		while (!inside)
			std::this_thread::yield();
	}

	~held_section()
	{
		let_go = true;
		thread_.join();
		cpu_inject_hook = nullptr;
	}

	held_section(const held_section &) = delete;
	held_section &operator=(const held_section &) = delete;

private:
	std::thread thread_;
};

/* Does this thread sleep within ten seconds? */
bool comes_to_sleep(pid_t tid)
{
	const std::string name = "/proc/self/task/" + std::to_string(tid) + "/stat";

	for (int i = 0; i < 10000; i++) {
		std::string line;

		std::getline(std::ifstream(name), line);
		if (line.find(") S ") != std::string::npos)
			return true;
		std::this_thread::sleep_for(std::chrono::milliseconds(1));
	}
	return false;
}

/* Start a thread that does `act`, which needs the lock of a held section. */
void expect_sleeps(const std::function<void()> &act)
{
	std::atomic<pid_t> tid{0};
	std::thread waiter([&] {
		tid = thread_id();
		act();
	});

	while (!tid)
		std::this_thread::yield();
	EXPECT_TRUE(comes_to_sleep(tid));
	let_go = true;
	waiter.join();
}

TEST_P(EngineTest, SectionsThatWaitForALockSleep)
{
	if (is("rseq"))
		GTEST_SKIP() << "rseq has no locks";
	plain_slab &slab = make_owned({0}), &other = make_owned({0});
	const held_section held([&] { engine_->install(slots_, cpu_, slab.get()); });

	expect_sleeps([&] { list(other); });
	EXPECT_EQ(cpu_slot(slots_, cpu_)->lock, 0u);
}

TEST_P(EngineTest, FencesThatWaitForALockSleep)
{
	if (is("rseq"))
		GTEST_SKIP() << "rseq has no locks";
	plain_slab &slab = make_owned({0});
	const held_section held([&] { engine_->install(slots_, cpu_, slab.get()); });

	expect_sleeps([&] { engine_->fence(slots_); });
}

double cpu_seconds()
{
	struct timespec time = {};

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

/* On the CPU of the holder, which runs only while the thread with the real-time priority sleeps. */
TEST_P(EngineTest, AThreadWithARealTimePriorityLetsTheHolderOfALockRun)
{
	if (is("rseq"))
		GTEST_SKIP() << "rseq has no locks";
	plain_slab &slab = make_owned({0}), &other = make_owned({0});
	std::atomic<bool> permitted{false};
	double seconds = 0;
	const held_section held([&] {
		pin(0);
		engine_->install(slots_, cpu_, slab.get());
	});
	std::thread first([&] {
		const struct sched_param priority = {1};

		pin(0);
		permitted = sched_setscheduler(0, SCHED_FIFO, &priority) == 0;
		let_go = true;
		const double before = cpu_seconds();

		engine_->partial_push(slots_, cpu_, other.get(), other.get(), 1);
		seconds = cpu_seconds() - before;
	});

	first.join();
	if (!permitted)
		GTEST_SKIP() << "no real-time priorities here";
	EXPECT_LT(seconds, 0.1);
}

long preemptions()
{
	struct rusage usage = {};

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nivcsw;
}

/* So many loops of an injection point take about 20 ms. The kernel may end a longer section by itself:
 * it looks through the CPU numbers of a process ten times a second. */
unsigned long_loops(const std::function<void()> &section, unsigned &loops)
{
	double least = 1;

	loops = 10000;
	for (int i = 0; i < 3; i++) {
		const auto begun = std::chrono::steady_clock::now();

		section();
		least = std::min(least, std::chrono::duration<double>(
						std::chrono::steady_clock::now() - begun)
						.count());
	}
	loops = 0;
	return static_cast<unsigned>(10000 * 0.02 / least);
}

/* A preemption ends a section as well: only one that was not preempted shows what the fence does. A
 * thread with a real-time priority, which takes privileges, is hardly ever preempted. */
TEST_P(EngineTest, FenceEndsSectionsThatBeganBefore)
{
	if (!is("rseq"))
		GTEST_SKIP() << "engines with locks wait for them";
	plain_slab &slab = make_current({0, 1, 2, 3, 4});
	void *obj = nullptr;
	bool was_preempted = true;

	/* Pop, held up behind its reads. */
	cpu_inject_loops[1] = long_loops([&] { pop(); }, cpu_inject_loops[1]);
	pin(1);
	for (int i = 0; i < 200 && was_preempted && !obj; i++) {
		std::atomic<bool> running{false};
		std::thread popper([&] {
			const struct sched_param first = {1};

			pin(0);
			sched_setscheduler(0, SCHED_FIFO, &first);
			const long before = preemptions();

			running = true;
			obj = engine_->pop(slots_);
			was_preempted = preemptions() != before;
		});

		while (!running)
			std::this_thread::yield();
		std::this_thread::sleep_for(std::chrono::milliseconds(1));
		engine_->fence(slots_);
		popper.join();
	}
	cpu_inject_loops[1] = 0;
	EXPECT_EQ(obj, nullptr);
	EXPECT_EQ(slab.free_objects(), (indices{1, 0}));
	pin(0);
	EXPECT_EQ(pop(), slab.object(1));
	if (was_preempted)
		GTEST_SKIP() << "this machine preempts every section";
}

TEST_P(EngineTest, FenceReturnsWhenNoThreadIsInASection)
{
	for (int i = 0; i < 100; i++)
		EXPECT_TRUE(engine_->fence(slots_));
}

/* Fork handlers hold every lock over the fork. */
TEST_P(EngineTest, LockAllKeepsSectionsUnderLocksOut)
{
	plain_slab &slab = make_owned({0});
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

/* Isolated slabs */

TEST_P(EngineTest, IsolatedTakesWhatWasPutLastFirst)
{
	plain_slab &slab = make(16);
	std::uint16_t taken[16];

	EXPECT_EQ(cpu_slab_take(slab.get(), 16, taken), 0u);
	slab.put({4, 9, 0});
	slab.put({15});
	slab.put({});
	EXPECT_EQ(cpu_slab_free_count(slab.get()), 4u);
	EXPECT_EQ(slab.free_objects(), (indices{15, 0, 9, 4}));
	EXPECT_EQ(cpu_slab_take(slab.get(), 0, taken), 0u);
	EXPECT_EQ(cpu_slab_take(slab.get(), 3, taken), 3u);
	EXPECT_EQ(taken[0], slab.offset8(15));
	EXPECT_EQ(taken[1], slab.offset8(0));
	EXPECT_EQ(taken[2], slab.offset8(9));
	EXPECT_EQ(cpu_slab_free_count(slab.get()), 1u);
	EXPECT_EQ(cpu_slab_take(slab.get(), 16, taken), 1u);
	EXPECT_EQ(taken[0], slab.offset8(4));
	EXPECT_EQ(cpu_slab_free_count(slab.get()), 0u);
	EXPECT_EQ(cpu_slab_owner(slab.get()), CPU_NONE);
}

TEST_P(EngineTest, IsolatedKeepsTheFreelistOverAChangeOfOwner)
{
	plain_slab &slab = make_owned({1, 2, 3});

	EXPECT_EQ(cpu_slab_owner(slab.get()), static_cast<std::uint32_t>(cpu_));
	commits([&] { return engine_->disown(slots_, cpu_, slab.get(), false); });
	slab.put({4});
	EXPECT_EQ(slab.free_objects(), (indices{4, 3, 2, 1}));
}

/* From the smallest to the largest object, in the largest slab there is. */
TEST_P(EngineTest, IsolatedHoldsEveryObjectOfTheLargestSlab)
{
	for (std::size_t size : {8u, 16u, 24u, 56u, 712u, 4096u, 32768u}) {
		plain_slab slab(std::min(objects_of_largest_slab(size), 65535u), size);
		std::uint16_t taken;

		slab.put_all();
		ASSERT_EQ(cpu_slab_free_count(slab.get()), slab.objects()) << size;
		ASSERT_EQ(slab.free_objects().size(), slab.objects()) << size;
		for (unsigned i = slab.objects(); i-- > 0;) {
			ASSERT_EQ(cpu_slab_take(slab.get(), 1, &taken), 1u) << size;
			ASSERT_EQ(taken, slab.offset8(i)) << size;
		}
	}
}

} /* namespace */
