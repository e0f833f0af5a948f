/* SPDX-License-Identifier: MIT */
/* Leaks: objects that remain when a cache with debug flags is destroyed. */
#include "../support/debugging.h"
#include "../support/process.h"
#include "../support/symbolized.h"

namespace
{

__attribute__((noinline)) void *leak_here(struct slab_cache *cache)
{
	void *obj = slab_alloc(cache);

	__asm__ volatile("" ::: "memory"); /* no call at the end that is a jump */
	return obj;
}

TEST_F(DebugTest, LeaksAreListedWithTheirAllocators)
{
	test_cache cache(64, all_debug_flags);
	std::vector<void *> objs;

	for (volatile int i = 0; i < 3; i = i + 1) /* one loop, one place */
		objs.push_back(leak_here(cache));
	slab_free(cache, hidden(objs[1]));
	objs[1] = slab_alloc(cache);
	EXPECT_EQ(cache.destroy(), -EBUSY);
	expect_problem(SLAB_PROBLEM_LEAK,
		       "Objects remaining in " + cache.name() + " on slab_cache_destroy", 0);
	EXPECT_EQ(reported().info.leaked, 3u);
	EXPECT_EQ(place(objs[0]).normalised(reported().text), head(cache, reported().reason) +
								      "Object OBJ @offset=16\n"
								      "Allocated in F age=N by T\n"
								      "Object OBJ+192 @offset=208\n"
								      "Allocated in F age=N by T\n"
								      "Object OBJ+288 @offset=304\n"
								      "Allocated in F age=N by T\n"
								      "3 objects remain\n"
								      "2 of them allocated by\n"
								      "1 of them allocated by\n");
	std::istringstream in(symbolized(reported().text));
	unsigned named = 0;
	for (std::string line; std::getline(in, line);)
		named += line.find("leak_here+") != std::string::npos &&
			 line.find(" (debug_leak_test.cc:") != std::string::npos;
	/* At each object and in the stack. */
	EXPECT_EQ(named, 3u) << reported().text;
	free_many(cache, objs);
	expect_contained(cache, 1);
}

TEST_F(DebugTest, EveryLeakIsListedOnce)
{
	test_cache cache(64, all_debug_flags);
	const std::vector<void *> objs = alloc_many(cache, 1000);

	EXPECT_EQ(cache.destroy(), -EBUSY);
	EXPECT_GT(reports_.count(), 1u);
	EXPECT_EQ(lines_with(reports_.text(), "Object 0x"), 1000u);
	for (std::size_t i = 0; i < objs.size(); i += 10) {
		char number[40];

		std::snprintf(number, sizeof(number), "Object %p @", objs[i]);
		EXPECT_EQ(lines_with(reports_.text(), number), 1u);
	}
	EXPECT_EQ(reports_.last().info.leaked, 1000u);
	EXPECT_TRUE(reports_.contains("\n1000 objects remain\n"));
	free_many(cache, objs);
	expect_contained(cache, 1);
}

TEST_F(DebugTest, OlderAndYoungerObjectsAreLeaksAlike)
{
	test_cache cache(64);
	void *older = slab_alloc(cache);

	ASSERT_EQ(slab_cache_debug(cache, all_debug_flags), 0);
	void *younger = slab_alloc(cache);
	EXPECT_EQ(cache.destroy(), -EBUSY);
	EXPECT_EQ(reported().info.leaked, 2u);
	EXPECT_EQ(lines_with(reported().text, "Object 0x"), 2u);
	EXPECT_EQ(lines_with(reported().text, "Allocated in "), 1u);
	slab_free(cache, older);
	slab_free(cache, younger);
}

/* What was not freed because it was damaged does not hold a cache back. */
TEST_F(DebugTest, ObjectsThatWereNotFreedAreNoLeaks)
{
	test_cache cache(64, all_debug_flags);
	char *obj = hidden(slab_alloc(cache));

	obj[64] = 0;
	slab_free(cache, obj);
	EXPECT_EQ(reports_.count(), 1u);
	EXPECT_EQ(cache.destroy(), 0);
	EXPECT_EQ(reports_.count(), 1u);
}

} /* namespace */
