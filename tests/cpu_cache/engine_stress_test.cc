/* SPDX-License-Identifier: MIT */
/*
 * The engines under threads that fight for the arrays of one user, with sections that are held up
 * at each injection point in turn, while another thread closes, replaces and opens the arrays.
 *
 * Each object has a mark that says whether a thread has it. Objects that no array takes lie in a
 * pool. In the end all are counted: none is lost, none is there twice.
 *
 * Each test works for 0.3 seconds, or a tenth of SLAB_STRESS_SECONDS.
 */
#include "../support/process.h"
#include "../support/refuse.h"
#include "fixture.h"

namespace
{

constexpr std::size_t object_count = 4000, most_held = 40;

/* Points in C: how long to stay at each, and how often a thread was there. */
std::atomic<unsigned> hook_loops[CPU_INJECT_POINTS], hook_hits[CPU_INJECT_POINTS];

void spin_at(int point)
{
	hook_hits[point].fetch_add(1, std::memory_order_relaxed);
	for (unsigned i = hook_loops[point]; i > 0; i--)
		std::atomic_signal_fence(std::memory_order_seq_cst);
}

/* The objects, and who has them. */
class marks
{
public:
	/* A thread got these objects out of an array or the pool. */
	void got(const objects &objs)
	{
		for (void *obj : objs)
			if (mark(obj).exchange(true))
				fail("an object was given to two threads");
	}

	void gives(const objects &objs)
	{
		for (void *obj : objs)
			if (!mark(obj).exchange(false))
				fail("a thread gave away what it did not have");
	}

	void fail(const char *what)
	{
		if (!failed_.exchange(true))
			ADD_FAILURE() << what;
	}

	bool failed() const { return failed_; }

private:
	std::atomic<bool> &mark(void *obj)
	{
		const std::size_t bytes = static_cast<std::size_t>(static_cast<char *>(obj) -
								   static_cast<char *>(object(0)));

		return taken_[bytes / 16 % object_count];
	}

	std::atomic<bool> taken_[object_count] = {}, failed_{false};
};

/* A user with short and long arrays, of which one or none is in use, and a pool. */
class place
{
public:
	place()
	{
		for (bool is_long : {false, true}) {
			char *arrays = cpu_arrays_create(is_long);

			for (unsigned cpu = 0; cpu < cpu_possible(); cpu++)
				cpu_array_set_limit(cpu_array(arrays, cpu), 14);
			arrays_[is_long] = arrays;
		}
		pool_ = objects_from(0, object_count);
		user_ = arrays_[0];
	}

	~place()
	{
		for (char *arrays : arrays_)
			cpu_arrays_destroy(arrays);
	}

	place(const place &) = delete;
	place &operator=(const place &) = delete;

	objects alloc(std::size_t n)
	{
		objects objs(n);

		if (n == 1) {
			objs[0] = cpu_engine->pop(&user_);
			objs.resize(objs[0] != nullptr);
		} else {
			objs.resize(cpu_engine->take(&user_, n, objs.data()));
		}
		if (objs.empty())
			objs = from_pool(n);
		marks_.got(objs);
		return objs;
	}

	void free(const objects &objs)
	{
		std::size_t done;

		marks_.gives(objs);
		if (objs.size() == 1) {
			const enum cpu_result result = cpu_engine->push(&user_, objs[0]);

			if (result == CPU_DOUBLE)
				marks_.fail("a double free was reported");
			done = result == CPU_DONE;
		} else {
			done = cpu_engine->put(&user_, objs.size(), objs.data());
		}
		to_pool({objs.begin() + static_cast<std::ptrdiff_t>(done), objs.end()});
	}

	/* Any thread may set a limit at any time. */
	void set_limit(unsigned dice)
	{
		const char *arrays = __atomic_load_n(&user_, __ATOMIC_ACQUIRE);
		const int cpu = cpu_engine->cpu();

		if (cpu >= 0 && arrays != cpu_arrays_none())
			cpu_array_set_limit(cpu_array(arrays, cpu),
					    1 + dice % cpu_array_room(arrays == arrays_[1]));
	}

