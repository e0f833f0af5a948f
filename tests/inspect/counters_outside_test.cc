/* SPDX-License-Identifier: MIT */
/* Attached counters as they are read from outside, whatever stands in memory and changes
 * meanwhile. */
#include <memory>

#include <sys/mman.h>

#include "../support/attached.h"

extern "C" {
#include "inspect/counters.h"
}

using namespace slab_test;

namespace
{

TEST_F(CountersTest, FromOutsideWordsThatAreGoneAreLeftOut)
{
	/* Where the kernel puts no mapping unasked, another thread's for instance. */
	void *page = mmap(reinterpret_cast<void *>(0x10000000), 4096, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	ASSERT_NE(page, MAP_FAILED);
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

TEST_F(CountersTest, FromOutsideATableThatChangedMeanwhileIsReadAgain)
{
	unsigned times = 0;
	struct meanwhile meanwhile = {words, [&] {
					      if (times++)
						      return;
					      slab_cache_attach_counters(cache, nullptr, 0);
					      attach(cache, {counter("second", words + 1)});
				      }};

	words[1] = 2;
	ASSERT_EQ(attach(cache, {counter("first")}), 0);
	EXPECT_EQ(
		counters_in(stats_from_outside(&meanwhile), cache.name()),
		"\"counters\":[{\"name\":\"second\",\"kind\":\"events\",\"value\":2,\"help\":\"\"}]");
}

TEST_F(CountersTest, FromOutsideHelpEndsWhereItsPlaceDoes)
{
	const std::string longest(SLAB_COUNTER_HELP_MAX, 'h');

	ASSERT_EQ(attach(cache, {counter("found")}), 0);
	std::memset(table_of(cache)->row[0].help, 'h', sizeof(table_of(cache)->row[0].help));
	EXPECT_NE(from_outside(cache.name()).find("\"help\":\"" + longest + "\"}"),
		  std::string::npos);
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
TEST_F(CountersTest, FromOutsideABoundedNumberOfWordsIsRead)
{
	std::vector<struct slab_counter> counters = large_counters();
	std::vector<std::unique_ptr<test_cache>> caches;
	unsigned large = 0, small = 0;

	counters.push_back(counter("small"));
	for (unsigned i = 0; i < 50; i++) {
		caches.push_back(std::make_unique<test_cache>(64));
		ASSERT_EQ(attach(*caches.back(), counters), 0);
	}
	const std::string text = stats_from_outside();

	for (const auto &one : caches) {
		const std::string shown = counters_in(text, one->name());

		large += shown.find("\"name\":\"a\"") != std::string::npos;
		small += shown.find("\"name\":\"small\"") != std::string::npos;
	}
	EXPECT_GE(large, 15u) << "of those that fit";
	EXPECT_LT(large, caches.size());
	EXPECT_EQ(small, caches.size()) << "large ones do not hide them";
}

TEST_F(CountersTest, FromOutsideWordsOfATableThatChangedDoNotCount)
{
	const std::vector<struct slab_counter> counters = large_counters();
	unsigned changes = 0;
	struct meanwhile meanwhile = {counters[0].value, [&] {
					      if (changes++ >= 15)
						      return;
					      slab_cache_attach_counters(cache, nullptr, 0);
					      attach(cache, counters);
				      }};

	ASSERT_EQ(attach(cache, counters), 0);
	const std::string shown = counters_in(stats_from_outside(&meanwhile), cache.name());

	EXPECT_GE(changes, 15u);
	for (const struct slab_counter &one : counters)
		EXPECT_NE(shown.find("\"name\":\"" + std::string(one.name) + "\""),
			  std::string::npos)
			<< one.name;
}

} /* namespace */
