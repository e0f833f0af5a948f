/* SPDX-License-Identifier: MIT */
/* Tuning a process from outside: slabinfo --set, --reset and --trim. */
#include "../support/looks.h"
#include "../support/server.h"

namespace
{

class SlabinfoTuneTest : public testing::Test
{
protected:
	/* As messages name the process. */
	std::string name() const { return std::to_string(process.pid()) + " (control_server)"; }

	runtime_dir dir;
	server process;
};

TEST_F(SlabinfoTuneTest, Sets)
{
	const result got = slabinfo({"--set", "entry.min_partial=10"});

	EXPECT_EQ(got.out, "entry                 min_partial 2 -> 10\n");
	EXPECT_EQ(got.err, "");
	EXPECT_EQ(got.status, 0);
}

TEST_F(SlabinfoTuneTest, TakesLimitsInPowersOf1024)
{
	EXPECT_EQ(slabinfo({"--set=entry.limit=64M"}).out,
		  "entry                 limit 0 -> 67108864\n");
	EXPECT_EQ(slabinfo({"--set=entry.limit=1g"}).out,
		  "entry                 limit 67108864 -> 1073741824\n");
	EXPECT_EQ(slabinfo({"--set=entry.limit=512K"}).out,
		  "entry                 limit 1073741824 -> 524288\n");
	EXPECT_EQ(slabinfo({"--set=entry.limit=1MiB"}).out,
		  "entry                 limit 524288 -> 1048576\n");
	EXPECT_EQ(slabinfo({"--set=entry.limit=64kib"}).out,
		  "entry                 limit 1048576 -> 65536\n");
	EXPECT_EQ(slabinfo({"--set=entry.limit=0"}).out,
		  "entry                 limit 65536 -> 0\n");
}

TEST_F(SlabinfoTuneTest, EachWrongSettingHasItsMessage)
{
	const std::vector<std::pair<std::string, std::string>> wrong = {
		{"entry", "\"entry\" does not say what to set; --set takes CACHE.ATTRIBUTE=VALUE"},
		{"entry=5",
		 "\"entry=5\" does not say what to set; --set takes CACHE.ATTRIBUTE=VALUE"},
		{".limit=5",
		 "\".limit=5\" does not say what to set; --set takes CACHE.ATTRIBUTE=VALUE"},
		{"entry.limit=",
		 "\"entry.limit=\" does not say what to set; --set takes CACHE.ATTRIBUTE=VALUE"},
		{"entry. limit=5", "\"entry. limit=5\" does not say what to set; --set takes "
				   "CACHE.ATTRIBUTE=VALUE"},
		{"entry.debug=FZPU", "debug flags are set with -d: slabinfo -dfzpu '^entry$'"},
		{"entry.limit=64X",
		 "\"64X\" is not a value for limit; --set takes a number, and for "
		 "limit also one in K, M, G, KiB, MiB or GiB"},
		{"entry.limit=9999999999G",
		 "\"9999999999G\" is not a value for limit; --set takes a number, and for limit also "
		 "one in K, M, G, KiB, MiB or GiB"},
		{"entry.min_partial=1K",
		 "\"1K\" is not a value for min_partial; --set takes a number, and for limit also one "
		 "in K, M, G, KiB, MiB or GiB"},
		{"entry.limit=1iB", "\"1iB\" is not a value for limit; --set takes a number, and "
				    "for limit also one in K, M, G, KiB, MiB or GiB"},
		{"entry.objects=1",
		 "process " + name() +
			 ": objects can only be read; what can be set: min_partial, "
			 "limit, sample, remote_node_defrag_ratio, and events, to 0"},
		{"entry.min_partial=99999",
		 "process " + name() +
			 ": min_partial cannot be \"99999\"; accepted: 0 to 65535 slabs"},
	};

	for (const auto &[setting, message] : wrong) {
		expect_error({"--set", setting}, message);
	}
}

TEST_F(SlabinfoTuneTest, SetsNoCacheThatIsNotThere)
{
	expect_error({"--set", "nobody.limit=5"},
		     "no cache of process " + name() + " is called \"nobody\"", 1);
	/* The last dot counts: names of caches may have some. */
	EXPECT_TRUE(contains(slabinfo({"--set", "a.b=c.limit=5"}).err, "is called \"a.b=c\""));
}

TEST_F(SlabinfoTuneTest, SetsAndClearsEvents)
{
	EXPECT_EQ(slabinfo({"--set", "first.min_partial=7"}).out,
		  "first                 min_partial 2 -> 7\n");
	EXPECT_TRUE(contains(slabinfo({"--set", "entry.alloc_slab=0"}).out, " -> 0\n"));
}

TEST_F(SlabinfoTuneTest, Resets)
{
	const result one = slabinfo({"--reset", "^entry"}), all = slabinfo({"--reset"}),
		     none = slabinfo({"--reset", "nobody"});

	EXPECT_EQ(one.out, "1 cache is counting events from 0 again\n");
	EXPECT_EQ(one.status, 0);
	EXPECT_EQ(all.out, "4 caches are counting events from 0 again\n");
	json document = query_json(dir.socket(process.pid()), "stats");

	EXPECT_EQ(number(member(find_cache(document.get(), "pblock"), "events"), "alloc_slab"), 0U);
	EXPECT_EQ(none.out, "");
	EXPECT_EQ(none.status, 1);
}

TEST_F(SlabinfoTuneTest, Trims)
{
	slabinfo({"--trim"});

	const result again = slabinfo({"--trim"});

	EXPECT_EQ(again.out, "Process " + name() + " released 0 slabs\n");
	EXPECT_EQ(again.status, 0);
}

} /* namespace */
