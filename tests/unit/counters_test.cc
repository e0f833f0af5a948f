/* SPDX-License-Identifier: MIT */
/*
 * Numbers of the program's own that are attached to a cache: what is refused, that they
 * are sums over words of the program, found by name and in answers, until they are
 * detached; and that nobody who reads them is led astray, whatever stands in memory.
 */
#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <slab/debug.h>
#include <slab/inspect.h>
#include <slab/stats.h>

#include "../support/objects.h"
#include "../support/process.h"
#include "../support/whitebox.h"

#define _Static_assert static_assert
extern "C" {
#include "counters.h"
#include "root.h"
}
#undef _Static_assert

using namespace slab_test;

namespace
{

std::uint64_t words[8];

struct slab_counter counter(const char *name, const std::uint64_t *value = words,
			    enum slab_counter_kind kind = SLAB_COUNTER_EVENTS)
{
	struct slab_counter made = {};

	made.name = name;
	made.value = value;
	made.kind = kind;
	return made;
}

int attach(struct slab_cache *cache, const std::vector<struct slab_counter> &counters)
{
	return slab_cache_attach_counters(cache, counters.data(),
					  static_cast<unsigned>(counters.size()));
}

/* -errno where there is none. */
std::int64_t read_stat(struct slab_cache *cache, const char *name)
{
	std::uint64_t value = 0;
	const int error = slab_stat_read(cache, name, &value);

	return error ? error : static_cast<std::int64_t>(value);
}

/* --- through a reader ------------------------------------------------------------------ */

int read_piece(std::uint64_t address, std::size_t size, char *to)
{
	const struct iovec local = {to, size};
	const struct iovec remote = {reinterpret_cast<void *>(address), size};

	return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == static_cast<ssize_t>(size)
		       ? 0
		       : -EFAULT;
}

int read_pieces(void *, std::uint64_t address, std::size_t size, std::size_t stride,
		std::size_t count, void *to)
{
	char *at = static_cast<char *>(to);
	int error = 0;

	if (stride == size)
		return read_piece(address, size * count, at);
	for (std::size_t i = 0; i < count && !error; i++)
		error = read_piece(address + i * stride, size, at + i * size);
	return error;
}

std::string stats_from_outside()
{
	struct slab_reader reader = {};
	struct slab_answer answer;

	reader.struct_size = sizeof(reader);
	reader.read = read_pieces;
	EXPECT_EQ(slab_inspect(&reader, reinterpret_cast<std::uint64_t>(&slab_root), "stats",
			       &answer),
		  0);
	const std::string text = answer.text ? answer.text : "";

	slab_answer_free(&answer);
	return text;
}

/* What a process that looks at our memory is told of the counters of this cache. */
std::string counters_in(const std::string &text, const std::string &cache)
{
	const std::size_t at = text.find("\"counters\":", text.find("\"name\":\"" + cache + "\""));

	return at == std::string::npos ? "" : text.substr(at, text.find(']', at) + 1 - at);
}

std::string from_outside(const std::string &cache)
{
	return counters_in(stats_from_outside(), cache);
}

struct counter_table *table_of(struct slab_cache *cache)
{
	return cache->counters;
}

/* --- what is shown --------------------------------------------------------------------- */

class CountersTest : public testing::Test
{
protected:
	CountersTest()
	{
		std::memset(words, 0, sizeof(words));
	}

