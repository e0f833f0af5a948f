/* SPDX-License-Identifier: MIT */
/*
 * The engines under threads that fight for the same slots, with sections that
 * are held up at each injection point in turn.
 *
 * A miniature of the layer above moves a few slabs between CPUs, a common pool
 * and the hands of threads, by sections only. Each object has a flag that says
 * whether a thread holds it: an object that is handed out twice, or given back
 * twice, is seen at once; in the end each must be found in exactly one place.
 *
 * Each test works for half a second, or SLAB_STRESS_SECONDS.
 */
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "../support/bare_slab.h"
#include "../support/process.h"
#include "../support/whitebox.h"

using namespace slab_test;

namespace
{

constexpr unsigned slabs_per_cpu = 4;
constexpr unsigned objects_per_slab = 40;
constexpr std::size_t most_held = 24;

/* Signals that this thread has seen. */
thread_local volatile unsigned signals_seen;

void count_signal(int)
{
	signals_seen = signals_seen + 1;
}

/* Points in C: how long to stay at each, and how often somebody was there. */
std::atomic<unsigned> hook_loops[CPU_INJECT_POINTS], hook_hits[CPU_INJECT_POINTS];

void spin_at(int point)
{
	hook_hits[point].fetch_add(1, std::memory_order_relaxed);
	for (unsigned i = hook_loops[point]; i > 0; i--)
		__builtin_ia32_pause();
}

/* A slab, what others freed into it, and who holds its objects. */
struct shared_slab {
	shared_slab() : slab(objects_per_slab), held(objects_per_slab) {}

	bare_slab slab;
	std::vector<std::atomic<bool>> held;
	std::mutex lock;
	std::vector<std::uint16_t> remote;
};

class arena
{
public:
	arena() : engine_(cpu_engine), slots_(cpu_slots_create())
	{
		for (std::size_t i = 0; i < slabs_per_cpu * allowed_cpus().size(); i++) {
			slabs_.push_back(std::make_unique<shared_slab>());
			slabs_.back()->slab.put_all();
			idle_.push_back(slabs_.back().get());
		}
	}

	~arena()
	{
		cpu_slots_destroy(slots_);
	}

	/* One object, or NULL when nothing was to be had at once. */
	void *alloc()
	{
		void *obj = engine_->pop(slots_);

		if (!obj)
			obj = engine_->pop_hot(slots_);
		if (!obj) {
			refill();
			obj = engine_->pop(slots_);
		}
		if (obj)
			claim(obj);
		return obj;
	}

	std::size_t alloc_bulk(std::size_t n, void **objs)
	{
		const std::size_t got = engine_->pop_bulk(slots_, n, objs);

		for (std::size_t i = 0; i < got; i++)
			claim(objs[i]);
		return got;
	}

	void free(void *obj)
	{
		struct shared_slab *s = release(obj);
		struct cpu_slab *slab = s->slab.get();
		const std::uint16_t offset8 = cpu_slab_offset8(slab, obj);

		for (;;) {
			const int cpu = engine_->cpu();
			enum cpu_result result = engine_->push(slots_, cpu, slab, offset8);

			if (result == CPU_MISS)
				result = gather(cpu, slab, offset8);
			if (result == CPU_DONE)
				return;
		}
	}

	/* All are of one slab. */
	void free_bulk(const std::vector<void *> &objs)
	{
		struct shared_slab *s = nullptr;
		std::vector<std::uint16_t> offsets;

		for (void *obj : objs) {
			s = release(obj);
			offsets.push_back(cpu_slab_offset8(s->slab.get(), obj));
		}
		for (;;) {
			const enum cpu_result result = engine_->push_bulk(
				slots_, engine_->cpu(), s->slab.get(),
				static_cast<unsigned>(offsets.size()), offsets.data());

			if (result == CPU_DONE)
				return;
			if (result == CPU_MISS)
				break;
		}
		put_remote(s, static_cast<unsigned>(offsets.size()), offsets.data());
	}

	bool same_slab(const void *a, const void *b)
	{
		return slab_of_object(a) == slab_of_object(b);
	}

	/* Everything on our CPU's list goes to the pool. */
	void drain()
	{
		const int cpu = engine_->cpu();
		std::uint64_t word;

		if (engine_->partial_take(slots_, cpu, &word) != CPU_DONE)
			return;
		while (word) {
			struct cpu_slab *slab = cpu_word_slab(word);

			word = slab->next;
			if (engine_->disown(slots_, cpu, slab, false) == CPU_DONE)
				make_idle(slab);
			else
				list(cpu, slab);
		}
	}

