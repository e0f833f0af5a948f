/* SPDX-License-Identifier: MIT */
/*
 * Threads with small stacks: what malloc(), free(), slab_alloc() and slab_free() reach takes 4 KiB
 * at most, other functions 8 KiB. Reports are apart. The slow paths run decay passes, since there
 * is no control thread.
 */
#include "../support/process.h"
#include "../support/stack_depth.h"
#include "../support/without_thread.h"
#include "../support/rooms.h"

namespace
{

constexpr std::size_t basic_limit = 4096, other_limit = 8192;
#ifdef __aarch64__
constexpr std::size_t site_limit = 8192; /* libgcc's unwinder saves many registers */
#else
constexpr std::size_t site_limit = basic_limit;
#endif
constexpr std::size_t count = 20000, size = 256;

/* Before libslab reads its environment: a pass is due all the time. */
const bool short_decay = setenv("SLAB_DECAY_MS", "4", 1) == 0;

using blocks = std::vector<void *>;

blocks allocate(std::size_t n, std::size_t bytes = size)
{
	blocks made(n);

	for (void *&block : made)
		block = slab_malloc(bytes);
	return made;
}

void free_all(const blocks &made)
{
	for (void *block : made)
		slab_mfree(block);
}

/* Slabs with objects in use and free pages between them. */
void free_most(blocks *made)
{
	for (std::size_t i = 0; i < made->size(); i++)
		if (i % 100) {
			slab_mfree((*made)[i]);
			(*made)[i] = nullptr;
		}
}

/* Allocate and free until some passes have run in these calls. */
void work_until_passes_ran()
{
	const std::uint32_t end = decay_epoch() + 2 * DECAY_EPOCHS + 2;

	maintain_in_slow_paths();
	while (decay_epoch() < end) {
		free_all(allocate(600));
		slab_maintain_due();
	}
}

class StackDepthTest : public testing::Test
{
protected:
	void SetUp() override
	{
		if (under_asan || under_tsan || under_gcov)
			GTEST_SKIP() << "instrumented frames are larger";
	}
};

void expect_within(std::size_t most, const std::function<void()> &call)
{
	call();
	const std::size_t depth = painted_stack::depth(call);

	EXPECT_LE(depth, most);
	EXPECT_GT(depth, 100U) << "nothing was measured";
	testing::Test::RecordProperty("bytes", static_cast<int>(depth));
}

/* The first call of the process reads the environment, tests the engine and maps memory. */
TEST_F(StackDepthTest, TheFirstCallOfTheProcess)
{
	if (running_again()) {
		EXPECT_LE(painted_stack::depth([] { slab_mfree(slab_malloc(size)); }), basic_limit);
		return;
	}
	EXPECT_EQ(run_again({}).failure, "");
}

TEST_F(StackDepthTest, TheFirstCallOfAThread)
{
	expect_within(basic_limit, [] { slab_mfree(slab_malloc(size)); });
}

TEST_F(StackDepthTest, AllocationsAndFreesThatTakeAndGiveSlabs)
{
	expect_within(basic_limit, [] { free_all(allocate(count)); });
}

TEST_F(StackDepthTest, WhenADecayPassIsDue)
{
	for (std::size_t bytes : {size, std::size_t{8}})
		expect_within(basic_limit, [bytes] {
			blocks made = allocate(bytes == size ? count : 10 * count, bytes);

			free_most(&made);
			work_until_passes_ran();
			free_all(made);
		});
}

TEST_F(StackDepthTest, FreesOfOtherThreadsObjects)
{
	std::array<blocks, 2> made;
	unsigned calls = 0;

	std::thread([&] { made = {allocate(count), allocate(count)}; }).join();
	expect_within(basic_limit, [&] {
		free_all(made.at(calls++));
		work_until_passes_ran();
	});
}

TEST_F(StackDepthTest, LargeAllocations)
{
	expect_within(basic_limit, [] {
		for (std::size_t bytes = 1; bytes < std::size_t{64} << 20; bytes *= 3)
			slab_mfree(slab_realloc(slab_malloc(bytes), 2 * bytes));
	});
}

TEST_F(StackDepthTest, WithoutMemory)
{
	expect_within(basic_limit, [] {
		EXPECT_EQ(slab_set_fail("interval=1"), 0);
		blocks made = allocate(count);
		void *large = slab_malloc(std::size_t{16} << 20);

		EXPECT_EQ(slab_set_fail(nullptr), 0);
		free_all(made);
		slab_mfree(large);
	});
}

TEST_F(StackDepthTest, AtALimit)
{
	static const auto reclaim = [](struct slab_cache *, void *) -> std::size_t { return 0; };
	struct slab_cache_args args = {};

	args.reserve = 100;
	args.reclaim = reclaim;
	struct slab_cache *cache = slab_cache_create("limited", size, &args, 0);

	ASSERT_NE(cache, nullptr);
	EXPECT_EQ(slab_set_profile(4096), 0);
	const blocks profiled = allocate(count);

	expect_within(site_limit, [&] {
		blocks made(count);

		holders_reported = 0; /* the report is due */
		EXPECT_EQ(slab_set_limit(16384), 0);
		for (void *&object : made)
			object = slab_alloc(cache);
		for (void *object : made)
			if (object)
				slab_free(cache, object);
		slab_set_limit(0);
	});
	EXPECT_EQ(slab_set_profile(0), 0);
	free_all(profiled);
	EXPECT_EQ(slab_cache_destroy(cache), 0);
}

/* Objects are moved between CPUs' slabs, lists and the page layer; also with debug flags. */
TEST_F(StackDepthTest, OfCachesWithAndWithoutDebugFlags)
{
	struct slab_cache *cache = slab_cache_create("depth", size, nullptr, 0);

	ASSERT_NE(cache, nullptr);
	for (const std::uint64_t flags :
	     {std::uint64_t{0}, std::uint64_t{SLAB_DEBUG_DEFAULT}, std::uint64_t{0}}) {
		ASSERT_EQ(slab_cache_debug(cache, flags), 0);
		expect_within(site_limit, [&] {
			blocks made(2000);

			for (void *&object : made)
				object = slab_alloc(cache);
			for (void *object : made)
				slab_free(cache, object);
		});
	}
	EXPECT_EQ(slab_cache_destroy(cache), 0);
}

struct function {
	const char *name;
	void (*call)(struct slab_cache *cache);
};

void PrintTo(const function &function, std::ostream *out)
{
	*out << function.name;
}

class StackDepthOfTest : public testing::TestWithParam<function>
{
};

INSTANTIATE_TEST_SUITE_P(
	Function, StackDepthOfTest,
	testing::Values(
		function{"Trim", [](struct slab_cache *) { slab_trim(); }},
		function{"Maintain", [](struct slab_cache *) { slab_maintain(); }},
		function{"Reclaim", [](struct slab_cache *) { slab_reclaim(1 << 20); }},
		function{"Shrink", [](struct slab_cache *cache) { slab_cache_shrink(cache); }},
		function{"Validate", [](struct slab_cache *cache) { slab_cache_validate(cache); }},
		function{"CacheStats",
			 [](struct slab_cache *cache) {
				 static struct slab_stats stats;

				 stats.struct_size = sizeof(stats);
				 EXPECT_EQ(slab_cache_stats(cache, &stats), 0);
			 }},
		function{"StatRead",
			 [](struct slab_cache *cache) {
				 std::uint64_t value;

				 EXPECT_EQ(slab_stat_read(cache, "objects", &value), 0);
			 }},
		function{"ProcessStats",
			 [](struct slab_cache *) {
				 struct slab_process_stats stats = {};

				 stats.struct_size = sizeof(stats);
				 EXPECT_EQ(slab_process_stats(&stats), 0);
			 }},
		function{"Traces",
			 [](struct slab_cache *cache) {
				 EXPECT_GE(slab_cache_traces(
						   cache, SLAB_TRACES_ALLOCATED, 0,
						   [](const struct slab_call_site *, void *) {
							   return 0;
						   },
						   nullptr),
					   -ENODATA);
			 }},
		function{"Debug",
			 [](struct slab_cache *cache) {
				 EXPECT_EQ(slab_cache_debug(cache, SLAB_RED_ZONE), 0);
				 EXPECT_EQ(slab_cache_debug(cache, 0), 0);
			 }},
		function{"CreateAndDestroy",
			 [](struct slab_cache *) {
				 struct slab_cache *other =
					 slab_cache_create("other", size, nullptr, 0);

				 slab_free(other, slab_alloc(other));
				 EXPECT_EQ(slab_cache_destroy(other), 0);
			 }}),
	[](const auto &info) { return std::string(info.param.name); });

TEST_P(StackDepthOfTest, Is8KiBAtMost)
{
	if (under_asan || under_tsan || under_gcov)
		GTEST_SKIP() << "instrumented frames are larger";
	struct slab_cache *cache = slab_cache_create("depth", size, nullptr, 0);
	blocks made(count);

	ASSERT_NE(cache, nullptr);
	for (void *&object : made)
		object = slab_alloc(cache);
	for (std::size_t i = 0; i < made.size(); i++)
		if (i % 100)
			slab_free(cache, made[i]);
	expect_within(other_limit, [&] { GetParam().call(cache); });
	for (std::size_t i = 0; i < made.size(); i += 100)
		slab_free(cache, made[i]);
	EXPECT_EQ(slab_cache_destroy(cache), 0);
}

} /* namespace */
