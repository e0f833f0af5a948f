/* SPDX-License-Identifier: MIT */
/* Tuning a process from outside: set, reset, trim and count over the socket. */
#include "../support/looks.h"
#include "../support/server.h"

namespace
{

class TuneTest : public testing::Test
{
protected:
	std::string request(const std::string &words)
	{
		return answer_of(dir.socket(process.pid()), words);
	}

	std::uint64_t stat(const std::string &name, const std::string &key)
	{
		json document(json_tokener_parse(request("stats").c_str()));

		return number(find_cache(document.get(), name), key);
	}

	std::uint64_t event(const std::string &name, const std::string &key)
	{
		json document(json_tokener_parse(request("stats").c_str()));

		return number(member(find_cache(document.get(), name), "events"), key);
	}

	runtime_dir dir;
	server process;
};

std::string refusal(const std::string &message)
{
	return "{\"slab\":2,\"ok\":false,\"error\":\"" + message + "\"}\n";
}

/* --- set ---------------------------------------------------------------------------- */

TEST_F(TuneTest, SetAnswersBeforeAndAfter)
{
	EXPECT_EQ(request("set min_partial 10 entry"),
		  "{\"slab\":2,\"ok\":true,\"name\":\"entry\",\"attribute\":\"min_partial\","
		  "\"before\":2,\"after\":10}\n");
	EXPECT_EQ(stat("entry", "min_partial"), 10U);
	EXPECT_EQ(stat("pblock", "min_partial"), 2U);
}

TEST_F(TuneTest, ALimitLetsAllocationsFail)
{
	const std::uint64_t slabs = stat("entry", "slabs");

	EXPECT_TRUE(contains(request("set limit 65536 entry"), "\"before\":0,\"after\":65536"));
	EXPECT_EQ(stat("entry", "limit"), 65536U);
	EXPECT_EQ(process.do_task('c'), "0 failed"); /* there are free objects */
	EXPECT_EQ(stat("entry", "slabs"), slabs);
}

TEST_F(TuneTest, WrongSettingsGetOneErrorMessage)
{
	const std::string settable = "what can be set: min_partial, limit, sample, "
				     "remote_node_defrag_ratio, and events, to 0";
	const std::string usage =
		refusal("set needs an attribute, a value, and the name of a cache");

	EXPECT_EQ(request("set"), usage);
	EXPECT_EQ(request("set limit"), usage);
	EXPECT_EQ(request("set limit 5"), usage);
	EXPECT_EQ(request("set objects 5 entry"), refusal("objects can only be read; " + settable));
	EXPECT_EQ(request("set size 5 entry"),
		  refusal("no attribute is called \\\"size\\\"; " + settable));
	EXPECT_EQ(request("set limit 5 nobody"), refusal("no cache is called \\\"nobody\\\""));
	EXPECT_EQ(request("set min_partial 65536 entry"),
		  refusal("min_partial cannot be \\\"65536\\\"; accepted: 0 to 65535 slabs"));
	EXPECT_EQ(request("set min_partial -1 entry"),
		  refusal("min_partial cannot be \\\"-1\\\"; accepted: 0 to 65535 slabs"));
	EXPECT_EQ(request("set limit 64K entry"),
		  refusal("limit cannot be \\\"64K\\\"; accepted: 0 for no limit, or a number "
			  "of bytes, at least one slab"));
	EXPECT_EQ(request("set limit 1 entry"),
		  refusal("limit of this cache cannot be 1; accepted: 0 for no limit, or at "
			  "least " +
			  std::to_string(std::max(16384L, sysconf(_SC_PAGESIZE))) +
			  " bytes, one slab"));
	EXPECT_EQ(stat("entry", "limit"), 0U);
	EXPECT_EQ(request("set alloc_slab 1 entry"),
		  refusal("alloc_slab cannot be \\\"1\\\"; accepted: 0, which clears it"));
	EXPECT_EQ(stat("entry", "min_partial"), 2U);
}

TEST_F(TuneTest, TheProfileAnswersBeforeAndAfter)
{
	EXPECT_EQ(request("profile 512K"),
		  "{\"slab\":2,\"ok\":true,\"before\":0,\"after\":524288}\n");
	EXPECT_EQ(request("profile 0"), "{\"slab\":2,\"ok\":true,\"before\":524288,\"after\":0}\n");
}

/* --- reset, trim ---------------------------------------------------------------------- */

TEST_F(TuneTest, ResetClearsTheEventsOfOneCache)
{
	ASSERT_GT(event("entry", "alloc_slab"), 0U);
	EXPECT_EQ(request("reset entry"), "{\"slab\":2,\"ok\":true,\"name\":\"entry\"}\n");
	for (unsigned i = 0; slab_event_name(i); i++)
		EXPECT_EQ(event("entry", slab_event_name(i)), 0U) << slab_event_name(i);
	EXPECT_GT(event("pblock", "alloc_slab"), 0U);
	EXPECT_EQ(request("reset"), refusal("reset needs the name of a cache"));
	EXPECT_EQ(request("reset nobody"), refusal("no cache is called \\\"nobody\\\""));
}

TEST_F(TuneTest, TrimGivesAllFreeMemoryBack)
{
	process.do_task('l');
	process.do_task('f');
	EXPECT_TRUE(contains(request("trim"), "\"ok\":true,\"slabs\":"));

	json document(json_tokener_parse(request("stats").c_str()));

	EXPECT_EQ(number(member(document.get(), "process"), "cached_bytes"), 0U);
	EXPECT_EQ(number(find_cache(document.get(), "entry"), "objects"), 500U);
	EXPECT_EQ(request("trim"), "{\"slab\":2,\"ok\":true,\"slabs\":0}\n");
	EXPECT_EQ(request("trim entry"),
		  refusal("trim takes no \\\"entry\\\": it is for all caches"));
}

/* --- count ------------------------------------------------------------------------------ */

TEST_F(TuneTest, CountCountsWhatIsAllocatedFromThenOn)
{
	EXPECT_EQ(stat("entry", "counted_us"), 0U);
	EXPECT_EQ(request("count 1000000"), "{\"slab\":2,\"ok\":true,\"counting\":1000000}\n");
	process.do_task('l');
	while (stat("entry", "counted_us") < 950000)
		usleep(20000);
	EXPECT_EQ(stat("entry", "counted"), 100U);
	EXPECT_EQ(stat("pblock", "counted"), 0U);
	EXPECT_GE(stat("pblock", "counted_us"), 900000U);
}

TEST_F(TuneTest, CountEndsAfterItsTime)
{
	EXPECT_EQ(request("count 100000"), "{\"slab\":2,\"ok\":true,\"counting\":100000}\n");
	while (stat("entry", "counted_us") < 50000)
		usleep(20000);
	usleep(200000);
	while (true) {
		const std::uint64_t us = stat("entry", "counted_us");

		usleep(200000);
		if (stat("entry", "counted_us") == us)
			break;
	}
}

TEST_F(TuneTest, CountRefusesOtherTimes)
{
	const std::string accepted = "accepted: 100 to 3600000000 microseconds";

	EXPECT_EQ(request("count"), refusal("\\\"\\\" is not how long to count; " + accepted));
	EXPECT_EQ(request("count 99"), refusal("\\\"99\\\" is not how long to count; " + accepted));
	EXPECT_EQ(request("count 3600000001"),
		  refusal("\\\"3600000001\\\" is not how long to count; " + accepted));
	EXPECT_EQ(request("count 1s"), refusal("\\\"1s\\\" is not how long to count; " + accepted));
}

} /* namespace */
