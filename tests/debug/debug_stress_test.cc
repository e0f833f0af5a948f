/* SPDX-License-Identifier: MIT */
/*
 * Debug flags that change, thousands of times, under full load: threads
 * allocate, pass on and free, singly and in bulk, under the ownership oracle,
 * while another one gives the caches other debug flags, and others shrink, validate
 * and count them. Nothing may be reported, nothing lost.
 *
 * How long each test works is SLAB_STRESS_SECONDS, 2 by default; each prints how
 * many switches that was.
 */
#include "../support/debugging.h"
#include "../support/stress.h"

namespace
{

const std::vector<std::size_t> sizes = {16, 61, 240, 712, 2112};

/* None every second time: that is where the fast path comes and goes. The trace
 * flag would only print. */
std::uint64_t random_debug_flags(std::mt19937 &random)
{
	static const std::uint64_t some[] = {SLAB_FAILSLAB, SLAB_CONSISTENCY_CHECKS,
					     SLAB_DEBUG_DEFAULT};
	const unsigned dice = random() % 8;

	if (dice < 4)
		return 0;
	return dice < 7 ? some[dice - 4] : random() % 16;
}

class DebugStressTest : public ArenaTest
{
protected:
	DebugStressTest() : ArenaTest(sizes) {}

	/* A thread that changes the debug flags of all caches, back and forth. */
	void add_switcher(unsigned seed)
	{
		add_helper([this, random = std::mt19937(seed)]() mutable {
			const std::size_t kind = random() % arena_.kinds();

			EXPECT_EQ(slab_cache_debug(arena_.cache(kind), random_debug_flags(random)),
				  0);
			switches_++;
		});
	}

	/* A thread that runs fn over all caches. */
	void add_visitor(void (*fn)(struct slab_cache *))
	{
		add_helper([this, fn] {
			for (std::size_t kind = 0; kind < arena_.kinds(); kind++)
				fn(arena_.cache(kind));
		});
	}

	/* Let it all run, and expect that nothing went wrong. */
	void run()
	{
		run_threads([this] { return switches_ > 0; });
		std::printf("debug flags were switched %lu times\n", switches_.load());
		arena_.expect_whole();
		expect_gone();
		EXPECT_EQ(reports_.count(), 0u) << reports_.text();
	}

	std::atomic<unsigned long> switches_{0};

private:
	/* Without debug flags and objects, no slab of any kind is left. */
	void expect_gone()
	{
		for (std::size_t kind = 0; kind < arena_.kinds(); kind++) {
			struct slab_cache *cache = arena_.cache(kind);

			EXPECT_EQ(slab_cache_debug(cache, 0), 0);
			EXPECT_EQ(stats_of(cache).debug_slabs, 0u);
			EXPECT_EQ(stats_of(cache).legacy_slabs, 0u);
			EXPECT_GE(slab_cache_shrink(cache), 0);
			EXPECT_EQ(stats_of(cache).slabs, 0u);
		}
	}
};

void shrink(struct slab_cache *cache)
{
	EXPECT_GE(slab_cache_shrink(cache), 0);
}

void validate(struct slab_cache *cache)
{
	EXPECT_EQ(slab_cache_validate(cache), 0);
}

void count(struct slab_cache *cache)
{
	stats_of(cache);
}

TEST_F(DebugStressTest, BesideShrinkingValidatingAndCounting)
{
	for (int i = 0; i < 4; i++)
		add_worker();
	add_switcher(3);
	add_visitor(shrink);
	add_visitor(validate);
	add_visitor(count);
	run();
}

TEST_F(DebugStressTest, ThreadsThatAreMigratedAndInterrupted)
{
	for (int i = 0; i < 6; i++)
		add_worker([] {
			/* Ends with its thread. */
			thread_local interruptions often(2000);

			(void)often;
		});
	add_switcher(6);
	add_switcher(7);
	migrate_workers(9);
	add_visitor(validate);
	run();
}

/* Slabs that are released while the frees of their last objects are reported. */
TEST_F(DebugStressTest, TracedThreads)
{
	if (!in_environment({"SLAB_LOG=/dev/null"}))
		return;
	for (std::size_t kind = 0; kind < arena_.kinds(); kind++)
		EXPECT_EQ(slab_stat_write(arena_.cache(kind), "min_partial", 0), 0);
	for (int i = 0; i < 4; i++)
		add_worker(nullptr, 30);
	add_helper([this, random = std::mt19937(12)]() mutable {
		const std::uint64_t debug_flags = random() % 2 ? SLAB_STORE_USER : SLAB_RED_ZONE;

		EXPECT_EQ(slab_cache_debug(arena_.cache(random() % arena_.kinds()),
					   SLAB_TRACE | debug_flags),
			  0);
		switches_++;
	});
	run();
}

/* Memory by size: its red zones follow the requested bytes. */
TEST_F(DebugStressTest, SizeClasses)
{
	std::vector<struct slab_cache *> caches;
	std::vector<std::uint64_t> before;
	std::atomic<unsigned> seed{1};

	for (std::size_t size : {16, 64, 112, 512})
		caches.push_back(cache_of_size(size));
	for (struct slab_cache *cache : caches)
		before.push_back(stats_of(cache).objects);
	for (int i = 0; i < 4; i++)
		add_helper([&seed] {
			std::mt19937 random(++seed);
			std::vector<std::pair<void *, std::size_t>> held;

			for (int step = 0; step < 200; step++) {
				const std::size_t size = 1 + random() % 520;
				void *memory = slab_malloc(size);

				if (random() % 4 == 0)
					memory = slab_realloc(memory, 1 + size / 2);
				const std::size_t now = std::min(size, slab_usable_size(memory));
				std::memset(memory, static_cast<int>(size),
					    std::min(now, 1 + size / 2));
				held.emplace_back(memory, size);
			}
			shuffle(held, seed);
			for (const auto &item : held) {
				EXPECT_TRUE(all_bytes(item.first,
						      std::min(item.second, 1 + item.second / 2),
						      static_cast<unsigned char>(item.second)));
				slab_mfree(item.first);
			}
		});
	add_helper([&, random = std::mt19937(10)]() mutable {
		EXPECT_EQ(slab_cache_debug(caches[random() % caches.size()],
					   random_debug_flags(random)),
			  0);
		switches_++;
	});
	add_helper([&] {
		for (struct slab_cache *cache : caches)
			validate(cache);
	});
	const owned_object object = arena_.adopt(slab_alloc(arena_.cache(0)), 0);
	arena_.release(object);
	run();
	for (std::size_t i = 0; i < caches.size(); i++) {
		EXPECT_EQ(slab_cache_debug(caches[i], 0), 0);
		EXPECT_EQ(stats_of(caches[i]).objects, before[i]);
		EXPECT_EQ(stats_of(caches[i]).debug_slabs, 0u);
	}
}

} /* namespace */