	test_cache cache{64};
};

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

TEST_F(CountersTest, AnswersTellAllThatIsKnownOfThem)
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

TEST_F(CountersTest, WhatIsSaidOfThemIsCopied)
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

TEST_F(CountersTest, WithoutMemoryTheCacheIsAsItWas)
{
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

/* What detached words stood in may be unmapped at once, whoever reads. */
TEST_F(CountersTest, NobodyReadsWordsThatWereDetached)
{
	std::atomic<bool> stop{false};
	std::atomic<unsigned> reads{0};
	std::thread reader([&] {
		while (!stop) {
			read_stat(cache, "mapped");
			reads++;
		}
	});

	for (unsigned i = 0; i < 2000 || reads < 2000; i++) {
		void *page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		ASSERT_NE(page, MAP_FAILED);
		EXPECT_EQ(attach(cache, {counter("mapped", static_cast<std::uint64_t *>(page))}),
			  0);
		EXPECT_EQ(slab_cache_attach_counters(cache, nullptr, 0), 0);
		munmap(page, 4096);
	}
	stop = true;
	reader.join();
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

/* --- read from outside ------------------------------------------------------------------- */

TEST_F(CountersTest, FromOutsideWordsThatAreGoneAreLeftOut)
{
	void *page =
		mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ASSERT_EQ(attach(cache, {counter("gone", static_cast<std::uint64_t *>(page)),
				 counter("found", words + 1)}),
		  0);
	munmap(page, 4096);
	EXPECT_EQ(
		from_outside(cache.name()),
		"\"counters\":[{\"name\":\"found\",\"kind\":\"events\",\"value\":0,\"help\":\"\"}]");
	EXPECT_EQ(slab_cache_attach_counters(cache, nullptr, 0), 0);
}

TEST_F(CountersTest, FromOutsideATableThatIsBeingChangedHasNone)
{
	ASSERT_EQ(attach(cache, {counter("found")}), 0);
	table_of(cache)->changes++;
	EXPECT_EQ(from_outside(cache.name()), "\"counters\":[]");
	table_of(cache)->changes++;
	EXPECT_NE(from_outside(cache.name()), "\"counters\":[]");
}

/* A row that cannot have been written is left out, and those around it stay. */
TEST_F(CountersTest, FromOutsideRowsThatMakeNoSenseAreLeftOut)
{
	const struct counter_row good = [&] {
		EXPECT_EQ(attach(cache, {counter("before"), counter("odd"), counter("behind")}), 0);
		return table_of(cache)->row[1];
	}();
	struct counter_row *row = &table_of(cache)->row[1];
	const std::string left =
		"\"counters\":[{\"name\":\"before\",\"kind\":\"events\",\"value\":0,\"help\":\"\"},"
		"{\"name\":\"behind\",\"kind\":\"events\",\"value\":0,\"help\":\"\"}]";
	const std::vector<void (*)(struct counter_row *)> damages = {
		[](struct counter_row *odd) { odd->kind = 3; },
		[](struct counter_row *odd) { odd->copies = 0; },
		[](struct counter_row *odd) { odd->copies = UINT32_MAX; },
		[](struct counter_row *odd) { odd->value = 0; },
		[](struct counter_row *odd) { odd->value |= 1; },
		[](struct counter_row *odd) { odd->value = UINT64_MAX - 7; },
		[](struct counter_row *odd) { odd->value = 8; },
		[](struct counter_row *odd) {
			odd->copies = 2;
			odd->stride = UINT64_MAX - 7;
		},
		[](struct counter_row *odd) { odd->name[0] = '\0'; },
		[](struct counter_row *odd) { odd->name[1] = '"'; },
		[](struct counter_row *odd) { std::memset(odd->name, 'n', sizeof(odd->name)); },
	};

	for (std::size_t i = 0; i < damages.size(); i++) {
		damages[i](row);
		EXPECT_EQ(from_outside(cache.name()), left) << i;
		*row = good;
	}
	std::memset(row->help, '\xff', sizeof(row->help));
	EXPECT_NE(from_outside(cache.name()).find("odd"), std::string::npos);
	*row = good;
	table_of(cache)->count = SLAB_COUNTERS_MAX + 1;
	EXPECT_EQ(from_outside(cache.name()), "\"counters\":[]");
	table_of(cache)->count = 3;
}

/* Many caches can claim many words each: an answer comes nevertheless, and soon. */
TEST_F(CountersTest, FromOutsideOnlySoManyWordsAreRead)
{
	std::vector<std::uint64_t> many(COUNTER_COPIES_MAX);
	std::vector<std::string> names;
	std::vector<struct slab_counter> counters;
	std::vector<std::unique_ptr<test_cache>> caches;
	unsigned shown = 0;

	for (unsigned i = 0; i < SLAB_COUNTERS_MAX; i++)
		names.push_back("n" + std::to_string(i));
	for (const std::string &name : names) {
		counters.push_back(counter(name.c_str(), many.data()));
		counters.back().copies = COUNTER_COPIES_MAX;
		counters.back().stride = sizeof(many[0]);
	}
	for (unsigned i = 0; i < 10; i++) {
		caches.push_back(std::make_unique<test_cache>(64));
		ASSERT_EQ(attach(*caches.back(), counters), 0);
	}
	const std::string text = stats_from_outside();

	for (const auto &one : caches)
		shown += counters_in(text, one->name()) != "\"counters\":[]";
	EXPECT_GT(shown, 2u);
	EXPECT_LT(shown, caches.size());
	caches.clear();
}

} /* namespace */
