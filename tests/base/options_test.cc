/* SPDX-License-Identifier: MIT */
/*
 * The environment: every variable, every kind of bad value, the defaults, and
 * that docs/environment.md says the same as the table.
 */
#include <climits>

#include "../support/process.h"
#include "../support/rooms.h"

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

void complain(const char *message)
{
	complaints.push_back(message);
}

struct slab_options parse(const std::map<std::string, std::string> &settings)
{
	static struct slab_option_texts texts;
	struct slab_options options;

	environment = settings;
	complaints.clear();
	const int count = slab_options_parse(&options, &texts, get, complain);

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
	EXPECT_EQ(options.control, static_cast<unsigned>(SLAB_CONTROL_AUTO));
	EXPECT_EQ(options.fake_nodes, 0U);
	EXPECT_EQ(options.debug_abort, 0U);
	EXPECT_EQ(options.leak_check, 0U);
	EXPECT_EQ(options.random, 0U);
	EXPECT_EQ(options.zero_alloc, 0U);
	EXPECT_EQ(options.zero_free, 0U);
	EXPECT_EQ(options.tools, 1U);
	EXPECT_FALSE(options.fail.set);
	EXPECT_STREQ(options.debug, "");
	EXPECT_STREQ(options.sample, "");
	EXPECT_STREQ(options.runtime_dir, "");
	EXPECT_STREQ(options.log, "");
	EXPECT_TRUE(complaints.empty());
}

TEST(OptionsTest, EveryVariableIsRead)
{
	const struct slab_options options = parse({{"SLAB_ENGINE", "mutex"},
						   {"SLAB_TYPES", "apart"},
						   {"SLAB_FAKE_NODES", "64"},
						   {"SLAB_CONTROL", "off"},
						   {"SLAB_RUNTIME_DIR", "/run/here"},
						   {"SLAB_LOG", "log.txt"},
						   {"SLAB_DEBUG_ABORT", "1"},
						   {"SLAB_DEBUG", "FZ,entry"},
						   {"SLAB_LEAK_CHECK", "exit"},
						   {"SLAB_SAMPLE", "entry:100"},
						   {"SLAB_PROFILE", "512k"},
						   {"SLAB_RANDOM", "on"},
						   {"SLAB_ZERO", "both"},
						   {"SLAB_HUGE", "never"},
						   {"SLAB_DECAY_MS", "500"},
						   {"SLAB_TOOLS", "off"},
						   {"SLAB_SYMBOLS", "on"},
						   {"SLAB_FAIL", "times=3"}});

	EXPECT_EQ(options.engine, static_cast<unsigned>(SLAB_ENGINE_MUTEX));
	EXPECT_EQ(options.apart, 1U);
	EXPECT_EQ(options.control, 0U);
	EXPECT_EQ(options.fake_nodes, 64U);
	EXPECT_EQ(options.debug_abort, 1U);
	EXPECT_STREQ(options.debug, "FZ,entry");
	EXPECT_STREQ(options.sample, "entry:100");
	EXPECT_EQ(options.leak_check, 1U);
	EXPECT_EQ(options.profile, 524288U);
	EXPECT_EQ(options.random, 1U);
	EXPECT_EQ(options.zero_alloc, 1U);
	EXPECT_EQ(options.zero_free, 1U);
	EXPECT_EQ(options.huge, static_cast<unsigned>(SLAB_HUGE_NEVER));
	EXPECT_EQ(options.decay_ms, 500);
	EXPECT_EQ(options.tools, 0U);
	EXPECT_EQ(options.symbols, 1U);
	EXPECT_TRUE(options.fail.set);
	EXPECT_STREQ(options.runtime_dir, "/run/here");
	EXPECT_STREQ(options.log, "log.txt");
	EXPECT_TRUE(complaints.empty());
}

