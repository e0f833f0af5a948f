/* SPDX-License-Identifier: MIT */
/* Each wrong free that can be seen at no cost is reported and contained. */
#include <urcu-bp.h>

#include <regex>

#include "../support/objects.h"
#include "../support/process.h"
#include "../support/reports.h"
#include "../support/rooms.h"

namespace
{

/* Frees what must not be freed there. The compiler would warn of the use
 * afterwards, so it does not get to see which pointer it is. */
void free_wrongly(struct slab_cache *cache, void *obj)
{
	void *volatile hidden = obj;

	slab_free(cache, hidden);
}

TEST(BadFreeTest, ObjectOfAnotherCacheIsReportedAndContained)
{
	report_capture reports;
	test_cache owner(64);
	test_cache wrong(64);
	std::vector<void *> objs = alloc_many(owner, 300);

	for (std::size_t i = 0; i < objs.size(); i++) {
		fill(objs[i], 64, i);
		free_wrongly(wrong, objs[i]);
	}
	EXPECT_EQ(reports.problems(),
		  std::vector<enum slab_problem>(objs.size(), SLAB_PROBLEM_WRONG_CACHE));
	EXPECT_EQ(stats_of(owner).objects, objs.size());
	std::vector<void *> more = alloc_many(wrong, 300);
	for (void *obj : more)
		fill(obj, 64, 12345);
	for (std::size_t i = 0; i < objs.size(); i++)
		EXPECT_TRUE(intact(objs[i], 64, i));
	EXPECT_EQ(slab_cache_validate(owner), 0);
	EXPECT_EQ(slab_cache_validate(wrong), 0);
	free_many(wrong, more);
	free_many(owner, objs);
}

TEST(BadFreeTest, ObjectOfAnotherCacheInABulkIsReported)
{
	report_capture reports;
	test_cache owner(64);
	test_cache wrong(64);
	void *mixed[3] = {slab_alloc(owner), slab_alloc(wrong), slab_alloc(owner)};

	slab_free_bulk(owner, 3, mixed);
	EXPECT_TRUE(reports.contains("Wrong slab cache. " + owner.name() + " but object is from " +
				     wrong.name()))
		<< reports.text();
	EXPECT_EQ(stats_of(owner).objects, 0u);
	EXPECT_EQ(stats_of(wrong).objects, 1u);
	slab_free(wrong, mixed[1]);
}

/* The first bytes of the segment that holds obj: the library's own data. */
void *metadata_near(const void *obj)
{
	const std::uintptr_t segment = process_stats().segment_size;

	return reinterpret_cast<void *>((reinterpret_cast<std::uintptr_t>(obj) & ~(segment - 1)) +
					128);
}

TEST(BadFreeTest, PointerIntoMetadataIsReported)
{
	report_capture reports;
	test_cache cache(64);
	std::vector<void *> objs = alloc_many(cache, 2);

	slab_free(cache, metadata_near(objs[0]));
	EXPECT_EQ(stats_of(cache).objects, 2u);
	objs.insert(objs.begin() + 1, metadata_near(objs[0]));
	slab_free_bulk(cache, objs.size(), objs.data());
	EXPECT_EQ(reports.problems(),
		  std::vector<enum slab_problem>(2, SLAB_PROBLEM_INVALID_POINTER));
	EXPECT_EQ(stats_of(cache).objects, 0u);
	EXPECT_EQ(slab_cache_validate(cache), 0);
}

/*
 * Two objects that are freed alternately: neither is ever the one that was freed last, so each
 * free looks right until the array is full and its objects return to their slabs.
 */
void free_in_turns(struct slab_cache *cache, void *first, void *second,
		   const report_capture &reports)
{
	for (unsigned i = 0; i < 200000 && !reports.count(); i++)
		free_wrongly(cache, i % 2 ? first : second);
}

/* In a child, since nothing is right in that cache afterwards. */
std::string frees_in_turns(std::size_t size, std::size_t cpu)
{
	return run_in_child([&] {
		report_capture reports;
		test_cache cache(size);
		std::vector<void *> objs = alloc_many(cache, 3 * (65536 / size));
		int failures = 0;

		for (std::size_t i = 0; i < objs.size(); i++)
			fill(objs[i], size, i);
		pin(cpu);
		slab_free(cache, objs.back());
		free_in_turns(cache, objs[0], objs[1], reports);
		unpin();
		failures += !reports.count() ||
			    reports.report(0).info.problem != SLAB_PROBLEM_DOUBLE_FREE;
		for (std::size_t i = 2; i < objs.size() - 1; i++)
			failures += !intact(objs[i], size, i);
		/* The neighbours' descriptors are whole: they can be freed, and validated. */
		for (std::size_t i = 2; i < objs.size() - 1; i++)
			slab_free(cache, objs[i]);
		slab_cache_validate(cache);
		fflush(nullptr);
		_exit(failures);
		return failures;
	});
}

TEST(BadFreeTest, FreesInTurnsAreReportedBeforeTheyOverrunAStack)
{
	pin(0);
	for (std::size_t cpu = 0; cpu < std::min<std::size_t>(allowed_cpus().size(), 2); cpu++)
		for (std::size_t size : {2048, 64})
			EXPECT_EQ(frees_in_turns(size, cpu), "") << size << " on CPU " << cpu;
	unpin();
}

TEST(BadFreeTest, BulkFreesInTurnsAreReportedBeforeTheyOverrunAStack)
{
	EXPECT_IN_CHILD([] {
		report_capture reports;
		test_cache cache(2048);
		std::vector<void *> objs = alloc_many(cache, 64);
		void *turns[4] = {objs[0], objs[1], objs[0], objs[1]};

		for (unsigned i = 0; i < 1000 && !reports.count(); i++)
			slab_free_bulk(cache, 4, turns);
		_exit(reports.count() ? 0 : 1);
		return 0;
	});
}

/* The use of a destroyed cache is reported as that, with the name and who destroyed the cache. */

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
