/* SPDX-License-Identifier: MIT */
/* slab-exporter: how it starts, refuses to, and ends. */
#include "exporter.h"

#include <string>
#include <vector>

#include <signal.h>

using namespace slab_test;

namespace
{

TEST_F(ExporterTest, EndsBySignals)
{
	for (int number : {SIGTERM, SIGINT}) {
		exporter serving;

		EXPECT_EQ(serving.get().status, 200);
		EXPECT_EQ(serving.end(number), 0);
	}
}

TEST_F(ExporterTest, EndsInTheMiddleOfAScrape)
{
	mute silent(dir);
	exporter serving({"--timeout", "60"});
	tcp_client client(serving.port());

	client.send(request_text("GET", "/metrics"));
	EXPECT_EQ(serving.get("/-/healthy").status, 200);
	EXPECT_EQ(serving.end(SIGTERM), 0);
}

TEST_F(ExporterTest, APortInUseIsReported)
{
	exporter serving;
	const result got = run_tool(SLAB_EXPORTER,
				    {"--listen", "127.0.0.1:" + std::to_string(serving.port())});

	EXPECT_EQ(got.status, 2);
	EXPECT_EQ(got.err, "slab-exporter: cannot listen on 127.0.0.1 port " +
				   std::to_string(serving.port()) + ": Address already in use\n");
}

TEST_F(ExporterTest, WrongOptionsAreReported)
{
	const std::string listen =
		"--listen takes ADDRESS:PORT as in 127.0.0.1:9716 or [::1]:9716, not ";
	const struct {
		std::vector<std::string> words;
		std::string message;
	} cases[] = {
		{{"--listen", "9716"}, listen + "\"9716\""},
		{{"--listen", "127.0.0.1:65536"}, listen + "\"127.0.0.1:65536\""},
		{{"--listen", "127.0.0.1:-1"}, listen + "\"127.0.0.1:-1\""},
		{{"--listen", "::1:9716"}, listen + "\"::1:9716\""},
		{{"--listen", ":9716"}, listen + "\":9716\""},
		{{"--listen"}, "--listen needs a value; --help shows the options"},
		{{"--max-caches", "0"}, "--max-caches takes a number from 1 to 10000, not \"0\""},
		{{"--max-caches", "7x"}, "--max-caches takes a number from 1 to 10000, not \"7x\""},
		{{"--max-processes", "99999999999999999999"},
		 "--max-processes takes a number from 1 to 1000, not \"99999999999999999999\""},
		{{"--timeout", "nan"}, "--timeout takes 0.1 to 60 seconds, not \"nan\""},
		{{"--timeout", "61"}, "--timeout takes 0.1 to 60 seconds, not \"61\""},
		{{"--process", ""}, "--process takes the name of a process, not an empty one"},
		{{"--version=yes"}, "--version takes no value; --help shows the options"},
		{{"--foo"},
		 "there is no option --foo, or more than one that begins so; --help shows the options"},
		{{"-z"}, "there is no option -z; --help shows the options"},
		{{"metrics"}, "takes options only, not \"metrics\"; --help shows them"},
	};

	for (const auto &one : cases) {
		const result got = run_tool(SLAB_EXPORTER, one.words);

		EXPECT_EQ(got.status, 2) << one.words[0];
		EXPECT_EQ(got.err, "slab-exporter: " + one.message + "\n");
		EXPECT_EQ(got.out, "");
	}
}

TEST_F(ExporterTest, HelpAndVersion)
{
	EXPECT_EQ(run_tool(SLAB_EXPORTER, {"--help"}).status, 0);
	EXPECT_TRUE(contains(run_tool(SLAB_EXPORTER, {"-h"}).out, "--max-processes N"));
	EXPECT_TRUE(contains(run_tool(SLAB_EXPORTER, {"--version"}).out, "slab-exporter 0."));
	for (const std::string &line : lines_of(run_tool(SLAB_EXPORTER, {"--help"}).out))
		EXPECT_LE(line.size(), 80U) << line;
}

} /* namespace */
