/* SPDX-License-Identifier: MIT */
/*
 * Numbers of the program's own that are attached to a cache: what is refused, that they
 * are sums over words of the program, found by name and in answers, until they are
 * detached.
 */
#include <atomic>
#include <thread>

#include <sys/mman.h>

#include <slab/debug.h>

#include "../support/attached.h"
#include "../support/process.h"

extern "C" {
#include "core/cache.h"
#include "inspect/counters.h"
}

using namespace slab_test;

namespace
{

/* --- what is shown --------------------------------------------------------------------- */

TEST_F(CountersTest, ACounterIsFoundByItsName)
{
	ASSERT_EQ(attach(cache, {counter("found"), counter("missed", words + 1)}), 0);
	words[0] = 7;
	words[1] = 9;
	EXPECT_EQ(read_stat(cache, "found"), 7);
	EXPECT_EQ(read_stat(cache, "missed"), 9);
	words[0]++;
	EXPECT_EQ(read_stat(cache, "found"), 8);
}

TEST_F(CountersTest, ItsNumberIsTheSumOfItsWords)
{
	struct slab_counter striped = counter("striped");

	striped.copies = 3;
	striped.stride = 16;
	ASSERT_EQ(attach(cache, {striped}), 0);
	words[0] = 1;
	words[1] = 1000; /* another's */
	words[2] = 20;
	words[4] = 300;
	words[6] = 4000;
	EXPECT_EQ(read_stat(cache, "striped"), 321);
}

/* The words of others cannot even be read. */
TEST_F(CountersTest, OneOfThemIsReadAlone)
{
	void *page = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ASSERT_NE(page, MAP_FAILED);
	ASSERT_EQ(attach(cache, {counter("other", static_cast<std::uint64_t *>(page)),
				 counter("found", words + 1)}),
		  0);
	words[1] = 3;
	EXPECT_EQ(read_stat(cache, "found"), 3);
	EXPECT_EQ(slab_cache_attach_counters(cache, nullptr, 0), 0);
	munmap(page, 4096);
}

/* As in the manual: each CPU has a line, with a word of each counter on it. */
TEST_F(CountersTest, CountersOfACpuMayShareALine)
{
	static struct {
		alignas(64) std::uint64_t hits;
		std::uint64_t misses;
	} lookups[3];
	struct slab_counter hits = counter("hits", &lookups[0].hits);
	struct slab_counter misses = counter("misses", &lookups[0].misses);

	static_assert(sizeof(lookups[0]) == 64, "one line");
	hits.copies = misses.copies = 3;
	hits.stride = misses.stride = sizeof(lookups[0]);
	ASSERT_EQ(attach(cache, {hits, misses}), 0);
	for (auto &one : lookups) {
		one.hits = 100;
		one.misses = 1;
	}
	EXPECT_EQ(read_stat(cache, "hits"), 300);
	EXPECT_EQ(read_stat(cache, "misses"), 3);
}

TEST_F(CountersTest, AsManyWordsAsTheLargestMachineHasCpus)
{
	std::vector<std::uint64_t> many(COUNTER_COPIES_MAX, 1);
	struct slab_counter striped = counter("striped", many.data());

	striped.stride = sizeof(many[0]);
	striped.copies = COUNTER_COPIES_MAX + 1;
	EXPECT_EQ(attach(cache, {striped}), -EINVAL);
	striped.copies--;
	ASSERT_EQ(attach(cache, {striped}), 0);
	EXPECT_EQ(read_stat(cache, "striped"), COUNTER_COPIES_MAX);
	slab_cache_attach_counters(cache, nullptr, 0);
}

TEST_F(CountersTest, AnswersShowAllThatIsKnownOfThem)
{
	struct slab_counter bytes = counter("held", words + 1, SLAB_COUNTER_BYTES);

	bytes.help = "bytes held by \"others\"";
	ASSERT_EQ(attach(cache,
			 {counter("found"), bytes, counter("open", words + 2, SLAB_COUNTER_GAUGE)}),
		  0);
	words[0] = 1;
	words[1] = UINT64_MAX;
	EXPECT_EQ(
		from_outside(cache.name()),
		"\"counters\":[{\"name\":\"found\",\"kind\":\"events\",\"value\":1,\"help\":\"\"},"
		"{\"name\":\"held\",\"kind\":\"bytes\",\"value\":18446744073709551615,"
		"\"help\":\"bytes held by \\\"others\\\"\"},"
		"{\"name\":\"open\",\"kind\":\"gauge\",\"value\":0,\"help\":\"\"}]");
}

TEST_F(CountersTest, ACacheWithoutAnyHasAnEmptyList)
{
	EXPECT_EQ(from_outside(cache.name()), "\"counters\":[]");
}

TEST_F(CountersTest, TheirDescriptionsAreCopied)
{
	char name[] = "found";
	std::vector<struct slab_counter> one = {counter(name)};

	ASSERT_EQ(attach(cache, one), 0);
	std::strcpy(name, "other");
	one[0].value = nullptr;
	EXPECT_EQ(read_stat(cache, "found"), 0);
	EXPECT_EQ(read_stat(cache, "other"), -ENOENT);
}

TEST_F(CountersTest, TheyCanOnlyBeRead)
{
	ASSERT_EQ(attach(cache, {counter("found")}), 0);
	EXPECT_EQ(slab_stat_write(cache, "found", 0), -EACCES);
	EXPECT_EQ(slab_stat_write(cache, "lost", 0), -ENOENT);
}

/* --- what is refused ------------------------------------------------------------------- */

TEST_F(CountersTest, NamesAreOfSmallLettersDigitsAndUnderscores)
{
	const std::string longest(SLAB_COUNTER_NAME_MAX, 'n'), longer = longest + "n";

	for (const char *name : {"", "Found", "9found", "_found", "found!", "fo und", "f\xc3\xbcr",
				 longer.c_str(), static_cast<const char *>(nullptr)}) {
		errno = 0;
		EXPECT_EQ(attach(cache, {counter(name)}), -EINVAL) << (name ? name : "NULL");
		EXPECT_EQ(errno, EINVAL);
	}
	EXPECT_EQ(attach(cache, {counter(longest.c_str()), counter("n9_")}), 0);
}

TEST_F(CountersTest, HelpIsAShortLineOfText)
{
	const std::string longest(SLAB_COUNTER_HELP_MAX, 'h'), longer = longest + "h";
	struct slab_counter one = counter("found");

	for (const std::string &help :
	     {longer, std::string("two\nlines"), std::string("f\xc3\xbcr")}) {
		one.help = help.c_str();
		EXPECT_EQ(attach(cache, {one}), -EINVAL) << help;
	}
	one.help = longest.c_str();
	ASSERT_EQ(attach(cache, {one}), 0);
	EXPECT_NE(from_outside(cache.name()).find("\"help\":\"" + longest + "\""),
		  std::string::npos);
}

TEST_F(CountersTest, WordsAreAligned)
{
	struct slab_counter striped = counter("striped");

	EXPECT_EQ(attach(cache, {counter("none", nullptr)}), -EINVAL);
	EXPECT_EQ(attach(cache, {counter("crooked", reinterpret_cast<std::uint64_t *>(
							    reinterpret_cast<char *>(words) + 4))}),
		  -EINVAL);
	striped.copies = 2;
	for (std::size_t stride : {std::size_t{0}, std::size_t{12}, ~std::size_t{7}}) {
		striped.stride = stride;
		EXPECT_EQ(attach(cache, {striped}), -EINVAL) << stride;
	}
}

TEST_F(CountersTest, UnknownKindsAreRefused)
{
	EXPECT_EQ(attach(cache, {counter("odd", words, static_cast<enum slab_counter_kind>(3))}),
		  -EINVAL);
}

TEST_F(CountersTest, NamesOfStatisticsAreTaken)
{
	for (const char *name : {"objects", "limit", "sample", "alloc_slowpath"})
		EXPECT_EQ(attach(cache, {counter(name)}), -EEXIST) << name;
	EXPECT_EQ(attach(cache, {counter("twice"), counter("twice", words + 1)}), -EEXIST);
}

TEST_F(CountersTest, AsManyAsThereAreRows)
{
	std::vector<std::string> names;
	std::vector<struct slab_counter> many;

	for (unsigned i = 0; i <= SLAB_COUNTERS_MAX; i++)
		names.push_back("n" + std::to_string(i));
	for (const std::string &name : names)
		many.push_back(counter(name.c_str()));
	EXPECT_EQ(attach(cache, many), -EINVAL);
	many.pop_back();
	ASSERT_EQ(attach(cache, many), 0);
	EXPECT_EQ(read_stat(cache, names[SLAB_COUNTERS_MAX - 1].c_str()), 0);
}

TEST_F(CountersTest, TheWordsOfACacheAreBounded)
{
	std::vector<struct slab_counter> counters = large_counters();
	unsigned all = 0;

	for (const struct slab_counter &one : counters)
		all += one.copies;
	counters.back().copies += SLAB_COUNTERS_WORDS_MAX + 1 - all;
	EXPECT_EQ(attach(cache, counters), -EINVAL);
	counters.back().copies--;
	ASSERT_EQ(attach(cache, counters), 0);
	EXPECT_EQ(read_stat(cache, "a"), COUNTER_COPIES_MAX);
}

TEST_F(CountersTest, WhatIsRefusedChangesNothing)
{
	EXPECT_EQ(attach(cache, {counter("good"), counter("Bad")}), -EINVAL);
	EXPECT_EQ(read_stat(cache, "good"), -ENOENT);
	EXPECT_EQ(slab_cache_attach_counters(cache, nullptr, 1), -EINVAL);
}

TEST_F(CountersTest, SecondOnesAreRefusedUntilTheFirstAreDetached)
{
	ASSERT_EQ(attach(cache, {counter("first")}), 0);
	EXPECT_EQ(attach(cache, {counter("second")}), -EBUSY);
	EXPECT_EQ(read_stat(cache, "first"), 0);
	ASSERT_EQ(slab_cache_attach_counters(cache, nullptr, 0), 0);
	ASSERT_EQ(attach(cache, {counter("second")}), 0);
	EXPECT_EQ(read_stat(cache, "first"), -ENOENT);
	EXPECT_EQ(read_stat(cache, "second"), 0);
}

TEST_F(CountersTest, ACallerOfALaterVersionIsServedUnlessHeNeedsIt)
{
	struct {
		struct slab_counter known;
		std::uint64_t unknown;
	} later[2] = {{counter("first"), 0}, {counter("second", words + 1), 0}};

	words[1] = 5;
	ASSERT_EQ(slab_cache_attach_counters_sized(cache, &later[0].known, 2, sizeof(later[0])), 0);
	EXPECT_EQ(read_stat(cache, "second"), 5);
	ASSERT_EQ(slab_cache_attach_counters(cache, nullptr, 0), 0);
	later[1].unknown = 1;
	EXPECT_EQ(slab_cache_attach_counters_sized(cache, &later[0].known, 2, sizeof(later[0])),
		  -EINVAL);
}

TEST_F(CountersTest, ASizeThatNoVersionHadIsRefused)
{
	const struct slab_counter one = counter("found");

	for (std::size_t size : {std::size_t{0}, std::size_t{4}, sizeof(one) - 8})
		EXPECT_EQ(slab_cache_attach_counters_sized(cache, &one, 1, size), -EINVAL) << size;
}

TEST_F(CountersTest, WithoutMemoryTheCacheIsAsItWas)
{
	/* In a process of its own: no free object is left of an earlier table. */
	if (!running_again()) {
		const second_run run = run_again({});

		EXPECT_EQ(run.failure, "") << run.output;
		return;
	}
	ASSERT_EQ(slab_set_fail("probability=100"), 0);
	EXPECT_EQ(attach(cache, {counter("found")}), -ENOMEM);
	slab_set_fail(nullptr);
	EXPECT_EQ(read_stat(cache, "found"), -ENOENT);
	EXPECT_EQ(attach(cache, {counter("found")}), 0);
}

/* --- merging and destruction ------------------------------------------------------------ */

TEST(CountersMergeTest, ACacheWithCountersIsNotMerged)
{
	test_cache first(48, 0);

	ASSERT_EQ(attach(first, {counter("found")}), 0);
	test_cache second(48, 0);

	EXPECT_NE(static_cast<struct slab_cache *>(first),
		  static_cast<struct slab_cache *>(second));
	EXPECT_EQ(read_stat(second, "found"), -ENOENT);
}

TEST(CountersMergeTest, ACacheThatSharesItsSlabsGetsNone)
{
	test_cache first(56, 0);
	test_cache second(56, 0);

	ASSERT_EQ(static_cast<struct slab_cache *>(first),
		  static_cast<struct slab_cache *>(second));
	EXPECT_EQ(attach(first, {counter("found")}), -EBUSY);
}

TEST(CountersDestroyTest, TheyAreGoneWithTheCache)
{
	struct slab_cache *cache = slab_cache_create("brief", 64, nullptr, SLAB_NO_MERGE);

	ASSERT_EQ(attach(cache, {counter("found")}), 0);
	const struct counter_table *table = table_of(cache);

	ASSERT_EQ(slab_cache_destroy(cache), 0);
	EXPECT_EQ(table->count, 0u);
	EXPECT_EQ(read_stat(cache, "found"), -EINVAL);
	EXPECT_EQ(attach(cache, {counter("found")}), -EINVAL);
	EXPECT_EQ(slab_cache_attach_counters(cache, nullptr, 0), -EINVAL);
}

/* So that former tables serve again: see FREE_CACHES_KEPT. */
TEST(CountersDestroyTest, ANewCacheInTheMemoryOfAFormerOneHasNone)
{
	for (unsigned i = 0; i < 2 * FREE_CACHES_KEPT; i++) {
		struct slab_cache *cache = slab_cache_create("brief", 64, nullptr, SLAB_NO_MERGE);

		ASSERT_EQ(read_stat(cache, "found"), -ENOENT) << i;
		ASSERT_EQ(attach(cache, {counter("found")}), 0) << i;
		ASSERT_EQ(slab_cache_destroy(cache), 0);
	}
}

/* The memory of detached words may be unmapped at once, even while a thread reads. They
 * are on pages of their own, so that reading takes long. */
TEST_F(CountersTest, DetachedWordsAreNotRead)
{
	constexpr std::size_t page = 4096, pages = 512;
	std::atomic<bool> stop{false};
	std::atomic<unsigned> found{0};
	std::thread reader([&] {
		while (!stop)
			found += read_stat(cache, "mapped") == 0;
	});
	struct slab_counter mapped = counter("mapped");

	mapped.copies = pages;
	mapped.stride = page;
	for (unsigned i = 0; i < 500 || found < 20; i++) {
		void *memory = mmap(nullptr, pages * page, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		ASSERT_NE(memory, MAP_FAILED);
		mapped.value = static_cast<std::uint64_t *>(memory);
		EXPECT_EQ(attach(cache, {mapped}), 0);
		if (i % 2)
			std::this_thread::yield();
		EXPECT_EQ(slab_cache_attach_counters(cache, nullptr, 0), 0);
		munmap(memory, pages * page);
	}
	stop = true;
	reader.join();
}

/* In the child of a fork that came while threads read and attach, no thread holds the lock. */
TEST_F(CountersTest, ForksMayComeWhileOthersReadAndAttach)
{
	std::vector<std::uint64_t> many(COUNTER_COPIES_MAX);
	struct slab_counter striped = counter("striped", many.data());
	test_cache other(64);
	std::atomic<bool> stop{false};
	std::string failure;

	striped.copies = COUNTER_COPIES_MAX;
	striped.stride = sizeof(many[0]);
	ASSERT_EQ(attach(cache, {striped}), 0);
	std::thread reader([&] {
		while (!stop)
			read_stat(cache, "striped");
	});
	std::thread attacher([&] {
		while (!stop) {
			slab_cache_attach_counters(other, &striped, 1);
			slab_cache_attach_counters(other, nullptr, 0);
		}
	});

	for (unsigned i = 0; i < 50 && failure.empty(); i++) {
		const pid_t child = fork();

		if (child == 0) {
			alarm(20);
			_exit(read_stat(cache, "striped") ||
			      slab_cache_attach_counters(cache, nullptr, 0) ||
			      slab_cache_attach_counters(cache, &striped, 1));
		}
		failure = child_failure(child);
	}
	stop = true;
	reader.join();
	attacher.join();
	EXPECT_EQ(failure, "");
	slab_cache_attach_counters(cache, nullptr, 0);
}

TEST_F(CountersTest, AfterAForkEachProcessHasItsOwnNumbers)
{
	ASSERT_EQ(attach(cache, {counter("found")}), 0);
	words[0] = 5;
	EXPECT_EQ(run_in_child([&] {
			  words[0] += 2;
			  return read_stat(cache, "found") == 7 ? 0 : 1;
		  }),
		  "");
	EXPECT_EQ(read_stat(cache, "found"), 5);
}

} /* namespace */