	/* Take all slots back as the layer above does; only one thread may. */
	void revoke_all()
	{
		std::vector<struct cpu_slab *> hand;

		each_slot([](struct cpu_slot *slot, int) {
			__atomic_store_n(&slot->closed, 1, __ATOMIC_SEQ_CST);
		});
		engine_->fence();
		each_slot([&](struct cpu_slot *slot, int cpu) { take_slot(slot, cpu, hand); });
		engine_->fence();
		each_slot([&](struct cpu_slot *slot, int) {
			void *obj = reinterpret_cast<void *>(
				__atomic_exchange_n(&slot->hot, 0, __ATOMIC_ACQ_REL));

			if (obj)
				put_remote_object(obj);
			__atomic_store_n(&slot->closed, 0, __ATOMIC_RELEASE);
		});
		for (struct cpu_slab *slab : hand)
			make_idle(slab);
	}

	bool healthy() const
	{
		return doubled_ == 0 && strange_ == 0;
	}

	/* When all threads are done and have freed what they held. */
	void expect_whole()
	{
		std::vector<unsigned> seen(slabs_.size() * objects_per_slab);

		const auto see = [&](const void *obj) {
			for (std::size_t i = 0; i < slabs_.size(); i++)
				if (slabs_[i]->slab.holds(obj))
					seen[i * objects_per_slab + slabs_[i]->slab.index(obj)]++;
		};
		each_slot([&](struct cpu_slot *slot, int) {
			see(reinterpret_cast<void *>(slot->hot));
			for (unsigned i = 0; i < cpu_word_count(slot->gather); i++)
				see(cpu_slab_object(cpu_word_slab(slot->gather),
						    slot->gather_buf[i]));
		});
		for (const auto &s : slabs_) {
			for (unsigned i : s->slab.free_objects())
				see(s->slab.object(i));
			for (std::uint16_t offset8 : s->remote)
				see(cpu_slab_object(s->slab.get(), offset8));
		}
		EXPECT_EQ(doubled_, 0u) << "objects handed out or freed twice";
		EXPECT_EQ(strange_, 0u) << "pointers to no object";
		for (std::size_t i = 0; i < seen.size(); i++)
			EXPECT_EQ(seen[i], 1u) << "object " << i;
	}

private:
	template <typename Fn> void each_slot(Fn fn)
	{
		for (int cpu : allowed_cpus())
			fn(cpu_slot(slots_, cpu), cpu);
	}

	struct shared_slab *slab_of_object(const void *obj)
	{
		for (const auto &s : slabs_)
			if (s->slab.holds(obj))
				return s.get();
		strange_++;
		std::abort(); /* nothing that follows would make sense */
	}

	struct shared_slab *shared(const struct cpu_slab *slab)
	{
		return slab_of_object(slab->base);
	}

	void claim(void *obj)
	{
		struct shared_slab *s = slab_of_object(obj);

		if (s->held[s->slab.index(obj)].exchange(true))
			doubled_++;
	}

	struct shared_slab *release(void *obj)
	{
		struct shared_slab *s = slab_of_object(obj);

		if (!s->held[s->slab.index(obj)].exchange(false))
			doubled_++;
		return s;
	}

	void put_remote(struct shared_slab *s, unsigned n, const std::uint16_t *offset8)
	{
		std::lock_guard<std::mutex> guard(s->lock);

		s->remote.insert(s->remote.end(), offset8, offset8 + n);
	}

	void put_remote_object(void *obj)
	{
		struct shared_slab *s = slab_of_object(obj);
		const std::uint16_t offset8 = cpu_slab_offset8(s->slab.get(), obj);

		put_remote(s, 1, &offset8);
	}

	enum cpu_result gather(int cpu, struct cpu_slab *slab, std::uint16_t offset8)
	{
		const enum cpu_result result = engine_->gather(slots_, cpu, slab, offset8);

		if (result != CPU_MISS)
			return result;
		take_gathered(cpu);
		/* A closed slot gathers nothing. */
		if (!__atomic_load_n(&cpu_slot(slots_, cpu)->closed, __ATOMIC_RELAXED))
			return CPU_MOVED;
		put_remote(shared(slab), 1, &offset8);
		return CPU_DONE;
	}

