/* SPDX-License-Identifier: MIT */
/* The report of an allocation that fails for lack of memory: who holds it. */
#include <regex>

#include "../support/answers.h"
#include "../support/limits.h"
#include "../support/passes.h"
#include "../support/profiled.h"
#include "../support/units.h"

namespace
{

/* The texts that the handler gets; empty: none. */
class HoldersTest : public LimitTest
{
protected:
	void SetUp() override
	{
		holders_reported = 0;
		slab_set_limit_handler(
			[](struct slab_cache *, std::size_t, const char *text, void *arg) {
				*static_cast<std::string *>(arg) = text ? text : "";
			},
			&text);
	}

	/* What is written while the cache grows to its limit. */
	std::string written_at_limit(struct slab_cache *cache, std::vector<void *> *ret_objects)
	{
		testing::internal::CaptureStderr();
		*ret_objects = allocate_all(cache);
		return testing::internal::GetCapturedStderr();
	}

	std::string text = "no call";
};

/* The line that ends in this word. */
std::string line_of(const std::string &text, const std::string &last)
{
	std::istringstream lines(text);
	std::string line;

	while (std::getline(lines, line))
		if (line.size() > last.size() &&
		    line.compare(line.size() - last.size() - 1, std::string::npos, " " + last) == 0)
			return line;
	return "";
}

struct numbers {
	std::uint64_t kib = 0, free = 0, objects = 0;
};

numbers without_growth(std::string line)
{
	numbers found;

	line = std::regex_replace(line, std::regex(" +[+-][0-9]+ "), " ");
	EXPECT_GE(std::sscanf(line.c_str(), "%lu %lu %lu", &found.kib, &found.free, &found.objects),
		  3)
		<< line;
	return found;
}

struct limited_cache : test_cache {
	explicit limited_cache(std::uint64_t flags = 0) : test_cache(1000, flags, args()) {}

	static struct slab_cache_args *args()
	{
		static struct slab_cache_args limited;

