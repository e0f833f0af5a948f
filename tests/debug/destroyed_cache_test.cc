/* SPDX-License-Identifier: MIT */
/* The use of a destroyed cache is reported as that, with the name and who destroyed the cache. */
#include <regex>

#include <urcu-bp.h>

#include "../support/objects.h"
#include "../support/reports.h"
#include "../support/rooms.h"

namespace
{

/* The compiler would warn of the use. */
struct slab_cache *hidden(struct slab_cache *cache)
{
	struct slab_cache *volatile pointer = cache;

	return pointer;
}

struct slab_cache *destroyed(const std::string &name = "temporary")
{
	struct slab_cache *cache = slab_cache_create(name.c_str(), 64, nullptr, 0);

	slab_free(cache, slab_alloc(cache));
	EXPECT_EQ(slab_cache_destroy(cache), 0);
	return hidden(cache);
}

/* The report without rules and frames, with the words of this run replaced. */
std::string plain(const std::string &text)
{
	std::string result = std::regex_replace(text, std::regex("[=-]{20,}\n"), "");

	result = std::regex_replace(result, std::regex("\n\t[^\n]*"), "");
	result = std::regex_replace(result, std::regex(" in [^\n]* age=[0-9]+ ms [^\n]*"),
				    " in F age=N by T");
	result = std::regex_replace(result, std::regex("Detected in [^\n]*"), "Detected in F by T");
	return std::regex_replace(result, std::regex("0x[0-9a-f]+"), "P");
}

std::string report_of(const std::string &reason, bool is_free)
{
	return "BUG temporary: " + reason + "\n\nDestroyed in F age=N by T\nDetected in F by T\n" +
	       (is_free ? "FIX temporary: Object at P not freed\n" : "");
}

class DestroyedCacheTest : public testing::Test
{
protected:
	void expect_report(const std::string &reason, bool is_free = false)
	{
		ASSERT_EQ(reports_.count(), 1u) << reports_.text();
		const caught_report report = reports_.last();

		EXPECT_EQ(report.info.problem, SLAB_PROBLEM_DESTROYED_CACHE);
		EXPECT_EQ(report.cache, "temporary");
		EXPECT_NE(report.info.freed.tid, 0);
		EXPECT_GT(report.info.freed.frames, 0u);
		EXPECT_EQ(plain(report.text), report_of(reason, is_free));
		reports_.clear();
	}

	report_capture reports_;
};

TEST_F(DestroyedCacheTest, EachAllocationIsReported)
{
	struct slab_cache *cache = destroyed();
	void *objs[4];

	for (const std::function<bool()> &allocates : std::vector<std::function<bool()>>{
		     [&] { return slab_alloc(cache) != nullptr; },
		     [&] { return slab_zalloc(cache) != nullptr; },
		     [&] { return slab_alloc_node(cache, 0) != nullptr; },
		     [&] { return slab_alloc_bulk(cache, SLAB_ALLOC_FULL, 4, objs) != 0; }}) {
		errno = 0;
		EXPECT_FALSE(allocates());
		EXPECT_EQ(errno, EINVAL);
		expect_report("Allocation from a destroyed cache");
	}
}

TEST_F(DestroyedCacheTest, EachFreeIsReported)
{
	struct slab_cache *cache = destroyed();
	test_cache other(64);
	void *obj = slab_alloc(other);

	fill(obj, 64, 1);
	slab_free(cache, obj);
	expect_report("Free to a destroyed cache", true);
	slab_free_bulk(cache, 1, &obj);
	expect_report("Free to a destroyed cache", true);
	slab_free_rcu(cache, obj);
	expect_report("Free to a destroyed cache", true);
	EXPECT_TRUE(intact(obj, 64, 1));
	slab_free(other, obj);
}

/* The address of an object that the cache had, whatever is there by now. */
TEST_F(DestroyedCacheTest, AFreeOfItsFormerObjectIsReported)
{
	struct slab_cache *cache = slab_cache_create("temporary", 64, nullptr, 0);
	void *volatile obj = slab_alloc(cache);

	slab_free(cache, obj);
	ASSERT_EQ(slab_cache_destroy(cache), 0);
	slab_free(hidden(cache), obj);
	expect_report("Free to a destroyed cache", true);
}

TEST_F(DestroyedCacheTest, ASecondDestructionIsReported)
{
	EXPECT_EQ(slab_cache_destroy(destroyed()), -EINVAL);
	expect_report("slab_cache_destroy() of a destroyed cache");
}

/* The newest ones, at least. */
TEST_F(DestroyedCacheTest, ManyDestroyedCachesAreRemembered)
{
	struct slab_cache *cache = destroyed();

	for (unsigned i = 0; i < FREE_CACHES_KEPT - 1; i++)
		destroyed("later" + std::to_string(i));
	test_cache next(64);
	EXPECT_EQ(slab_alloc(cache), nullptr);
	expect_report("Allocation from a destroyed cache");
}

} /* namespace */