TEST(OptionsTest, AnUnknownValueGetsOneErrorMessageAndTheDefault)
{
	EXPECT_EQ(
		complaint("SLAB_ENGINE", "fast"),
		"SLAB_ENGINE=fast is not valid; accepted: auto, rseq, cmpxchg16b, mutex; using auto");
	EXPECT_EQ(complaint("SLAB_RANDOM", "yes"),
		  "SLAB_RANDOM=yes is not valid; accepted: on, off; using off");
	EXPECT_EQ(parse({{"SLAB_ENGINE", "fast"}}).engine, static_cast<unsigned>(SLAB_ENGINE_AUTO));
	EXPECT_EQ(parse({{"SLAB_CONTROL", "OFF"}}).control,
		  static_cast<unsigned>(SLAB_CONTROL_AUTO));
	EXPECT_EQ(parse({{"SLAB_CONTROL", "on"}}).control, static_cast<unsigned>(SLAB_CONTROL_ON));
	for (const char *name :
	     {"SLAB_ENGINE", "SLAB_TYPES", "SLAB_FAKE_NODES", "SLAB_CONTROL", "SLAB_RUNTIME_DIR",
	      "SLAB_DEBUG_ABORT", "SLAB_DEBUG", "SLAB_LEAK_CHECK", "SLAB_SAMPLE", "SLAB_PROFILE",
	      "SLAB_RANDOM", "SLAB_ZERO", "SLAB_HUGE", "SLAB_DECAY_MS", "SLAB_TOOLS",
	      "SLAB_SYMBOLS", "SLAB_FAIL"})
		EXPECT_EQ(complaint(name, "?").compare(0, std::strlen(name), name), 0) << name;
}

TEST(OptionsTest, ControlIsAWordOrTheNumberOfASignal)
{
	EXPECT_EQ(parse({}).control_signal, 0);
	EXPECT_EQ(parse({{"SLAB_CONTROL", "signal:12"}}).control_signal, 12);
	EXPECT_FALSE(parse({{"SLAB_CONTROL", "signal:12"}}).control_is_set);
	EXPECT_TRUE(parse({{"SLAB_CONTROL", "auto"}}).control_is_set);
	for (const char *value : {"signal", "signal:", "signal:0", "signal:65", "signal:USR2",
				  "signal:9", "signal:11", "signal:19", "signal:32", "signal:33"})
		EXPECT_EQ(complaint("SLAB_CONTROL", value),
			  std::string("SLAB_CONTROL=") + value +
				  " is not valid; accepted: auto, on, full, off, signal:N; "
				  "using auto; off with libslab_malloc.so");
}

TEST(OptionsTest, DecayIsANumberOfMillisecondsOrNever)
{
	EXPECT_EQ(parse({}).decay_ms, 10000);
	EXPECT_EQ(parse({{"SLAB_DECAY_MS", "0"}}).decay_ms, 0);
	EXPECT_EQ(parse({{"SLAB_DECAY_MS", "86400000"}}).decay_ms, 86400000);
	EXPECT_EQ(parse({{"SLAB_DECAY_MS", "never"}}).decay_ms, -1);
	for (const char *value :
	     {"-1", "86400001", "99999999999999999999", "10s", "1k", "Never", "1e3", " 5"}) {
		const bool is_number = value[std::strspn(value, "-0123456789")] == '\0';

		EXPECT_EQ(complaint("SLAB_DECAY_MS", value),
			  std::string("SLAB_DECAY_MS=") + value +
				  (is_number ? " is out of range" : " is not valid") +
				  "; accepted: a number of milliseconds from 0 to 86400000, "
				  "never; using 10000");
	}
}

TEST(OptionsTest, ALimitIsBytesInUnits)
{
	const std::string accepted =
		"; accepted: 0 for no limit, or a number of bytes from 16384, "
		"also in K, M, G, KiB, MiB or GiB, or 1% to 100%; using no limit";
	const std::pair<const char *, std::size_t> good[] = {
		{"0", 0},
		{"16384", 16384},
		{"16k", 16384},
		{"65536", 65536},
		{"64k", 65536},
		{"64K", 65536},
		{"64KiB", 65536},
		{"64kib", 65536},
		{"1M", 1 << 20},
		{"1MiB", 1 << 20},
		{"2g", std::size_t{2} << 30},
		{"2GiB", std::size_t{2} << 30},
	};

	for (const auto &[value, bytes] : good) {
		EXPECT_EQ(complaint("SLAB_LIMIT", value), "") << value;
		EXPECT_EQ(parse({{"SLAB_LIMIT", value}}).limit, bytes) << value;
	}
	for (const std::string value : {"1", "16383", "15KiB", "-1", "99999999999G"})
		EXPECT_EQ(complaint("SLAB_LIMIT", value),
			  "SLAB_LIMIT=" + value + " is out of range" + accepted);
	for (const std::string value : {"k", "1T", "64KB", "64Ki", "64 k", "1.5G", "0x10000"})
		EXPECT_EQ(complaint("SLAB_LIMIT", value),
			  "SLAB_LIMIT=" + value + " is not valid" + accepted);
}