	/* Take all objects from the arrays; then the user has the other ones, or these again. */
	void close(bool replace)
	{
		char *own = arrays_[which_];

		which_ = replace ? !which_ : which_;
		if (replace)
			open(arrays_[which_]);
		__atomic_store_n(&user_, replace ? arrays_[which_] : cpu_arrays_none(),
				 __ATOMIC_SEQ_CST);
		if (cpu_engine->fence()) {
			close_all(own);
		} else {
			which_ = own == arrays_[1];
			__atomic_store_n(&user_, own, __ATOMIC_SEQ_CST);
			return;
		}
		if (!replace) {
			open(own);
			__atomic_store_n(&user_, own, __ATOMIC_SEQ_CST);
		}
	}

	/* At the end, without threads. */
	void expect_whole()
	{
		for (char *arrays : arrays_)
			close_all(arrays);
		EXPECT_EQ(pool_.size(), object_count);
		EXPECT_EQ(std::set<void *>(pool_.begin(), pool_.end()).size(), object_count);
	}

	bool healthy() const { return !marks_.failed(); }

private:
	objects from_pool(std::size_t n)
	{
		const std::lock_guard<std::mutex> hold(lock_);
		objects objs;

		for (; n > 0 && !pool_.empty(); n--) {
			objs.push_back(pool_.back());
			pool_.pop_back();
		}
		return objs;
	}

	void to_pool(const objects &objs)
	{
		const std::lock_guard<std::mutex> hold(lock_);

		pool_.insert(pool_.end(), objs.begin(), objs.end());
	}

	void close_all(char *arrays)
	{
		for (unsigned cpu = 0; cpu < cpu_possible(); cpu++) {
			objects objs(CPU_ARRAY_MAX);

			objs.resize(cpu_engine->close(arrays, static_cast<int>(cpu), objs.data()));
			to_pool(objs);
		}
	}

	static void open(char *arrays)
	{
		for (unsigned cpu = 0; cpu < cpu_possible(); cpu++)
			cpu_engine->open(arrays, static_cast<int>(cpu));
	}

	marks marks_;
	char *arrays_[2];
	char *user_;
	bool which_ = false;
	std::mutex lock_;
	objects pool_;
};

/* Signals that this thread has seen. */
thread_local volatile unsigned signals_seen;

void count_signal(int)
{
	signals_seen = signals_seen + 1;
}

/* One thread's life: it allocates and frees, singly and many at once. */
class worker
{
public:
	worker(place &where, unsigned seed) : place_(where), random_(seed) {}

	~worker()
	{
		for (void *obj : held_)
			place_.free({obj});
	}

	worker(const worker &) = delete;
	worker &operator=(const worker &) = delete;

	void step()
	{
		const unsigned dice = random_() % 32, n = dice % 8 == 7 ? 2 + random_() % 20 : 1;

		if (dice == 0)
			place_.set_limit(static_cast<unsigned>(random_()));
		else if (dice < 16 && held_.size() < most_held)
			keep(place_.alloc(n));
		else
			place_.free(give_up(n));
	}

private:
	void keep(const objects &objs) { held_.insert(held_.end(), objs.begin(), objs.end()); }

	objects give_up(std::size_t n)
	{
		objects objs;

		for (; n > 0 && !held_.empty(); n--) {
			std::swap(held_[random_() % held_.size()], held_.back());
			objs.push_back(held_.back());
			held_.pop_back();
		}
		return objs;
	}

	place &place_;
	std::mt19937 random_;
	objects held_;
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
		for (std::atomic<unsigned> &hits : hook_hits)
			hits = 0;
		cpu_inject_hook = spin_at;
	}

	void TearDown() override
	{
		hold_up_for(0);
		cpu_inject_hook = nullptr;
	}

	bool is_rseq() const { return std::string(GetParam().engine) == "rseq"; }

	/* How long sections stay at the point, in turns of a spin. */
	void hold_up_for(unsigned loops)
	{
		const int point = GetParam().point;

		if (point < 0)
			return;
		hook_loops[point] = loops;
		__atomic_store_n(&cpu_inject_loops[point], loops, __ATOMIC_RELAXED);
	}

