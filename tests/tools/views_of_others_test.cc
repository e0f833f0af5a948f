/* SPDX-License-Identifier: MIT */
/* The views of slabinfo on processes with one node, no caches, or an older library. */
#include "views.h"

namespace
{

TEST(ViewsOfOthersTest, AProcessThatIsOnlyReadHasOneErrorMessage)
{
	runtime_dir dir;
	server process;
	const std::string pid = std::to_string(process.pid());

	for (const char *action : {"-s", "-d", "--sample=1", "--mark", "--reset", "--trim"}) {
		const result got = slabinfo({"--memory", "-p", pid, action});

		EXPECT_EQ(got.status, 2) << action;
		EXPECT_EQ(got.out, "") << action;
		EXPECT_EQ(got.err, "slabinfo: process " + pid +
					   " (control_server) is read from its memory; it cannot "
					   "be changed that way\n")
			<< action;
	}
}

/* --- one node, none, and nothing ------------------------------------------------------------ */

TEST(ViewsOfOthersTest, OneNodeHasNoColumns)
{
	runtime_dir dir;
	constant_process process(dir, "{\"slab\":2,\"ok\":true,\"process\":{\"nodes\":1},"
				      "\"caches\":[{\"name\":\"a\",\"slabs\":1,"
				      "\"nodes\":[{\"slabs\":1}]}]}\n");

	EXPECT_EQ(slabinfo({"-n"}).out, "No NUMA information available.\n");
	EXPECT_FALSE(contains(slabinfo({"-r"}).out, "NUMA"));
}

/* Slabs are put on lists by more than frees. */
TEST(ViewsOfOthersTest, WhatIsMoreThanAllHasNoPercentage)
{
	runtime_dir dir;
	constant_process process(dir, "{\"slab\":2,\"ok\":true,\"caches\":[{\"name\":\"a\","
				      "\"counted\":1000,\"counted_us\":5000,\"events\":{"
				      "\"free_slowpath\":4,\"free_flush\":9,"
				      "\"free_slab\":1}}]}\n");
	const std::string report = slabinfo({"-r"}).out;

	EXPECT_TRUE(contains(report, "\nRefill/Flush                0        9   0   -\n"))
		<< report;
	EXPECT_TRUE(contains(report, "\nPage Alloc                  0        1   0  25\n"))
		<< report;
	EXPECT_TRUE(contains(report, "(1000 counted in 5.0 ms)\n")) << report;
}

TEST(ViewsOfOthersTest, MemoryThatComesBackIsReported)
{
	runtime_dir dir;
	constant_process process(dir, "{\"slab\":2,\"ok\":true,\"caches\":[{\"name\":\"a\","
				      "\"rcu_pending\":12,\"rcu_freed\":4000,\"rcu_helped\":3,"
				      "\"limit_hits\":7,\"reserve\":8,\"reserve_left\":6,"
				      "\"reclaims\":2,\"reclaimed\":300,\"moved\":90}]}\n");

	EXPECT_TRUE(contains(slabinfo({"-r"}).out,
			     "\nMemory\n"
			     "--------------------------------------------------\n"
			     "Grace periods        4000 objects have waited for one, 12 wait\n"
			     "Held up                 3 frees, because too much waited\n"
			     "Limit                   7 allocations failed because of a limit\n"
			     "Reserve                 8 objects, of which 6 are there\n"
			     "Reclaim               300 objects given up, in 2 calls\n"
			     "Moved                  90 objects to denser slabs\n"));
}

TEST(ViewsOfOthersTest, CachesWithoutSuchMemoryAreSilentAboutIt)
{
	runtime_dir dir;
	constant_process process(dir, "{\"slab\":2,\"ok\":true,\"caches\":[{\"name\":\"a\"}]}\n");

	EXPECT_FALSE(contains(slabinfo({"-r"}).out, "\nMemory\n----"));
}

TEST(ViewsOfOthersTest, NumbersThatAnOlderLibraryDoesNotSendAreZero)
{
	runtime_dir dir;
	constant_process process(dir, "{\"slab\":2,\"ok\":true,\"caches\":[{\"name\":\"a\"}]}\n");

	EXPECT_EQ(slabinfo({"-X"}).status, 0);
	EXPECT_EQ(slabinfo({"-D", "-z"}).out,
		  "Name                   Objects      Alloc       Free\n"
		  "a                            0          0          0\n");
	EXPECT_TRUE(contains(slabinfo({"-r"}).out, "Limit: Off\n"));
	EXPECT_FALSE(contains(slabinfo({"-r"}).out, "in a second"));
}

const char two_names[] = "{\"slab\":2,\"ok\":true,\"caches\":[{\"name\":\"size-64\",\"slabs\":1},"
			 "{\"name\":\"size-640\",\"slabs\":1}]}\n";

TEST(ViewsOfOthersTest, TheNameOfACacheMeansItAlone)
{
	runtime_dir dir;
	constant_process process(dir, two_names);

	for (const char *view : {"-l", "-r", "-D", "--json", "--openmetrics"}) {
		const std::string out = slabinfo({view, "size-64"}).out;

		EXPECT_TRUE(contains(out, "size-64")) << view;
		EXPECT_FALSE(contains(out, "size-640")) << view;
	}
	EXPECT_TRUE(contains(slabinfo({"-l", "SIZE-64"}).out, "size-640"));
}

TEST(ViewsOfOthersTest, ActionsOnTheNameOfACacheChangeItAlone)
{
	runtime_dir dir;
	constant_process process(dir, two_names);

	for (const char *action : {"-da", "-s", "-v", "--sample=100", "--reset"}) {
		slabinfo({action, "size-64"});
		const std::vector<std::string> requests = process.requests();

		ASSERT_EQ(requests.size(), 1U) << action;
		EXPECT_EQ(requests[0].substr(requests[0].rfind(' ')), " size-64") << action;
	}
}

TEST(ViewsOfOthersTest, NoCachesAreNoError)
{
	runtime_dir dir;
	constant_process process(dir, "{\"slab\":2,\"ok\":true,\"caches\":[]}\n");

	for (const char *view : {"-l", "-T", "-X", "-n", "-r", "-D", "--json"}) {
		const result got = slabinfo({view});

		EXPECT_EQ(got.status, 0) << view;
		EXPECT_EQ(got.err, "") << view;
	}
	EXPECT_EQ(slabinfo({"-T"}).out, "No objects\n");
}

} /* namespace */
