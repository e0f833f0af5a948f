/* SPDX-License-Identifier: MIT */
/*
 * Many threads at once, under the ownership oracle: migrated while they run, interrupted by
 * signals, beside threads that shrink, validate, count and trim, and without restartable
 * sequences. tests/soak has more of all kinds.
 *
 * How long each test works is SLAB_STRESS_SECONDS, 2 by default. Nothing is
 * expected to happen within that time: longer only finds more.
 */
#include <sys/rseq.h>

#include "../support/array_length.h"
#include "../support/debugging.h"
#include "../support/stress.h"

namespace
{

const std::vector<std::size_t> sizes = {16, 64, 240, 712, 2112};

class StressTest : public ArenaTest
{
protected:
	StressTest() : ArenaTest(sizes)
	{
		/* Arrays so short that objects move through slabs all the time, and others that are
		 * just long enough for magazines. */
		set_array_length(arena_.cache(0), 4);
		for (const std::size_t kind : {1u, 3u})
			set_array_length(arena_.cache(kind), 40);
	}

	/* Let it all run, and expect that nothing went wrong. */
	void run()
	{
		run_threads();
		arena_.expect_whole();
		EXPECT_EQ(reports_.text(), "");
	}
};

TEST_F(StressTest, ThreadsThatAreMigratedAndInterrupted)
{
	for (int i = 0; i < 6; i++)
		add_worker([] {
			thread_local interruptions often(2000);

			(void)often;
		});
	migrate_workers(2);
	run();
}

TEST_F(StressTest, BesideEverythingAtOnce)
{
	std::mt19937 random(3);

	for (int i = 0; i < 8; i++)
		add_worker([] {
			thread_local interruptions often(1000);

			(void)often;
		});
	add_helper([this, &random] {
		for (pid_t tid : running())
			pin(random(), tid);
	});
	add_helper([this] {
		for (std::size_t kind = 0; kind < arena_.kinds(); kind++)
			slab_cache_shrink(arena_.cache(kind));
	});
	add_helper([this] {
		for (std::size_t kind = 0; kind < arena_.kinds(); kind++)
			EXPECT_EQ(slab_cache_validate(arena_.cache(kind)), 0);
	});
	add_helper([this] {
		for (std::size_t kind = 0; kind < arena_.kinds(); kind++)
			stats_of(arena_.cache(kind));
		process_stats();
		slab_trim();
	});
	run();
}

TEST_F(StressTest, CachesThatComeAndGoBesideOthers)
{
	std::atomic<unsigned> number{0};

	for (int i = 0; i < 2; i++)
		add_worker();
	for (int i = 0; i < 2; i++)
		add_helper([&number] {
			const std::string name = "come-and-go-" + std::to_string(++number);
			struct slab_cache *cache = slab_cache_create(name.c_str(), 100, nullptr, 0);

			ASSERT_NE(cache, nullptr);
			std::vector<void *> objs = alloc_many(cache, 200);
			for (std::size_t j = 0; j < objs.size(); j++)
				fill(objs[j], 100, j);
			for (std::size_t j = 0; j < objs.size(); j++)
				EXPECT_TRUE(intact(objs[j], 100, j));
			free_many(cache, objs);
			EXPECT_EQ(slab_cache_destroy(cache), 0);
		});
	run();
}

/* Producer and consumer: every free is another thread's, on another CPU. */
TEST_F(StressTest, OneThreadAllocatesAndAnotherFrees)
{
	std::size_t left = 0, taken = 0;

	add_helper([&] { arena_.produce(left); }, [] { pin(0); });
	add_helper([&] { arena_.consume(taken); }, [] { pin(1); });
	run();
}

/* Handlers that allocate */

constexpr std::size_t nolock_size = 64;
constexpr int nolock_loops = 1000, nolock_objects = 1000; /* as many as fit into a long array */

/* The object that passes from handler to handler, and how often they ran. */
volatile std::sig_atomic_t nolock_calls;
void *nolock_held;

/* Alternately allocates and frees. */
void allocate_in_handler(int)
{
	nolock_calls = nolock_calls + 1;
	if (nolock_held) {
		slab_mfree(nolock_held);
		nolock_held = nullptr;
	} else {
		nolock_held = slab_malloc(nolock_size);
	}
}

/*
 * Only fast paths are async-signal-safe, and only restartable sequences have
 * them: the other engines, every debug flag, and a miss take locks that the
 * interrupted code may hold, and the handler would wait for ever. So this is
 * without debug flags and on that engine alone; the cache is warm, its one
 * thread stays on one CPU, and the CPU's array has room for all objects.
 */
TEST(HandlerTest, AllocateAndFreeBesideTheInterruptedCode)
{
	if (std::strcmp(slab_engine(), "rseq") != 0)
		GTEST_SKIP() << "handlers must not allocate with engine " << slab_engine();
	struct slab_cache *cache = cache_of_size(nolock_size);
	void *objs[nolock_objects];

	const auto loop = [&objs] {
		for (void *&obj : objs)
			obj = slab_malloc(nolock_size);
		for (void *obj : objs)
			slab_mfree(obj);
	};

	ASSERT_GT(cpu_array_room(true), nolock_objects + 1u);
	set_array_length(cache, cpu_array_room(true));
	pin(0);
	loop();
	loop();
	{
		interruptions often(5000, allocate_in_handler);

		for (int i = 0; i < nolock_loops; i++)
			loop();
	}
	slab_mfree(nolock_held);
	nolock_held = nullptr;
	unpin();
	EXPECT_GT(nolock_calls, 0);
	EXPECT_EQ(slab_cache_validate(cache), 0);
	EXPECT_EQ(stats_of(cache).objects, 0u);
}

/* Threads without restartable sequences */

#if defined(__x86_64__)
constexpr unsigned rseq_signature = 0x53053053;
#elif defined(__aarch64__)
constexpr unsigned rseq_signature = 0xd428bc00;
#endif

/* The C library registers this many bytes of each thread's area. */
constexpr unsigned rseq_registered_size = 32;

/* Switch this thread's registration off (1) or on (0); false: it cannot be. */
bool register_rseq(int unregister)
{
	auto *area = static_cast<char *>(__builtin_thread_pointer()) + __rseq_offset;

	return syscall(SYS_rseq, area, rseq_registered_size, unregister, rseq_signature) == 0;
}

/* Not where the C library registers none, or an area of another size. */
bool rseq_can_be_switched_off()
{
	bool done = false;

	std::thread([&done] { done = register_rseq(1) && register_rseq(0); }).join();
	return done;
}

TEST_F(StressTest, ThreadsWithoutRseqBesideThreadsWithIt)
{
	if (!rseq_can_be_switched_off())
		GTEST_SKIP() << "rseq cannot be switched off here";
	std::atomic<unsigned> refused{0};

	for (int i = 0; i < 3; i++)
		add_worker();
	for (int i = 0; i < 3; i++)
		add_worker([&refused] {
			if (!register_rseq(1))
				refused++;
		});
	run();
	EXPECT_EQ(refused, 0u);
}

TEST_F(StressTest, ThreadsThatLoseAndRegainRseq)
{
	if (!rseq_can_be_switched_off())
		GTEST_SKIP() << "rseq cannot be switched off here";
	std::atomic<unsigned> seed{1};

	for (int i = 0; i < 4; i++)
		add_helper([this, &seed] {
			std::thread([this, &seed] {
				worker self(arena_, ++seed);

				for (int round = 0; round < 20; round++) {
					EXPECT_TRUE(register_rseq(round % 2 == 0));
					for (int step = 0; step < 50; step++)
						self.step();
				}
			}).join();
		});
	run();
}

TEST_F(StressTest, AProcessWithoutRseq)
{
	if (!in_environment({"GLIBC_TUNABLES=glibc.pthread.rseq=0"}))
		return;
	EXPECT_EQ(__rseq_size, 0u);
	EXPECT_STRNE(slab_engine(), "rseq");
	for (int i = 0; i < 4; i++)
		add_worker();
	run();
}

} /* namespace */
