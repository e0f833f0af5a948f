/* SPDX-License-Identifier: MIT */
/*
 * Call sites: those of allocated objects' allocations and of free objects' frees, added
 * up by stack, with ages, threads, CPUs and nodes, all or since a mark.
 */
#include "../support/debugging.h"

namespace
{

/* Keeps the frame of a function on the stack: no call at its end is a jump. */
#define NO_TAIL_CALL() __asm__ volatile("" ::: "memory")

__attribute__((noinline)) void *allocate_here(struct slab_cache *cache)
{
	void *obj = slab_alloc(cache);

	NO_TAIL_CALL();
	return obj;
}

__attribute__((noinline)) void *allocate_there(struct slab_cache *cache)
{
	void *obj = slab_alloc(cache);

	NO_TAIL_CALL();
	return obj;
}

__attribute__((noinline)) void free_here(struct slab_cache *cache, void *obj)
{
	slab_free(cache, obj);
	NO_TAIL_CALL();
}

/* A stack that is its own for each `path`: `calls` calls, each of one of two functions. */
template <bool odd>
__attribute__((noinline)) void *allocate_on_path(struct slab_cache *cache, unsigned path,
						 unsigned calls)
{
	void *obj;

	if (calls == 0)
		obj = slab_alloc(cache);
	else if (path & 1)
		obj = allocate_on_path<true>(cache, path >> 1, calls - 1);
	else
		obj = allocate_on_path<false>(cache, path >> 1, calls - 1);
	__asm__ volatile("" ::"i"(odd) : "memory");
	return obj;
}

using sites = std::vector<struct slab_call_site>;

int append(const struct slab_call_site *site, void *arg)
{
	static_cast<sites *>(arg)->push_back(*site);
	return 0;
}

sites sites_of(struct slab_cache *cache, enum slab_traces kind = SLAB_TRACES_ALLOCATED,
	       std::uint64_t since = 0)
{
	sites all;

	const long seen = slab_cache_traces(cache, kind, since, append, &all);

	EXPECT_EQ(seen, static_cast<long>(all.size()));
	return all;
}

std::uint64_t objects_of(const sites &all)
{
	std::uint64_t count = 0;

	for (const struct slab_call_site &site : all)
		count += site.count;
	return count;
}

/* The function of the above that an address lies in; they are short. */
const char *function_of(const void *frame)
{
	const char *found = nullptr;

	for (const char *start : {reinterpret_cast<const char *>(allocate_here),
				  reinterpret_cast<const char *>(allocate_there),
				  reinterpret_cast<const char *>(free_here)})
		if (frame > start && frame < start + 200 && start > found)
			found = start;
	return found;
}

/* Is the first frame in this function? Sanitizers turn the library's jumps into
 * calls, which leave a frame of its own there. */
template <typename Function> bool called_from(const struct slab_call_site &site, Function *function)
{
	const unsigned most = under_asan || under_tsan ? 2 : 1;

	return std::any_of(site.frame, site.frame + most, [function](const void *frame) {
		return function_of(frame) == reinterpret_cast<const char *>(function);
	});
}

class TracesTest : public testing::Test
{
protected:
	void TearDown() override { EXPECT_EQ(reports_.count(), 0u) << reports_.text(); }

	std::vector<void *> allocate(struct slab_cache *cache, unsigned n,
				     void *(*fn)(struct slab_cache *) = allocate_here)
	{
		std::vector<void *> objs;

		while (n--)
			objs.push_back(fn(cache));
		return objs;
	}