		limited.limit = mib;
		return &limited;
	}
};

TEST_F(HoldersTest, TheHandlerGetsWhatIsWritten)
{
	limited_cache cache;
	std::vector<void *> objects;
	const std::string written = written_at_limit(cache, &objects);

	EXPECT_TRUE(contains(written,
			     "\nNo memory for " + cache.name() + ": its limit is 1048576 bytes\n"))
		<< written;
	EXPECT_EQ(text, written);
	free_many(cache, objects);
}

TEST_F(HoldersTest, NumbersAreThoseOfTheStatistics)
{
	limited_cache cache;
	std::vector<void *> objects;

	written_at_limit(cache, &objects);
	const numbers found = without_growth(line_of(text, cache.name()));

	EXPECT_EQ(found.kib, stats_of(cache).slab_bytes / 1024);
	EXPECT_EQ(found.objects, objects.size());
	EXPECT_EQ(found.free, 0U);
	free_many(cache, objects);
}

TEST_F(HoldersTest, FreeObjectsAreFreeBytes)
{
	test_cache cache(1000);
	process_limit limit(mib);
	const std::vector<void *> objects = alloc_many(cache, 500);
	std::vector<void *> kept;

	for (std::size_t i = 0; i < objects.size(); i++)
		if (i % 10)
			slab_free(cache, objects[i]);
		else
			kept.push_back(objects[i]);
	testing::internal::CaptureStderr();
	EXPECT_EQ(slab_malloc(2 * mib), nullptr);
	testing::internal::GetCapturedStderr();
	const numbers found = without_growth(line_of(text, cache.name()));

	EXPECT_TRUE(
		contains(text, "\nNo memory for a large allocation: the limit of the process is " +
				       std::to_string(limit.bytes) + " bytes\n"))
		<< text;
	EXPECT_EQ(found.objects, kept.size());
	EXPECT_EQ(found.free,
		  (stats_of(cache).total_objects - kept.size()) * stats_of(cache).slab_size / 1024);
	free_many(cache, kept);
}

TEST_F(HoldersTest, ObjectsOfDebugSlabsAreCounted)
{
	limited_cache cache(SLAB_RED_ZONE);
	std::vector<void *> objects;

	written_at_limit(cache, &objects);
	ASSERT_GT(objects.size(), 10U);
	for (unsigned i = 0; i < 10; i++) {
		slab_free(cache, objects.back());
		objects.pop_back();
	}
	std::vector<void *> more;
	holders_reported -= 60 * 1000000;
	written_at_limit(cache, &more);
	EXPECT_EQ(without_growth(line_of(text, cache.name())).objects,
		  objects.size() + more.size());
	free_many(cache, objects);
	free_many(cache, more);
}

TEST_F(HoldersTest, ThereIsOneReportAMinute)
{
	limited_cache cache;
	std::vector<void *> objects;

	written_at_limit(cache, &objects);
	text = "no call";
	testing::internal::CaptureStderr();
	EXPECT_EQ(slab_alloc(cache), nullptr);
	EXPECT_EQ(testing::internal::GetCapturedStderr() + text, "");

	holders_reported -= 60 * 1000000;
	testing::internal::CaptureStderr();
	EXPECT_EQ(slab_alloc(cache), nullptr);
	EXPECT_EQ(testing::internal::GetCapturedStderr(), text);
	EXPECT_NE(text, "");
	free_many(cache, objects);
}

TEST_F(HoldersTest, GrowthIsThatSinceThePassAMinuteAgo)
{
	limited_cache cache;
	std::vector<void *> objects = alloc_many(cache, 100);
	const std::uint64_t before = stats_of(cache).slab_bytes;

	run_passes(2);
	std::vector<void *> more;
	written_at_limit(cache, &more);
	const std::string line = line_of(text, cache.name());
	const std::uint64_t growth = (stats_of(cache).slab_bytes - before) / 1024;

	EXPECT_TRUE(contains(line, " +" + std::to_string(growth) + " ")) << text;
	EXPECT_TRUE(contains(text, "growth"));
	free_many(cache, objects);
	free_many(cache, more);
}

TEST_F(HoldersTest, TheTenLargestCachesAreInOrder)
{
	std::vector<std::unique_ptr<test_cache>> caches;
	std::vector<std::vector<void *>> objects;
	std::vector<std::uint64_t> found;

	for (unsigned i : {5, 12, 1, 8, 3, 10, 2, 7, 11, 4, 9, 6}) {
		caches.push_back(std::make_unique<test_cache>(1000));
		objects.push_back(alloc_many(*caches.back(), 100 * i));
	}
	limited_cache cache;
	objects.emplace_back();
	written_at_limit(cache, &objects.back());
	std::istringstream lines(text.substr(text.find("cache\n") + std::strlen("cache\n")));

	for (std::string line; std::getline(lines, line) && line[0] == ' ';)
		found.push_back(without_growth(line).kib);
	EXPECT_EQ(found.size(), 10U) << text;
	EXPECT_TRUE(std::is_sorted(found.rbegin(), found.rend())) << text;
	EXPECT_GE(found.front(), 1200U);
	free_many(cache, objects.back());
	for (std::size_t i = 0; i < caches.size(); i++)
		free_many(*caches[i], objects[i]);
}

TEST_F(HoldersTest, ThreadsThatFailAtOnceWriteOneReport)
{
	limited_cache cache;
	std::vector<std::thread> threads;
	std::atomic<unsigned> reports{0};
	std::vector<void *> objects;

	written_at_limit(cache, &objects);
	slab_set_limit_handler(
		[](struct slab_cache *, std::size_t, const char *report, void *arg) {
			*static_cast<std::atomic<unsigned> *>(arg) += report != nullptr;
		},
		&reports);
	holders_reported = 0;
	testing::internal::CaptureStderr();
	for (unsigned i = 0; i < 8; i++)
		threads.emplace_back([&] { EXPECT_EQ(slab_alloc(cache), nullptr); });
	join_all(threads);
	testing::internal::GetCapturedStderr();
	EXPECT_EQ(reports, 1U);
	free_many(cache, objects);
}

/* Another thread is in the handler, and does not exist in the child. */
TEST_F(HoldersTest, AChildReportsItself)
{
	static std::atomic<bool> is_inside, may_leave;
	limited_cache cache;
	std::vector<void *> objects;

	written_at_limit(cache, &objects);
	is_inside = may_leave = false;
	slab_set_limit_handler(
		[](struct slab_cache *, std::size_t, const char *, void *) {
			for (is_inside = true; !may_leave;)
				std::this_thread::yield();
		},
		nullptr);
	holders_reported = 0;
	testing::internal::CaptureStderr();
	std::thread other([&] { EXPECT_EQ(slab_alloc(cache), nullptr); });
	while (!is_inside)
		std::this_thread::yield();
	EXPECT_EQ(run_in_child_now([&] {
			  may_leave = true;
			  slab_set_limit_handler([](struct slab_cache *, std::size_t,
						    const char *report,
						    void *) { _exit(report ? 0 : 2); },
						 nullptr);
			  holders_reported = 0;
			  return slab_alloc(cache) ? 3 : 1;
		  }),
		  "");
	may_leave = true;
	other.join();
	testing::internal::GetCapturedStderr();
	free_many(cache, objects);
}

/* The estimate of bytes is exact to some standard deviations. */
TEST_F(HoldersTest, TheLargestSitesOfTheHeapProfile)
{
	limited_cache cache;
	std::vector<void *> objects;

	EXPECT_EQ(slab_set_profile(4000), 0);
	written_at_limit(cache, &objects);
	EXPECT_EQ(slab_set_profile(0), 0);

	const std::size_t at = text.find("allocated in\n");
	std::uint64_t kib = 0, count = 0;

	ASSERT_NE(at, std::string::npos) << text;
	EXPECT_EQ(std::sscanf(text.c_str() + at, "allocated in\n%lu %lu\n\t", &kib, &count), 2);
	EXPECT_NEAR(static_cast<double>(count), static_cast<double>(objects.size()), 400);
	EXPECT_NEAR(static_cast<double>(kib), static_cast<double>(count) * 1000 / 1024, 1);
	free_many(cache, objects);
}

TEST_F(HoldersTest, ASystemThatRefusesMemoryIsReported)
{
	struct rlimit before, none;

	if (under_asan || under_tsan)
		GTEST_SKIP() << "sanitizers need address space";
	ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
	none = {0, before.rlim_max};
	testing::internal::CaptureStderr();
	ASSERT_EQ(setrlimit(RLIMIT_AS, &none), 0);
	EXPECT_EQ(slab_malloc(64 * mib), nullptr);
	ASSERT_EQ(setrlimit(RLIMIT_AS, &before), 0);
	EXPECT_TRUE(
		contains(testing::internal::GetCapturedStderr(),
			 "No memory for a large allocation: the system refuses 67108864 bytes"));
}

TEST_F(HoldersTest, MistakesAndInjectedFailuresAreNotReported)
{
	test_cache cache(1000);

	EXPECT_EQ(slab_malloc(std::size_t{1} << 46), nullptr);
	{
		failing fail("times=-1");

		EXPECT_EQ(slab_malloc(2 * mib), nullptr);
		EXPECT_EQ(slab_alloc(cache), nullptr);
	}
	EXPECT_EQ(holders_reported, 0U);
}

} /* namespace */