	void work(place &where, unsigned seed)
	{
		interruptions often(2000, count_signal);
		worker self(where, seed);

		tids_[seed] = thread_id();
		while (!stop_ && where.healthy())
			self.step();
		interrupted_ += signals_seen;
	}

	/* Change how long, and where threads run, all the time. */
	void disturb(place &where, bool close)
	{
		/* Locks are not fair: the close must get at them between long spins. */
		static const unsigned lengths[] = {0, 200, 2000, 20000};
		const unsigned choices = close && !is_rseq() ? 2 : 4;
		const char *seconds = std::getenv("SLAB_STRESS_SECONDS");
		const auto end =
			std::chrono::steady_clock::now() +
			std::chrono::duration<double>(seconds ? std::atof(seconds) / 10 : 0.3);
		std::mt19937 random(1);

		while (std::chrono::steady_clock::now() < end && where.healthy()) {
			hold_up_for(lengths[random() % choices]);
			pin(random(), tids_[random() % GetParam().threads]);
			for (unsigned i = random() % 8; close && i > 0; i--)
				where.close(random() % 2);
			std::this_thread::sleep_for(std::chrono::microseconds(random() % 1000));
		}
		hold_up_for(0);
		stop_ = true;
	}

	/* disturb() is called in a thread of its own, behind `before`. */
	void run(bool close, const std::function<void()> &before = [] {})
	{
		place where;
		std::vector<std::thread> threads;

		for (unsigned i = 0; i < GetParam().threads; i++)
			threads.emplace_back([this, &where, i] { work(where, i); });
		/* Before that, pin() would move this thread. */
		for (unsigned i = 0; i < GetParam().threads; i++)
			while (!tids_[i])
				std::this_thread::yield();
		std::thread([&] {
			before();
			disturb(where, close);
		}).join();
		join_all(threads);
		where.expect_whole();
		EXPECT_GT(interrupted_, 0u) << "no thread was ever interrupted";
		if (GetParam().point >= 0 && !is_rseq()) {
			EXPECT_GT(hook_hits[GetParam().point], 0u) << "no thread came by the point";
		}
	}

private:
	std::atomic<bool> stop_{false};
	std::atomic<pid_t> tids_[16] = {};
	std::atomic<unsigned> interrupted_{0};
};

TEST_P(EngineStressTest, NoObjectIsLostOrDoubled)
{
	run(false);
}

TEST_P(EngineStressTest, NorBesideCloses)
{
	run(true);
}

/* inject.h has the points. */
INSTANTIATE_TEST_SUITE_P(
	Sections, EngineStressTest,
	testing::Values(scene{"rseq", -1, 2}, scene{"rseq", 0, 2}, scene{"rseq", 0, 16},
			scene{"rseq", 1, 2}, scene{"rseq", 1, 16}, scene{"rseq", 3, 2},
			scene{"rseq", 3, 16}, scene{"rseq", 5, 2}, scene{"rseq", 5, 16},
			scene{"rseq", 6, 16}, scene{"rseq", 8, 2}, scene{"rseq", 8, 16},
			scene{"rseq", 9, 2}, scene{"rseq", 9, 16}, scene{"cmpxchg16b", -1, 2},
			scene{"cmpxchg16b", -1, 16}, scene{"cmpxchg16b", 2, 2},
			scene{"cmpxchg16b", 2, 16}, scene{"cmpxchg16b", 4, 2},
			scene{"cmpxchg16b", 4, 16}, scene{"cmpxchg16b", 7, 16},
			scene{"mutex", -1, 2}, scene{"mutex", -1, 16}, scene{"mutex", 2, 2},
			scene{"mutex", 2, 16}),
	scene_name);

/* The fence of rseq where membarrier(2) is refused: it visits the CPUs. */
class RefusedFenceTest : public EngineStressTest
{
};

TEST_P(RefusedFenceTest, NoObjectIsLostOrDoubledBesideCloses)
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

/* The point where a fence that does nothing shows soon. */
INSTANTIATE_TEST_SUITE_P(Sections, RefusedFenceTest,
			 testing::Values(scene{"rseq", 8, 2}, scene{"rseq", 8, 16}), scene_name);

} /* namespace */
