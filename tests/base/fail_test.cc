/* SPDX-License-Identifier: MIT */
/*
 * Fault injection: which calls fail by the settings, how settings are changed,
 * and that allocations of pages and of objects do fail by them.
 */
#include "../support/process.h"
#include "../support/rooms.h"

namespace
{

/* Without what the library keeps for itself. */
std::uint64_t public_debug_flags(const struct slab_cache *cache)
{
	return cache_debug_flags(cache) & SLAB_DEBUG_FLAGS;
}

class FailTest : public testing::Test
{
protected:
	void SetUp() override { set(nullptr); }

	void TearDown() override { set(nullptr); }

	static void set(const char *spec)
	{
		ASSERT_EQ(slab_set_fail(spec), 0) << (spec ? spec : "NULL");
	}

	/* Which of the next n page allocations fail: "..x..x". */
	static std::string pages(unsigned n)
	{
		std::string calls;

		for (unsigned i = 0; i < n; i++)
			calls += fail_pages() ? 'x' : '.';
		return calls;
	}

	static long count(const std::string &calls)
	{
		return std::count(calls.begin(), calls.end(), 'x');
	}
};

TEST_F(FailTest, NothingFailsByDefault)
{
	EXPECT_EQ(pages(10), "..........");
	EXPECT_FALSE(fail_object("entry", true));
	EXPECT_FALSE(fail_wants("entry"));
}

TEST_F(FailTest, EveryCallFailsByDefault)
{
	set("times=-1");
	EXPECT_EQ(pages(5), "xxxxx");
}

TEST_F(FailTest, EveryIntervalThCallFails)
{
	set("interval=3");
	EXPECT_EQ(pages(10), "..x..x..x.");
}

TEST_F(FailTest, TimesIsTheNumberOfFailures)
{
	set("times=2,interval=2");
	EXPECT_EQ(pages(10), ".x.x......");
	set("times=0");
	EXPECT_EQ(pages(3), "...");
}

TEST_F(FailTest, ProbabilityIsPerCentOfTheCandidates)
{
	const struct {
		const char *spec;
		long expected, tolerance;
	} cases[] = {{"probability=0", 0, 0},        {"probability=1", 1000, 150},
		     {"probability=30", 30000, 700}, {"probability=99", 99000, 150},
		     {"probability=100", 100000, 0}, {"probability=50,interval=10", 5000, 350}};

	for (const auto &c : cases) {
		set(c.spec);
		EXPECT_NEAR(count(pages(100000)), c.expected, c.tolerance) << c.spec;
	}
}

TEST_F(FailTest, ChanceKnowsNoRhythm)
{
	set("probability=50");
	const std::string calls = pages(10000);
	long same = 0;

	for (std::size_t i = 1; i < calls.size(); i++)
		same += calls[i] == calls[i - 1];
	EXPECT_NEAR(same, 5000, 300);
}

TEST_F(FailTest, SettingTheSameAgainFailsTheSameCallsAgain)
{
	set("probability=40,times=20");
	const std::string first = pages(100);

	set("probability=40,times=20");
	EXPECT_EQ(pages(100), first);
	EXPECT_EQ(count(first), 20);
}

TEST_F(FailTest, NullAndNothingSwitchItOff)
{
	for (const char *off : {static_cast<const char *>(nullptr), ""}) {
		set("times=-1");
		EXPECT_TRUE(fail_pages());
		set(off);
		EXPECT_FALSE(fail_pages());
	}
}

TEST_F(FailTest, ABadSpecIsRefusedAndChangesNothing)
{
	const std::string long_name(SLAB_MAX_NAME + 1, 'n');
	const std::vector<std::string> bad = {"1",
					      ",",
					      "times=3,",
					      "interval=0",
					      "cache=",
					      "probability=101",
					      "cache=" + long_name,
					      "interval=2 ,times=3",
					      "name=entry"};

	set("interval=4");
	EXPECT_EQ(pages(2), "..");
	for (const std::string &spec : bad) {
		errno = 0;
		EXPECT_EQ(slab_set_fail(spec.c_str()), -EINVAL) << spec;
		EXPECT_EQ(errno, EINVAL) << spec;
	}
	EXPECT_EQ(pages(2), ".x");
}

TEST_F(FailTest, WithoutNamesTheDebugFlagDecidesAboutObjects)
{
	set("times=-1");
	EXPECT_TRUE(fail_object("entry", true));
	EXPECT_FALSE(fail_object("entry", false));
	EXPECT_FALSE(fail_wants("entry"));
}

TEST_F(FailTest, WithNamesOnlyTheirObjectsFail)
{
	set("cache=entry,cache=dn*");
	for (bool flagged : {false, true}) {
		EXPECT_TRUE(fail_object("entry", flagged));
		EXPECT_TRUE(fail_object("dn", flagged));
		EXPECT_TRUE(fail_object("dn_cache", flagged));
		EXPECT_FALSE(fail_object("entry2", flagged));
		EXPECT_FALSE(fail_object("d", flagged));
	}
	EXPECT_TRUE(fail_wants("entry"));
	EXPECT_TRUE(fail_wants("dn7"));
	EXPECT_FALSE(fail_wants("entries"));
	EXPECT_EQ(pages(3), "...");
}

/* Those that cannot fail are no candidates. */
TEST_F(FailTest, OnlyCallsThatMayFailAreCounted)
{
	set("interval=2,cache=entry");
	EXPECT_FALSE(fail_object("entry", true));
	EXPECT_FALSE(fail_object("dn", true));
	EXPECT_FALSE(fail_pages());
	EXPECT_TRUE(fail_object("entry", true));
}

TEST_F(FailTest, ManyThreadsTogetherFailAsOftenAsConfigured)
{
	std::vector<std::thread> threads;
	std::atomic<long> failures{0};

	set("probability=50,times=1000");
	for (int t = 0; t < 4; t++)
		threads.emplace_back([&failures] {
			for (int i = 0; i < 5000; i++)
				failures += fail_pages();
		});
	join_all(threads);
	EXPECT_EQ(failures, 1000);
}

/* Half of one setting and half of another would fail a page, or the wrong cache. */
TEST_F(FailTest, AChangeIsSeenAsAWhole)
{
	std::atomic<bool> done{false};
	std::atomic<long> wrong{0}, right{0};
	std::vector<std::thread> threads;

	set("cache=first");
	for (int t = 0; t < 2; t++)
		threads.emplace_back([&] {
			while (!done) {
				wrong += fail_pages() + fail_object("fecond", true);
				right += fail_object("first", true);
			}
		});
	for (int i = 0; i < 12; i++) {
		while (right < 100 * (i / 2 + 1))
			std::this_thread::yield();
		set(i % 2 ? "cache=first" : "cache=second");
	}
	done = true;
	join_all(threads);
	EXPECT_EQ(wrong, 0);
}

/* Without the fixture, which would replace the settings. */
TEST(FailEnvironmentTest, CallsFailByTheEnvironment)
{
	if (running_again()) {
		std::string calls;

		for (int i = 0; i < 9; i++)
			calls += fail_pages() ? 'x' : '.';
		EXPECT_EQ(calls, "..x..x...");
		EXPECT_EQ(slab_set_fail(nullptr), 0);
		EXPECT_FALSE(fail_pages());
		return;
	}
	const second_run run = run_again({"SLAB_FAIL=interval=3,times=2"});

	EXPECT_EQ(run.failure, "") << run.output;
}

/* --- allocations that fail ------------------------------------------------------ */

TEST_F(FailTest, AnAllocationOfPagesFails)
{
	/* What an earlier allocation left would serve without new pages. */
	slab_trim();
	set("times=1");
	errno = 0;
	EXPECT_EQ(slab_malloc(8 << 20), nullptr);
	EXPECT_EQ(errno, ENOMEM);

	void *memory = slab_malloc(8 << 20);

	EXPECT_NE(memory, nullptr);
	slab_mfree(memory);
}

TEST_F(FailTest, AnObjectOfACacheWithTheDebugFlagFails)
{
	struct slab_cache *cache = slab_cache_create("fail_flag", 64, nullptr, SLAB_FAILSLAB);
	struct slab_cache *other = slab_cache_create("fail_none", 64, nullptr, 0);

	ASSERT_NE(cache, nullptr);
	ASSERT_NE(other, nullptr);
	/* So that neither has to ask for pages. */
	slab_free(cache, slab_alloc(cache));
	slab_free(other, slab_alloc(other));
	set("interval=2");

	void *first = slab_alloc(cache);

	errno = 0;
	EXPECT_EQ(slab_alloc(cache), nullptr);
	EXPECT_EQ(errno, ENOMEM);
	for (int i = 0; i < 10; i++) {
		void *obj = slab_alloc(other);

		EXPECT_NE(obj, nullptr);
		slab_free(other, obj);
	}
	EXPECT_NE(first, nullptr);
	set(nullptr);
	slab_free(cache, first);
	EXPECT_EQ(slab_cache_destroy(cache), 0);
	EXPECT_EQ(slab_cache_destroy(other), 0);
}

TEST_F(FailTest, NamedCachesThatExistGetTheDebugFlag)
{
	struct slab_cache *entry = slab_cache_create("fail_entry", 64, nullptr, SLAB_RED_ZONE);
	struct slab_cache *other = slab_cache_create("other", 64, nullptr, 0);

	ASSERT_NE(entry, nullptr);
	ASSERT_NE(other, nullptr);
	set("cache=fail_*");
	EXPECT_EQ(public_debug_flags(entry), SLAB_RED_ZONE | SLAB_FAILSLAB);
	EXPECT_EQ(public_debug_flags(other), 0u);
	EXPECT_EQ(slab_alloc(entry), nullptr);

	void *obj = slab_alloc(other);

	EXPECT_NE(obj, nullptr);
	set(nullptr);
	slab_free(other, obj);
	EXPECT_EQ(slab_cache_destroy(entry), 0);
	EXPECT_EQ(slab_cache_destroy(other), 0);
}

TEST_F(FailTest, NamedCachesGetTheDebugFlagWhenTheyAreCreated)
{
	set("cache=fail_*,times=1");

	struct slab_cache *entry = slab_cache_create("fail_entry", 64, nullptr, 0);

	ASSERT_NE(entry, nullptr);
	EXPECT_EQ(public_debug_flags(entry), SLAB_FAILSLAB);
	EXPECT_EQ(slab_alloc(entry), nullptr);

	void *obj = slab_alloc(entry);

	EXPECT_NE(obj, nullptr);
	slab_free(entry, obj);
	EXPECT_EQ(slab_cache_destroy(entry), 0);
}

} /* namespace */