	void take_gathered(int cpu)
	{
		struct cpu_batch batch;

		if (engine_->gather_take(slots_, cpu, &batch) == CPU_DONE)
			put_remote(shared(batch.slab), batch.count, batch.offset8);
	}

	void make_idle(struct cpu_slab *slab)
	{
		struct shared_slab *s = shared(slab);
		std::lock_guard<std::mutex> guard(idle_lock_);

		idle_.push_back(s);
	}

	/* A slab that `cpu` owns: on its list, or where only revocation finds it. */
	void list(int cpu, struct cpu_slab *slab)
	{
		struct cpu_slot *slot = cpu_slot(slots_, cpu);
		std::uint64_t head = __atomic_load_n(&slot->incoming, __ATOMIC_RELAXED);

		for (int i = 0; i < 4; i++)
			if (engine_->partial_push(slots_, cpu, slab, slab, 1) == CPU_DONE)
				return;
		do
			slab->next = head;
		while (!__atomic_compare_exchange_n(&slot->incoming, &head,
						    reinterpret_cast<std::uintptr_t>(slab), false,
						    __ATOMIC_RELEASE, __ATOMIC_RELAXED));
	}

	void install(int cpu, struct cpu_slab *slab)
	{
		if (engine_->install(slots_, cpu, slab) != CPU_DONE)
			list(cpu, slab);
	}

	void take_incoming(int cpu)
	{
		std::uint64_t word =
			__atomic_exchange_n(&cpu_slot(slots_, cpu)->incoming, 0, __ATOMIC_ACQUIRE);

		while (word) {
			struct cpu_slab *slab = cpu_word_slab(word);

			word = slab->next;
			list(cpu, slab);
		}
	}

	/* In hand: what others freed becomes free. */
	void collect(struct shared_slab *s)
	{
		std::lock_guard<std::mutex> guard(s->lock);

		cpu_slab_hand_put(s->slab.get(), static_cast<unsigned>(s->remote.size()),
				  s->remote.data());
		s->remote.clear();
	}

	void refill()
	{
		const int cpu = engine_->cpu();
		struct cpu_slab *slab =
			__atomic_load_n(&cpu_slot(slots_, cpu)->current, __ATOMIC_ACQUIRE);

		if (slab) {
			if (engine_->retire(slots_, cpu, slab) != CPU_DONE)
				return;
			if (engine_->disown(slots_, cpu, slab, true) == CPU_DONE)
				make_idle(slab);
			else
				list(cpu, slab);
		}
		take_incoming(cpu);
		if (engine_->partial_pop(slots_, cpu, &slab) == CPU_DONE) {
			install(cpu, slab);
			return;
		}
		take_gathered(cpu);
		from_pool(cpu);
	}

	void from_pool(int cpu)
	{
		struct shared_slab *s = nullptr;

		{
			std::lock_guard<std::mutex> guard(idle_lock_);

			if (idle_.empty())
				return;
			s = idle_.front();
			idle_.pop_front();
		}
		collect(s);
		cpu_slab_set_owner(s->slab.get(), static_cast<std::uint32_t>(cpu));
		install(cpu, s->slab.get());
	}

	void take_list(int cpu, std::uint64_t word, std::vector<struct cpu_slab *> &hand)
	{
		while (word) {
			struct cpu_slab *slab = cpu_word_slab(word);

			word = slab->next;
			engine_->revoke(slots_, cpu, slab);
			hand.push_back(slab);
		}
	}

	void take_slot(struct cpu_slot *slot, int cpu, std::vector<struct cpu_slab *> &hand)
	{
		struct cpu_slab *current = slot->current;
		const std::uint64_t gathered = slot->gather;

		__atomic_store_n(&slot->current, nullptr, __ATOMIC_SEQ_CST);
		if (current) {
			engine_->revoke(slots_, cpu, current);
			hand.push_back(current);
		}
		take_list(cpu, __atomic_exchange_n(&slot->partial, 0, __ATOMIC_ACQUIRE), hand);
		take_list(cpu, __atomic_exchange_n(&slot->incoming, 0, __ATOMIC_ACQUIRE), hand);
		if (gathered)
			put_remote(shared(cpu_word_slab(gathered)), cpu_word_count(gathered),
				   slot->gather_buf);
		__atomic_store_n(&slot->gather, 0, __ATOMIC_RELAXED);
	}

