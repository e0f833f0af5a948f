/* SPDX-License-Identifier: MIT */
/*
 * The environment: every variable, every kind of bad value, the defaults, and
 * that docs/environment.md says the same as the table.
 */
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "../support/process.h"

extern "C" {
#include "options.h"
}

using namespace slab_test;

namespace
{

/* What the functions handed to slab_options_parse() work on. */
std::map<std::string, std::string> environment;
std::vector<std::string> complaints;

char *get(const char *name)
{
	const auto found = environment.find(name);

	return found == environment.end() ? nullptr : const_cast<char *>(found->second.c_str());
}

void complain(const char *sentence)
{
	complaints.push_back(sentence);
}

struct slab_options parse(const std::map<std::string, std::string> &settings)
{
	struct slab_options options;

	environment = settings;
	complaints.clear();
	const int count = slab_options_parse(&options, get, complain);

	EXPECT_EQ(static_cast<std::size_t>(count), complaints.size());
	return options;
}

/* The one complaint about a value; "" when it is accepted. */
std::string complaint(const std::string &name, const std::string &value)
{
	parse({{name, value}});
	EXPECT_LE(complaints.size(), 1U);
	return complaints.empty() ? "" : complaints[0];
}

TEST(OptionsTest, Defaults)
{
	const struct slab_options options = parse({});

	EXPECT_EQ(options.engine, static_cast<unsigned>(SLAB_ENGINE_AUTO));
	EXPECT_EQ(options.merge, 1U);
	EXPECT_EQ(options.control, 1U);
	EXPECT_EQ(options.fake_nodes, 0U);
	EXPECT_EQ(options.debug_abort, 0U);
	EXPECT_FALSE(options.fail.set);
	EXPECT_STREQ(options.runtime_dir, "");
	EXPECT_STREQ(options.log, "");
	EXPECT_TRUE(complaints.empty());
}

TEST(OptionsTest, EveryVariableIsRead)
{
	const struct slab_options options = parse({{"SLAB_ENGINE", "mutex"},
						   {"SLAB_MERGE", "off"},
						   {"SLAB_FAKE_NODES", "64"},
						   {"SLAB_CONTROL", "off"},
						   {"SLAB_RUNTIME_DIR", "/run/here"},
						   {"SLAB_LOG", "log.txt"},
						   {"SLAB_DEBUG_ABORT", "1"},
						   {"SLAB_FAIL", "times=3"}});

	EXPECT_EQ(options.engine, static_cast<unsigned>(SLAB_ENGINE_MUTEX));
	EXPECT_EQ(options.merge, 0U);
	EXPECT_EQ(options.control, 0U);
	EXPECT_EQ(options.fake_nodes, 64U);
	EXPECT_EQ(options.debug_abort, 1U);
	EXPECT_TRUE(options.fail.set);
	EXPECT_STREQ(options.runtime_dir, "/run/here");
	EXPECT_STREQ(options.log, "log.txt");
	EXPECT_TRUE(complaints.empty());
}

TEST(OptionsTest, AnUnknownValueGetsOneSentenceAndTheDefault)
{
	EXPECT_EQ(
		complaint("SLAB_ENGINE", "fast"),
		"SLAB_ENGINE=fast is not known; accepted: auto, rseq, cmpxchg16b, mutex; using auto");
	EXPECT_EQ(complaint("SLAB_MERGE", "yes"),
		  "SLAB_MERGE=yes is not known; accepted: on, off; using on");
	EXPECT_EQ(parse({{"SLAB_ENGINE", "fast"}}).engine, static_cast<unsigned>(SLAB_ENGINE_AUTO));
	EXPECT_EQ(parse({{"SLAB_CONTROL", "OFF"}}).control, 1U);
	for (const char *name : {"SLAB_ENGINE", "SLAB_MERGE", "SLAB_FAKE_NODES", "SLAB_CONTROL",
				 "SLAB_RUNTIME_DIR", "SLAB_DEBUG_ABORT", "SLAB_FAIL"})
		EXPECT_EQ(complaint(name, "?").compare(0, std::strlen(name), name), 0) << name;
}

TEST(OptionsTest, AnEmptyValueIsNoValue)
{
	for (unsigned i = 0; slab_option_info(i); i++)
		EXPECT_EQ(complaint(slab_option_info(i)->name, ""), "");
}

TEST(OptionsTest, NodesAreANumberFrom1To64)
{
	EXPECT_EQ(parse({{"SLAB_FAKE_NODES", "1"}}).fake_nodes, 1U);
	for (const char *value : {"0", "65", "-1", "+2", "2x", " 2", "0x2", "99999999999999999999"})
		EXPECT_NE(complaint("SLAB_FAKE_NODES", value), "") << value;
}

TEST(OptionsTest, RuntimeDirectoryIsAbsoluteAndShort)
{
	EXPECT_EQ(complaint("SLAB_RUNTIME_DIR", "/" + std::string(79, 'x')), "");
	EXPECT_NE(complaint("SLAB_RUNTIME_DIR", "/" + std::string(80, 'x')), "");
	EXPECT_NE(complaint("SLAB_RUNTIME_DIR", "here"), "");
	EXPECT_NE(complaint("SLAB_LOG", std::string(5000, 'x')), "");
}

TEST(OptionsTest, FaultInjection)
{
	const struct slab_fail some = parse({{"SLAB_FAIL", "interval=10"}}).fail;
	const struct slab_fail all =
		parse({{"SLAB_FAIL", "probability=50,times=-1,interval=2"}}).fail;

	EXPECT_TRUE(some.set);
	EXPECT_EQ(some.interval, 10U);
	EXPECT_EQ(some.probability, 100U);
	EXPECT_EQ(some.times, -1);
	EXPECT_EQ(all.interval, 2U);
	EXPECT_EQ(all.probability, 50U);
	EXPECT_EQ(all.times, -1);
	for (const char *value :
	     {"1", "interval", "interval=", "interval=0", "probability=101", "times=-2", "times=3,",
	      ",times=3", "times=3;interval=2", "space=1"}) {
		EXPECT_NE(complaint("SLAB_FAIL", value), "") << value;
		EXPECT_FALSE(parse({{"SLAB_FAIL", value}}).fail.set) << value;
	}
}

TEST(OptionsTest, AComplaintStaysOneShortLine)
{
	const std::string said = complaint("SLAB_ENGINE", "a\nb\033" + std::string(10000, 'x'));

	EXPECT_EQ(said.find('\n'), std::string::npos);
	EXPECT_EQ(said.find('\033'), std::string::npos);
	EXPECT_EQ(said.compare(0, 17, "SLAB_ENGINE=a?b?x"), 0);
	EXPECT_NE(said.find("xxx... is not known"), std::string::npos);
	EXPECT_LT(said.size(), 300U);
}

TEST(OptionsTest, TheProcessReadsItsEnvironmentOnce)
{
	if (running_again()) {
		std::vector<std::thread> threads;

		for (int i = 0; i < 8; i++)
			threads.emplace_back([] { EXPECT_EQ(slab_options()->merge, 1U); });
		for (std::thread &thread : threads)
			thread.join();
		setenv("SLAB_FAKE_NODES", "7", 1);
		EXPECT_EQ(slab_options()->fake_nodes, 3U);
		return;
	}
	const second_run run = run_again({"SLAB_MERGE=perhaps", "SLAB_FAKE_NODES=3"});
	const std::string line = "libslab: SLAB_MERGE=perhaps is not known; accepted: on, off; "
				 "using on\n";
	const std::size_t first = run.output.find(line);

	EXPECT_EQ(run.failure, "");
	ASSERT_NE(first, std::string::npos) << run.output;
	EXPECT_EQ(run.output.find("libslab:", first + 1), std::string::npos);
}

/* The rows of the documentation are these rows. */
TEST(OptionsTest, TheDocumentationHasTheTable)
{
	const std::string file = __FILE__;
	std::ifstream stream(file.substr(0, file.rfind("/tests/")) + "/docs/environment.md");
	std::stringstream text;

	if (!stream)
		GTEST_SKIP() << "the sources are not at " << file;
	text << stream.rdbuf();
	for (unsigned i = 0; slab_option_info(i); i++) {
		const struct slab_option_info *row = slab_option_info(i);
		const std::string line = std::string("| `") + row->name + "` | " + row->accepted +
					 " | " + row->fallback + " | " + row->help + " |\n";

		EXPECT_NE(text.str().find(line), std::string::npos) << line;
	}
}

} /* namespace */