TEST(OptionsTest, ALimitMayBeAPartOfTheMachine)
{
	EXPECT_EQ(parse({{"SLAB_LIMIT", "90%"}}).limit_percent, 90u);
	EXPECT_EQ(parse({{"SLAB_LIMIT", "90%"}}).limit, 0u);
	EXPECT_EQ(parse({{"SLAB_SOFT_LIMIT", "100%"}}).soft_percent, 100u);
	EXPECT_EQ(parse({{"SLAB_SOFT_LIMIT", "16m"}}).soft_limit, std::size_t{16} << 20);
	for (const std::string value : {"0%", "101%", "%", "5 %", "-5%", "5%%"})
		EXPECT_NE(complaint("SLAB_LIMIT", value), "") << value;
}

TEST(OptionsTest, APeriodOfTheHeapProfileIsBytesInUnits)
{
	const std::string accepted =
		"; accepted: 0 for off, or a number of bytes, also in K, M, G, "
		"KiB, MiB or GiB; using 0";

	EXPECT_EQ(parse({}).profile, 0U);
	EXPECT_EQ(parse({{"SLAB_PROFILE", "1"}}).profile, 1U);
	EXPECT_EQ(parse({{"SLAB_PROFILE", "1MiB"}}).profile, std::size_t{1} << 20);
	for (const std::string value : {"-1", "99999999999G"})
		EXPECT_EQ(complaint("SLAB_PROFILE", value),
			  "SLAB_PROFILE=" + value + " is out of range" + accepted);
	for (const std::string value : {"on", "512kb", "1.5M"})
		EXPECT_EQ(complaint("SLAB_PROFILE", value),
			  "SLAB_PROFILE=" + value + " is not valid" + accepted);
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

TEST(OptionsTest, ZeroingIsWhenAllocatedOrFreedOrBoth)
{
	const struct {
		const char *value;
		unsigned alloc, free;
	} words[] = {{"off", 0, 0}, {"alloc", 1, 0}, {"free", 0, 1}, {"both", 1, 1}};

	for (const auto &word : words) {
		const struct slab_options options = parse({{"SLAB_ZERO", word.value}});

		EXPECT_EQ(options.zero_alloc, word.alloc) << word.value;
		EXPECT_EQ(options.zero_free, word.free) << word.value;
	}
	for (const char *value : {"on", "1", "alloc,free", "ALLOC", "both "})
		EXPECT_NE(complaint("SLAB_ZERO", value), "") << value;
}

/* What can be made sense of is taken; only a text that is too long is not. */
TEST(OptionsTest, DebugTextIsKeptWholeOrNotAtAll)
{
	const std::string longest = "F," + std::string(SLAB_OPTION_TEXT - 3, '*');

	EXPECT_EQ(complaint("SLAB_DEBUG", longest), "");
	EXPECT_EQ(parse({{"SLAB_DEBUG", longest}}).debug, longest);
	EXPECT_EQ(complaint("SLAB_DEBUG", longest + "*").compare(0, 12, "SLAB_DEBUG=F"), 0);
	EXPECT_STREQ(parse({{"SLAB_DEBUG", longest + "*"}}).debug, "");
	EXPECT_EQ(
		complaint("SLAB_DEBUG", "FX,entry"),
		"SLAB_DEBUG: \"FX\" ignored; accepted are the flags F Z P U T A O and -, in upper or "
		"lower case");
	EXPECT_STREQ(parse({{"SLAB_DEBUG", "FX,entry"}}).debug, "FX,entry");
}

TEST(OptionsTest, SampleTextIsGoodOrNotTakenAtAll)
{
	const std::string longest = std::string(SLAB_OPTION_TEXT - 3, '*') + ":1";

	EXPECT_EQ(parse({{"SLAB_SAMPLE", longest}}).sample, longest);
	EXPECT_NE(complaint("SLAB_SAMPLE", "*" + longest), "");
	EXPECT_EQ(
		complaint("SLAB_SAMPLE", "entry"),
		"SLAB_SAMPLE=entry is not valid; accepted: name:N[,name:N...], at most 4095 bytes; "
		"using no sampling");
	EXPECT_STREQ(parse({{"SLAB_SAMPLE", "entry:1,dn"}}).sample, "");
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
	EXPECT_STREQ(all.names, "");
	EXPECT_STREQ(parse({{"SLAB_FAIL", "cache=dn*,times=1,cache=entry"}}).fail.names,
		     "dn*,entry");
	for (const char *value :
	     {"1", "interval", "interval=", "interval=0", "interval=2147483648", "probability=101",
	      "probability=-1", "times=-2", "times=3,", ",times=3", "times=3,,interval=2",
	      "times=3;interval=2", "times=99999999999999999999", "times=-", "space=1",
	      "cache=", "cache", "cache=an entry", "cache=dn;interval=2"}) {
		EXPECT_NE(complaint("SLAB_FAIL", value), "") << value;
		EXPECT_FALSE(parse({{"SLAB_FAIL", value}}).fail.set) << value;
	}
}

TEST(OptionsTest, FaultInjectionTakesNamesAsLongAsThereIsRoom)
{
	const std::string name(SLAB_MAX_NAME, 'n');
	std::string value = "cache=" + name, names = name;

	while (names.size() + 1 + name.size() < SLAB_FAIL_NAMES) {
		value += ",cache=" + name;
		names += "," + name;
	}
	EXPECT_EQ(parse({{"SLAB_FAIL", value}}).fail.names, names);
	EXPECT_NE(complaint("SLAB_FAIL", value + ",cache=" + name), "");
	EXPECT_NE(complaint("SLAB_FAIL", "cache=" + name + "n"), "");
}

TEST(OptionsTest, NumbersAreDecimalAndWithinTheirLimits)
{
	const struct {
		const char *text;
		long number;
	} good[] = {{"0", 0},
		    {"-1", -1},
		    {"007", 7},
		    {"-0", 0},
		    {"9223372036854775807", LONG_MAX},
		    {"-9223372036854775808", LONG_MIN}};
	long number;

	for (const auto &g : good) {
		number = 77;
		EXPECT_TRUE(option_number(g.text, std::strlen(g.text), LONG_MIN, LONG_MAX, &number))
			<< g.text;
		EXPECT_EQ(number, g.number) << g.text;
	}
	for (const char *text : {"", "-", "+1", " 1", "1 ", "1x", "0x1", "--1", "1-",
				 "9223372036854775808", "-9223372036854775809"}) {
		number = 77;
		EXPECT_FALSE(option_number(text, std::strlen(text), LONG_MIN, LONG_MAX, &number))
			<< text;
		EXPECT_EQ(number, 77) << text;
	}
	EXPECT_TRUE(option_number("12x", 2, 12, 12, &number));
	EXPECT_FALSE(option_number("11", 2, 12, 20, &number));
	EXPECT_FALSE(option_number("21", 2, 12, 20, &number));
}

TEST(OptionsTest, AComplaintStaysOneShortLine)
{
	const std::string message = complaint("SLAB_ENGINE", "a\nb\033" + std::string(10000, 'x'));

	EXPECT_EQ(message.find('\n'), std::string::npos);
	EXPECT_EQ(message.find('\033'), std::string::npos);
	EXPECT_EQ(message.compare(0, 17, "SLAB_ENGINE=a?b?x"), 0);
	EXPECT_NE(message.find("xxx... is not valid"), std::string::npos);
	EXPECT_LT(message.size(), 300U);
}

TEST(OptionsTest, TheProcessReadsItsEnvironmentOnce)
{
	if (running_again()) {
		std::vector<std::thread> threads;

		for (int i = 0; i < 8; i++)
			threads.emplace_back([] { EXPECT_EQ(slab_options()->apart, 0U); });
		join_all(threads);
		setenv("SLAB_FAKE_NODES", "7", 1);
		EXPECT_EQ(slab_options()->fake_nodes, 3U);
		return;
	}
	const second_run run = run_again({"SLAB_TYPES=perhaps", "SLAB_FAKE_NODES=3"});
	const std::string line = "libslab: SLAB_TYPES=perhaps is not valid; accepted: shared, "
				 "apart; using shared\n";
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

	std::size_t documented = 0, rows = 0;

	for (std::string line; std::getline(text, line);)
		documented += line.compare(0, 8, "| `SLAB_") == 0;
	while (slab_option_info(static_cast<unsigned>(rows)))
		rows++;
	EXPECT_EQ(documented, rows);
}

} /* namespace */