	report_capture reports_;
};

/* --- adding up ------------------------------------------------------------------------- */

TEST_F(TracesTest, ObjectsAreAddedUpByStackTheMostFirst)
{
	test_cache cache(64, SLAB_STORE_USER);
	const std::vector<void *> few = allocate(cache, 3, allocate_there);
	const std::vector<void *> many = allocate(cache, 700);
	const sites all = sites_of(cache);

	ASSERT_EQ(all.size(), 2u);
	EXPECT_EQ(all[0].count, 700u);
	EXPECT_EQ(all[1].count, 3u);
	EXPECT_TRUE(called_from(all[0], allocate_here));
	EXPECT_TRUE(called_from(all[1], allocate_there));
	for (const struct slab_call_site &site : all) {
		EXPECT_EQ(site.struct_size, sizeof(site));
		EXPECT_GT(site.frames, 2u);
		EXPECT_LE(site.frames, static_cast<unsigned>(SLAB_STACK_MAX));
		EXPECT_EQ(site.waste, 0u);
		EXPECT_EQ(site.tid_min, thread_id());
		EXPECT_EQ(site.tid_max, thread_id());
		EXPECT_EQ(site.nodes, 1u);
	}
	free_many(cache, few);
	free_many(cache, many);
}

TEST_F(TracesTest, TheFirstFrameIsTheCaller)
{
	test_cache cache(64, SLAB_STORE_USER);
	void *obj = allocate_here(cache);

	EXPECT_TRUE(called_from(sites_of(cache).at(0), allocate_here));
	slab_free(cache, obj);
}

TEST_F(TracesTest, FreedObjectsLeaveAndAppearAsFreed)
{
	test_cache cache(64, SLAB_STORE_USER);
	const std::vector<void *> objs = allocate(cache, 10);

	EXPECT_EQ(sites_of(cache, SLAB_TRACES_FREED).size(), 0u);
	for (int i = 0; i < 4; i++)
		free_here(cache, objs[static_cast<std::size_t>(i)]);
	EXPECT_EQ(sites_of(cache).at(0).count, 6u);
	const sites freed = sites_of(cache, SLAB_TRACES_FREED);
	ASSERT_EQ(freed.size(), 1u);
	EXPECT_EQ(freed[0].count, 4u);
	/* When the library counts what is executed, slab_free() keeps a frame of its own. */
	EXPECT_TRUE(under_gcov || called_from(freed[0], free_here));
	for (std::size_t i = 4; i < 10; i++)
		slab_free(cache, objs[i]);
	EXPECT_EQ(sites_of(cache).size(), 0u);
	EXPECT_EQ(objects_of(sites_of(cache, SLAB_TRACES_FREED)), 10u);
}

TEST_F(TracesTest, ThousandsOfStacksAreKeptApart)
{
	constexpr unsigned paths = 4096, calls = 12;
	test_cache cache(64, SLAB_STORE_USER);
	std::vector<void *> objs;

	for (unsigned path = 0; path < paths; path++)
		for (unsigned n = 0; n < 1 + path % 3; n++)
			objs.push_back(allocate_on_path<false>(cache, path, calls));
	const sites all = sites_of(cache);
	std::set<std::vector<const void *>> stacks;

	for (const struct slab_call_site &site : all)
		stacks.emplace(site.frame, site.frame + site.frames);
	EXPECT_EQ(stacks.size(), all.size());
	EXPECT_EQ(all.size(), paths);
	EXPECT_EQ(objects_of(all), objs.size());
	EXPECT_TRUE(
		std::is_sorted(all.begin(), all.end(),
			       [](const struct slab_call_site &a, const struct slab_call_site &b) {
				       return a.count > b.count;
			       }));
	free_many(cache, objs);
}

TEST_F(TracesTest, WasteIsBytesBeyondTheRequest)
{
	struct slab_cache *cache = cache_of_size(64);
	flagged on(cache, SLAB_STORE_USER);
	void *objs[3];

	for (std::size_t i = 0; i < 3; i++)
		objs[i] = slab_malloc(50 + i);
	std::uint64_t waste = 0;
	for (const struct slab_call_site &site : sites_of(cache))
		waste += site.waste;
	EXPECT_EQ(waste, 14u + 13 + 12);
	objs[0] = slab_realloc(objs[0], 64);
	waste = 0;
	for (const struct slab_call_site &site : sites_of(cache))
		waste += site.waste;
	EXPECT_EQ(waste, 13u + 12);
	for (void *obj : objs)
		slab_mfree(obj);
}

TEST_F(TracesTest, ThreadsAndCpusAreCollected)
{
	test_cache cache(64, SLAB_STORE_USER);
	std::vector<void *> objs;
	std::vector<int> tids;
	std::set<int> cpus;

	for (std::size_t i = 0; i < 3; i++)
		std::thread([&] {
			pin(i);
			cpus.insert(allowed_cpus()[i % allowed_cpus().size()]);
			objs.push_back(allocate_here(cache));
			tids.push_back(thread_id());
		}).join();
	std::uint64_t expected[SLAB_CALL_SITE_CPUS / 64] = {};
	for (int cpu : cpus)
		expected[cpu / 64] |= UINT64_C(1) << cpu % 64;
	const sites all = sites_of(cache);
	ASSERT_EQ(all.size(), 1u);
	EXPECT_EQ(all[0].count, 3u);
	EXPECT_EQ(all[0].tid_min, *std::min_element(tids.begin(), tids.end()));
	EXPECT_EQ(all[0].tid_max, *std::max_element(tids.begin(), tids.end()));
	EXPECT_EQ(std::memcmp(all[0].cpus, expected, sizeof(expected)), 0);
	free_many(cache, objs);
}

TEST_F(TracesTest, NodesAreCollected)
{
	if (!in_environment({"SLAB_FAKE_NODES=4"}))
		return;
	test_cache cache(64, SLAB_STORE_USER);
	std::vector<void *> objs;

	for (int node : {1, 3, 3})
		objs.push_back(slab_alloc_node(cache, node));
	const sites all = sites_of(cache);
	ASSERT_EQ(all.size(), 1u);
	EXPECT_EQ(all[0].nodes, UINT64_C(1) << 1 | UINT64_C(1) << 3);
	free_many(cache, objs);
}

TEST_F(TracesTest, AgesAreThoseOfTheObjects)
{
	test_cache cache(64, SLAB_STORE_USER);
	std::vector<void *> objs;

	for (volatile int i = 0; i < 2; i = i + 1) { /* one loop, one place */
		objs.push_back(allocate_here(cache));
		std::this_thread::sleep_for(std::chrono::milliseconds(60));
	}
	const sites all = sites_of(cache);
	ASSERT_EQ(all.size(), 1u);
	ASSERT_EQ(all[0].count, 2u);
	EXPECT_GE(all[0].age_min_ms, 60u);
	EXPECT_GE(all[0].age_max_ms, all[0].age_min_ms + 60);
	EXPECT_GE(all[0].age_avg_ms, all[0].age_min_ms + 30);
	EXPECT_LE(all[0].age_avg_ms, all[0].age_max_ms);
	EXPECT_LT(all[0].age_max_ms, 100000u);
	free_many(cache, objs);
}

/* --- since a mark ------------------------------------------------------------------------ */

TEST_F(TracesTest, OnlyWhatIsYoungerThanTheMarkCounts)
{
	test_cache cache(64, SLAB_STORE_USER);
	const std::vector<void *> older = allocate(cache, 500);
	const std::uint64_t mark = slab_mark();

	EXPECT_EQ(sites_of(cache, SLAB_TRACES_ALLOCATED, mark).size(), 0u);
	const std::vector<void *> younger = allocate(cache, 2, allocate_there);
	const sites all = sites_of(cache, SLAB_TRACES_ALLOCATED, mark);
	ASSERT_EQ(all.size(), 1u);
	EXPECT_EQ(all[0].count, 2u);
	EXPECT_EQ(objects_of(sites_of(cache)), 502u);
	/* A leak hunt: what came after the mark and went again does not count. */
	for (int i = 0; i < 1000; i++)
		slab_free(cache, allocate_here(cache));
	EXPECT_EQ(objects_of(sites_of(cache, SLAB_TRACES_ALLOCATED, mark)), 2u);
	EXPECT_EQ(objects_of(sites_of(cache, SLAB_TRACES_ALLOCATED, slab_mark())), 0u);
	free_many(cache, older);
	free_many(cache, younger);
	EXPECT_GE(objects_of(sites_of(cache, SLAB_TRACES_FREED, mark)), 502u);
}

TEST_F(TracesTest, MarksGrow)
{
	std::uint64_t last = 0;

	for (int i = 0; i < 5; i++) {
		const std::uint64_t mark = slab_mark();

		EXPECT_GT(mark, last);
		last = mark;
	}
}

/* --- what counts --------------------------------------------------------------------------- */

/* Slabs of former debug flags still have the call sites of their objects. */
TEST_F(TracesTest, EverySlabWithTheDebugFlagCounts)
{
	test_cache cache(64, SLAB_STORE_USER);
	const std::vector<void *> tracked = allocate(cache, 10);

	ASSERT_EQ(slab_cache_debug(cache, SLAB_RED_ZONE), 0);
	const std::vector<void *> others = allocate(cache, 20);
	EXPECT_EQ(objects_of(sites_of(cache)), 10u);
	ASSERT_EQ(slab_cache_debug(cache, 0), 0);
	EXPECT_EQ(objects_of(sites_of(cache)), 10u);
	free_many(cache, tracked);
	free_many(cache, others);
	errno = 0;
	EXPECT_EQ(slab_cache_traces(cache, SLAB_TRACES_ALLOCATED, 0, append, nullptr), -ENODATA);
	EXPECT_EQ(errno, ENODATA);
}

TEST_F(TracesTest, ObjectsOfOtherCachesDoNotCount)
{
	test_cache cache(64, SLAB_STORE_USER), other(64, SLAB_STORE_USER);
	const std::vector<void *> objs = allocate(cache, 10), others = allocate(other, 20);

	EXPECT_EQ(objects_of(sites_of(cache)), 10u);
	EXPECT_EQ(objects_of(sites_of(other)), 20u);
	free_many(cache, objs);
	free_many(other, others);
}

TEST_F(TracesTest, EveryWayToAllocateAndFreeIsTracked)
{
	test_cache cache(64, SLAB_STORE_USER);
	void *objs[6];

	objs[0] = slab_alloc(cache);
	objs[1] = slab_zalloc(cache);
	objs[2] = slab_alloc_node(cache, 0);
	ASSERT_EQ(slab_alloc_bulk(cache, SLAB_ALLOC_FULL, 3, objs + 3), 3u);
	const sites all = sites_of(cache);
	EXPECT_EQ(all.size(), 4u);
	EXPECT_EQ(all.at(0).count, 3u);
	/* All from this function: but for the first, the frames are the same. */
	for (const struct slab_call_site &site : all) {
		ASSERT_GT(site.frames, 4u);
		EXPECT_EQ(std::count(site.frame, site.frame + site.frames, all[0].frame[3]), 1);
	}
	slab_free(cache, objs[0]);
	slab_free_bulk(cache, 5, objs + 1);
	const sites freed = sites_of(cache, SLAB_TRACES_FREED);
	EXPECT_EQ(freed.size(), 2u);
	EXPECT_EQ(freed.at(0).count, 5u);
}

/* --- the call -------------------------------------------------------------------------------- */

TEST_F(TracesTest, TheCallbackCanStopIt)
{
	test_cache cache(64, SLAB_STORE_USER);
	const std::vector<void *> few = allocate(cache, 3, allocate_there);
	const std::vector<void *> many = allocate(cache, 7);
	std::uint64_t seen = 0;

	EXPECT_EQ(slab_cache_traces(
			  cache, SLAB_TRACES_ALLOCATED, 0,
			  [](const struct slab_call_site *site, void *arg) {
				  *static_cast<std::uint64_t *>(arg) += site->count;
				  return 1;
			  },
			  &seen),
		  1);
	EXPECT_EQ(seen, 7u);
	free_many(cache, few);
	free_many(cache, many);
}

TEST_F(TracesTest, BadArgumentsAreRefused)
{
	test_cache cache(64, SLAB_STORE_USER), plain(64);
	struct slab_cache *destroyed = slab_cache_create("destroyed", 64, nullptr, 0);
	const struct {
		struct slab_cache *cache;
		int kind, error;
	} cases[] = {
		{nullptr, SLAB_TRACES_ALLOCATED, EINVAL},
		{destroyed, SLAB_TRACES_FREED, EINVAL},
		{cache, 2, EINVAL},
		{cache, -1, EINVAL},
		{plain, SLAB_TRACES_ALLOCATED, ENODATA},
		{cache, SLAB_TRACES_FREED, ENODATA},
	};

	ASSERT_EQ(slab_cache_destroy(destroyed), 0);
	for (const auto &c : cases) {
		int kind = c.kind; /* may be none: not what the compiler shall see */
		enum slab_traces as_kind;

		static_assert(sizeof(kind) == sizeof(as_kind));
		std::memcpy(&as_kind, &kind, sizeof(kind));
		errno = 0;
		EXPECT_EQ(slab_cache_traces(c.cache, as_kind, 0, append, nullptr), -c.error);
		EXPECT_EQ(errno, c.error);
	}
}

TEST_F(TracesTest, CanBeReadWhileTheCacheIsBusy)
{
	test_cache cache(64, SLAB_STORE_USER);
	std::atomic<bool> stop{false};
	std::vector<std::thread> threads;
	const std::vector<void *> kept = allocate(cache, 100);

	for (int i = 0; i < 3; i++)
		threads.emplace_back([&] {
			while (!stop)
				free_many(cache, allocate(cache, 200, allocate_there));
		});
	threads.emplace_back([&] {
		while (!stop) {
			slab_cache_debug(cache, SLAB_DEBUG_DEFAULT);
			slab_cache_debug(cache, SLAB_STORE_USER);
		}
	});
	/* The others come and go between the slabs that have been counted and those that
	 * have not; what stays is counted once. */
	const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
	while (std::chrono::steady_clock::now() < end && !HasFailure()) {
		std::uint64_t stay = 0;

		for (const struct slab_call_site &site : sites_of(cache))
			if (called_from(site, allocate_here))
				stay += site.count;
		EXPECT_EQ(stay, 100u);
	}
	stop = true;
	join_all(threads);
	free_many(cache, kept);
}

} /* namespace */