	const struct cpu_engine *engine_;
	char *slots_;
	std::vector<std::unique_ptr<shared_slab>> slabs_;
	std::mutex idle_lock_;
	std::deque<struct shared_slab *> idle_;
	std::atomic<unsigned> doubled_{0}, strange_{0};
};

/* One thread's life: it allocates and frees, singly and in bulk. */
class worker
{
public:
	worker(arena &place, unsigned seed) : arena_(place), random_(seed) {}

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

	arena &arena_;
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
		arena_ = std::make_unique<arena>();
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
		const unsigned choices = revoke && std::strcmp(GetParam().engine, "rseq") ? 3 : 4;
		const char *seconds = std::getenv("SLAB_STRESS_SECONDS");
		const auto end = std::chrono::steady_clock::now() +
				 std::chrono::duration<double>(seconds ? std::atof(seconds) : 0.5);
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

	void run(bool revoke)
	{
		std::vector<std::thread> threads;

		for (unsigned i = 0; i < GetParam().threads; i++)
			threads.emplace_back([this, i] { work(i); });
		/* Before that, pin() would move this thread. */
		for (unsigned i = 0; i < GetParam().threads; i++)
			while (!tids_[i])
				std::this_thread::yield();
		disturb(revoke);
		for (std::thread &thread : threads)
			thread.join();
		arena_->expect_whole();
		EXPECT_GT(interrupted_, 0u) << "no section was ever interrupted";
		if (GetParam().point >= 0 && std::strcmp(GetParam().engine, "rseq") != 0) {
			EXPECT_GT(hook_hits[GetParam().point], 0u) << "nobody came by the point";
		}
	}

	std::unique_ptr<arena> arena_;

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
			scene{"rseq", 4, 2}, scene{"rseq", 4, 16}, scene{"rseq", 5, 2},
			scene{"rseq", 5, 16}, scene{"rseq", 6, 2}, scene{"rseq", 6, 16},
			scene{"cmpxchg16b", -1, 2}, scene{"cmpxchg16b", 2, 2},
			scene{"cmpxchg16b", 2, 16}, scene{"cmpxchg16b", 6, 2},
			scene{"cmpxchg16b", 6, 16}, scene{"mutex", -1, 2}, scene{"mutex", 2, 2},
			scene{"mutex", 2, 16}, scene{"mutex", 5, 2}, scene{"mutex", 5, 16},
			scene{"mutex", 6, 2}, scene{"mutex", 6, 16}),
	scene_name);

/*
 * That a point is really where sections are aborted: a section that is held up
 * there for longer than the time between two signals never commits, and commits
 * at once when it is not.
 */
class AbortTest : public testing::TestWithParam<int>
{
};

enum cpu_result run_section_of_point(int point, char *slots, int cpu, bare_slab &slab)
{
	struct cpu_slot *slot = cpu_slot(slots, cpu);

	if (point == 0 || point == 1)
		return cpu_engine->pop(slots) ? CPU_DONE : CPU_MOVED;
	if (point == 3 || point == 4)
		return cpu_engine->push(slots, cpu, slab.get(), 0);
	slot->hot = 1; /* so that push goes to the slab */
	if (point == 5)
		return cpu_engine->push(slots, cpu, slab.get(), 0);
	return cpu_engine->gather(slots, cpu, slab.get(), 0);
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
		interruptions often(1000);
		bare_slab slab(8);

		slab.put({5});
		/* Push to the hot place must not be saved by the second sequence. */
		if (point != 3 && point != 4)
			cpu_slab_set_owner(slab.get(), static_cast<std::uint32_t>(cpu));
		cpu_slot(slots, cpu)->current = slab.get();
		cpu_inject_loops[point] = ~0u;
		for (int i = 0; i < 20; i++) {
			EXPECT_NE(run_section_of_point(point, slots, cpu, slab), CPU_DONE);
			EXPECT_EQ(slab.free_objects(), std::vector<unsigned>{5});
			EXPECT_EQ(cpu_slot(slots, cpu)->gather, 0u);
		}
		cpu_inject_loops[point] = 0;
		for (int i = 0; i < 1000 && result != CPU_DONE; i++)
			result = run_section_of_point(point, slots, cpu, slab);
		EXPECT_EQ(result, CPU_DONE);
	}
	unpin();
	cpu_slots_destroy(slots);
}

INSTANTIATE_TEST_SUITE_P(Points, AbortTest, testing::Values(0, 1, 3, 4, 5, 6));

} /* namespace */
