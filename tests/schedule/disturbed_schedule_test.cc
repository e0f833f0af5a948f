/* SPDX-License-Identifier: MIT */
/*
 * Signals interrupt threads at any mark, and their handlers allocate and free; threads are
 * cancelled at any mark. What <slab/slab.h> promises of both holds: on the fast path of the engine
 * rseq a handler may do so anywhere, elsewhere where the thread holds no lock; and a request of
 * cancellation waits for the end of the call.
 */
#include "everything.h"

namespace
{

class SignalScheduleTest : public testing::Test
{
protected:
	void SetUp() override
	{
		if (under_asan || under_tsan)
			GTEST_SKIP() << "locks of four bytes have no marks";
	}
};

/* What a handler does with a cache. */
class handler
{
public:
	explicit handler(arena &all) : all_(all) {}

	~handler()
	{
		for (void *obj : objs_)
			all_.free(obj);
	}

	/* The interrupted thread holds no lock. */
	void call_anything()
	{
		if (schedule_holds())
			return;
		handled_++;
		if (schedule_random(2) && !objs_.empty())
			free_one();
		else if (objs_.size() < 30)
			objs_.push_back(all_.alloc());
	}

	/* It may hold any lock. */
	void stay_on_fast_path()
	{
		schedule_alone([this] {
			const unsigned before = schedule_locks_taken();
			const int errors = errno;

			if (schedule_random(2))
				pop();
			else
				push();
			EXPECT_EQ(schedule_locks_taken(), before);
			EXPECT_EQ(errno, errors);
		});
	}

	unsigned handled() const { return handled_; }

private:
	static struct cpu_array *array(char *const *arrays)
	{
		return cpu_array(__atomic_load_n(arrays, __ATOMIC_RELAXED), sched_getcpu());
	}

	void free_one()
	{
		void *obj = objs_.back();

		objs_.pop_back();
		all_.free(obj);
	}

	void pop()
	{
		const struct cpu_array *from = array(&all_.cache()->alloc_arrays);
		const unsigned n = cpu_array_count(from);

		if (!n || objs_.size() >= 30)
			return;
		objs_.push_back(all_.alloc());
		EXPECT_EQ(cpu_array_count(from), n - 1);
		handled_++;
	}

	void push()
	{
		const struct cpu_array *to = array(&all_.cache()->arrays);
		const unsigned n = cpu_array_count(to);

		if (n >= cpu_array_limit(to) || objs_.empty())
			return;
		free_one();
		EXPECT_EQ(cpu_array_count(to), n + 1);
		handled_++;
	}

	arena &all_;
	std::vector<void *> objs_;
	unsigned handled_ = 0;
};

/* Threads of which each has a handler that does `act`, beside one that closes the cache. */
void run_with_signals(std::uint64_t seed, unsigned length, void (handler::*act)())
{
	arena all(length);
	handler handlers[2] = {handler(all), handler(all)};

	all.steps = seed % 2;
	const auto body = [&](handler &mine) {
		const std::function<void()> handle = [&] { (mine.*act)(); };

		schedule_signals(&handle, 2 + static_cast<unsigned>(seed % 5));
		all.use(all.steps ? 15 : 80, 60);
		cache_drain(all.cache(), nullptr, nullptr);
		all.use(all.steps ? 5 : 40, 60);
		schedule_signals(nullptr);
	};

	run_scheduled(seed, {[&] { body(handlers[0]); }, [&] { body(handlers[1]); },
			     repeat(4, [&] { cache_drain(all.cache(), nullptr, nullptr); })});
	EXPECT_GT(handlers[0].handled() + handlers[1].handled(), 0u);
}

TEST_F(SignalScheduleTest, AHandlerAllocatesWhereItsThreadHoldsNoLock)
{
	for_seeds(40, [](std::uint64_t seed) {
		run_with_signals(seed, seed % 3 ? 4 : array_length, &handler::call_anything);
	});
}

TEST_F(SignalScheduleTest, AHandlerAllocatesAnywhereOnTheFastPath)
{
	for_seeds(40, [](std::uint64_t seed) {
		if (cpu_engine == &cpu_engine_rseq)
			run_with_signals(seed, seed % 3 ? 8 : array_length,
					 &handler::stay_on_fast_path);
	});
}

/* --- cancellation ----------------------------------------------------------------------------- */

/* A call that a request of cancellation must not end. */
class uncancelled
{
public:
	uncancelled() = default;
	~uncancelled() { EXPECT_TRUE(returned) << "cancelled within the call"; }

	bool returned = false;
};

/* Callbacks are cancellation points. */
struct slab_cache_args reaching()
{
	struct slab_cache_args args = {};

	args.ctor = [](void *, void *) {
		pthread_testcancel();
		return 0;
	};
	args.dtor = [](void *, void *) { pthread_testcancel(); };
	args.reclaim = [](struct slab_cache *, void *) {
		pthread_testcancel();
		return std::size_t{0};
	};
	return args;
}

class CancelScheduleTest : public testing::Test
{
protected:
	void SetUp() override
	{
		if (under_asan || under_tsan)
			GTEST_SKIP() << "sanitizers do not see that a cancelled thread ends";
	}
};

/* All locks are free, and each object is where it may be: the arenas look. */
TEST_F(CancelScheduleTest, AThreadEndsAfterItsCall)
{
	for_seeds(30, [](std::uint64_t seed) {
		const struct slab_cache_args args = reaching();
		everything all(&args);
		std::size_t ended = 0;
		const auto act = [&](std::size_t i) {
			uncancelled call;

			all.act(i);
			call.returned = true;
		};
		const auto victim = [&](std::size_t first) {
			const std::unique_ptr<std::size_t, void (*)(std::size_t *)> ends(
				&ended, [](std::size_t *n) { ++*n; });

			for (std::size_t i = first;; i++, pthread_testcancel())
				act(i);
		};
		std::vector<std::function<void()>> bodies;

		for (std::size_t i = 0; i < 4; i++)
			bodies.push_back([&, i] { victim(i * 4 + seed); });
		bodies.push_back(user([&] {
			for (std::size_t i = 0; i < 4; i++) {
				for (unsigned n = schedule_random(60); n; n--)
					schedule_yield();
				schedule_cancel(i);
			}
			schedule_until([&] { return ended == 4; });
			act(seed);
		}));
		bodies.push_back(callbacks);
		run_scheduled(seed, bodies);
		EXPECT_EQ(ended, 4u);
	});
}

} /* namespace */
