/* SPDX-License-Identifier: MIT */
/*
 * Double frees that are found when objects of arrays return to their slabs: they take nothing from the
 * other objects, and they are reported with no lock held.
 */
#include <future>

#include "../support/debugging.h"

namespace
{

void validate(struct slab_cache *cache)
{
	EXPECT_EQ(slab_cache_validate(cache), 1);
}

void shrink(struct slab_cache *cache)
{
	EXPECT_GE(slab_cache_shrink(cache), 0);
}

void switch_on(struct slab_cache *cache)
{
	EXPECT_EQ(slab_cache_debug(cache, all_debug_flags), 0);
}

/* More objects than arrays and magazines take. */
void free_until_arrays_are_full(struct slab_cache *cache)
{
	free_many(cache, alloc_many(cache, 20000));
	shrink(cache);
}

/* How objects return to their slabs. */
struct way {
	const char *name;
	void (*act)(struct slab_cache *);
};

std::ostream &operator<<(std::ostream &out, const way &w)
{
	return out << w.name;
}

class LateFreeTest : public DebugTest, public testing::WithParamInterface<way>
{
};

/* Free one of them twice, with another free in between: the array's newest object is another one. */
void free_twice(struct slab_cache *cache, std::vector<void *> &objs)
{
	slab_free(cache, hidden(objs[0]));
	slab_free(cache, hidden(objs[1]));
	slab_free(cache, hidden(objs[0]));
	objs.erase(objs.begin(), objs.begin() + 2);
}

/* All objects are distinct, and none is missing. */
void expect_whole(struct slab_cache *cache, std::vector<void *> &objs)
{
	const std::vector<void *> more = alloc_many(cache, 3000);

	objs.insert(objs.end(), more.begin(), more.end());
	EXPECT_TRUE(all_distinct(objs));
	EXPECT_EQ(stats_of(cache).objects, objs.size());
	EXPECT_EQ(slab_cache_validate(cache), 0);
	free_many(cache, objs);
	EXPECT_EQ(stats_of(cache).objects, 0u);
	EXPECT_GE(slab_cache_shrink(cache), 0);
	EXPECT_EQ(stats_of(cache).slabs, 0u);
}

TEST_P(LateFreeTest, TheOtherObjectsStay)
{
	test_cache cache(64);
	std::vector<void *> objs = alloc_many(cache, 500);

	free_twice(cache, objs);
	ASSERT_EQ(reports_.count(), 0u);
	GetParam().act(cache);
	EXPECT_EQ(reported().info.problem, SLAB_PROBLEM_DOUBLE_FREE);
	expect_whole(cache, objs);
	EXPECT_EQ(slab_cache_debug(cache, 0), 0);
	objs = alloc_many(cache, 500);
	expect_whole(cache, objs);
	EXPECT_EQ(reports_.count(), 1u) << reports_.text();
}

/* The last object of its slab: the slab goes with the first of the two. */
TEST_P(LateFreeTest, NothingOfTheSlabStays)
{
	test_cache cache(64);
	std::vector<void *> objs = alloc_many(cache, 2);

	free_twice(cache, objs);
	GetParam().act(cache);
	EXPECT_EQ(reported().info.problem, SLAB_PROBLEM_DOUBLE_FREE);
	expect_whole(cache, objs);
	EXPECT_EQ(reports_.count(), 1u) << reports_.text();
}

/* What a handler of reports may do with the cache. A lock that is held makes it wait for ever. */
void use(struct slab_cache *cache)
{
	struct slab_stats stats = {};
	void *objs[64];

	slab_free(cache, slab_alloc(cache));
	slab_free_bulk(cache, slab_alloc_bulk(cache, SLAB_ALLOC_FULL, 64, objs), objs);
	slab_cache_shrink(cache);
	slab_cache_debug(cache, SLAB_RED_ZONE);
	slab_free(cache, slab_alloc(cache));
	slab_cache_debug(cache, 0);
	slab_cache_validate(cache);
	stats.struct_size = sizeof(stats);
	slab_cache_stats(cache, &stats);
	slab_cache_destroy(slab_cache_create("handler", 64, nullptr, 0));
}

unsigned handled;

void use_in_handler(const struct slab_report *report, void *arg)
{
	auto *cache = static_cast<struct slab_cache *>(arg);
	std::future<void> other = std::async(std::launch::async, use, cache);

	EXPECT_EQ(report->problem, SLAB_PROBLEM_DOUBLE_FREE);
	handled++;
	if (other.wait_for(std::chrono::seconds(60)) != std::future_status::ready) {
		std::fputs("libslab holds a lock\n", stderr);
		std::abort();
	}
	use(cache);
}

TEST_P(LateFreeTest, IsReportedWithoutALock)
{
	test_cache cache(64);
	std::vector<void *> objs = alloc_many(cache, 500);

	handled = 0;
	slab_set_report_handler(use_in_handler, static_cast<struct slab_cache *>(cache));
	free_twice(cache, objs);
	GetParam().act(cache);
	slab_set_report_handler(nullptr, nullptr);
	EXPECT_EQ(handled, 1u);
	EXPECT_EQ(slab_cache_debug(cache, 0), 0);
	expect_whole(cache, objs);
}

INSTANTIATE_TEST_SUITE_P(Ways, LateFreeTest,
			 testing::Values(way{"Validation", validate}, way{"Shrink", shrink},
					 way{"SwitchedOn", switch_on},
					 way{"FullArrays", free_until_arrays_are_full}),
			 testing::PrintToStringParamName());

/* Only an earlier object at this address can have got into the array. */
TEST_F(DebugTest, AnObjectOfADebugSlabStaysInUseWhenAnArrayHasItsAddress)
{
	test_cache cache(64);
	struct slab_cache *c = cache;

	slab_free(cache, slab_alloc(cache)); /* now the array takes objects */
	switch_on(cache);
	void *obj = slab_alloc(cache);
	ASSERT_EQ(cpu_engine->push(&c->arrays, obj), CPU_DONE);
	EXPECT_EQ(slab_cache_validate(cache), 1);
	const caught_report report = reported();
	EXPECT_EQ(report.info.problem, SLAB_PROBLEM_DOUBLE_FREE);
	EXPECT_NE(report.text.find("\nIts slab has left the cache: its objects were all freed\n"),
		  std::string::npos)
		<< report.text;
	EXPECT_EQ(stats_of(cache).objects, 1u);
	slab_free(cache, obj);
	EXPECT_EQ(reports_.count(), 1u) << reports_.text();
}

} /* namespace */
