/* SPDX-License-Identifier: MIT */
/*
 * The control socket's commands about debugging, on a live server: debug flags, call
 * sites, marks, sampling with its timer, fault injection.
 */
#include "../support/looks.h"
#include "../support/server.h"

namespace
{

class ControlDebugTest : public testing::Test
{
protected:
	json request(const server &process, const std::string &words) const
	{
		return query_json(socket_of(process), words);
	}

	/* The error message with which a request is refused. */
	std::string refusal(const server &process, const std::string &words) const
	{
		const std::string answer = answer_of(socket_of(process), words);
		json parsed(json_tokener_parse(answer.c_str()));

		EXPECT_FALSE(json_object_get_boolean(member(parsed.get(), "ok"))) << words;
		return text(parsed.get(), "error");
	}

	/* The debug flags of the legacy slabs of "entry". */
	std::string legacy_kinds(const server &process) const
	{
		const json stats = request(process, "stats");
		struct json_object *all = member(find_cache(stats.get(), "entry"), "legacy");
		std::string debug_flags;

		for (std::size_t i = 0; i < json_object_array_length(all); i++) {
			struct json_object *kind = json_object_array_get_idx(all, i);

			EXPECT_GT(number(kind, "slabs"), 0U);
			debug_flags += text(kind, "debug_flags") + " ";
		}
		return debug_flags;
	}

	std::string socket_of(const server &process) const { return dir.socket(process.pid()); }

	runtime_dir dir;
};

/* NULL when there is none. */
struct json_object *first_site(const json &answer)
{
	struct json_object *sites = member(answer.get(), "sites");

	return json_object_array_length(sites) ? json_object_array_get_idx(sites, 0) : nullptr;
}

/* --- the heap profile ---------------------------------------------------------------- */

TEST_F(ControlDebugTest, ProfileAnswersThePeriodsAndTheSites)
{
	server process;
	json off = request(process, "profile"), on = request(process, "profile 1");

	process.do_task('l');
	json sites = request(process, "profile");
	struct json_object *site = first_site(sites);

	EXPECT_EQ(number(off.get(), "period"), 0U);
	EXPECT_FALSE(json_object_get_boolean(member(off.get(), "was_on")));
	EXPECT_EQ(number(on.get(), "before"), 0U);
	EXPECT_EQ(number(on.get(), "after"), 1U);
	EXPECT_EQ(number(sites.get(), "period"), 1U);
	EXPECT_EQ(number(sites.get(), "missed"), 0U);
	ASSERT_NE(site, nullptr);
	EXPECT_EQ(number(site, "size"), 712U);
	EXPECT_EQ(number(site, "period"), 1U);
	EXPECT_EQ(number(site, "allocated"), 100U);
	EXPECT_EQ(number(site, "freed"), 0U);
	EXPECT_GT(json_object_array_length(member(site, "stack")), 1U);
}

/* --- debug flags --------------------------------------------------------------------- */

TEST_F(ControlDebugTest, DebugAnswersTheDebugFlagsBeforeAndAfter)
{
	server process;
	json on = request(process, "debug fz entry");
	json more = request(process, "debug UZFP entry");
	json off = request(process, "debug - entry");

	EXPECT_EQ(text(on.get(), "name"), "entry");
	EXPECT_EQ(text(on.get(), "before"), "-");
	EXPECT_EQ(text(on.get(), "after"), "FZ");
	EXPECT_EQ(text(more.get(), "before"), "FZ");
	EXPECT_EQ(text(more.get(), "after"), "FZPU");
	EXPECT_EQ(text(off.get(), "before"), "FZPU");
	EXPECT_EQ(text(off.get(), "after"), "-");
}

TEST_F(ControlDebugTest, DebugReportsLegacySlabs)
{
	server process;

	EXPECT_GT(number(request(process, "debug fz entry").get(), "legacy_slabs"), 0U);
	EXPECT_EQ(legacy_kinds(process), "- ");
	process.do_task('l');
	request(process, "debug fzu entry");
	EXPECT_EQ(legacy_kinds(process), "- Z ");
	process.do_task('l');
	request(process, "debug - entry");
	EXPECT_EQ(legacy_kinds(process), "Z ZU ");
	process.do_task('f');
	request(process, "debug f entry");
	EXPECT_EQ(legacy_kinds(process), "- Z ");
	process.do_task('l');
	request(process, "debug - entry");
	EXPECT_EQ(legacy_kinds(process), "F Z ");
}

TEST_F(ControlDebugTest, StatsShowTheDebugFlagsAndWhatCameOfThem)
{
	server process;
	const auto entry_of = [](const json &stats) { return find_cache(stats.get(), "entry"); };
	json before = request(process, "stats");

	EXPECT_EQ(text(entry_of(before), "debug_flags"), "-");
	EXPECT_EQ(number(entry_of(before), "errors"), 0U);
	EXPECT_EQ(number(entry_of(before), "debug_slabs"), 0U);
	EXPECT_EQ(number(entry_of(before), "legacy_slabs"), 0U);
	EXPECT_EQ(number(entry_of(before), "sample"), 0U);
	request(process, "debug zp entry");
	process.do_task('l');
	process.do_task('o');
	EXPECT_EQ(number(request(process, "validate entry").get(), "problems"), 1U);
	json after = request(process, "stats");

	EXPECT_EQ(text(entry_of(after), "debug_flags"), "ZP");
	EXPECT_EQ(number(entry_of(after), "errors"), 1U);
	EXPECT_GE(number(entry_of(after), "debug_slabs"), 1U);
	EXPECT_GE(number(entry_of(after), "legacy_slabs"), 1U);
	EXPECT_EQ(json_object_array_length(member(entry_of(after), "legacy")), 1U);
}

/* --- call sites ------------------------------------------------------------------ */

TEST_F(ControlDebugTest, TracesShowStacksAgesAndThreadsOfAllocations)
{
	server process;

	request(process, "debug u entry");
	process.do_task('l');
	json answer = request(process, "traces allocated 0 entry");
	struct json_object *site = first_site(answer);

	EXPECT_TRUE(json_object_get_boolean(member(answer.get(), "tracked")));
	EXPECT_EQ(text(answer.get(), "kind"), "allocated");
	ASSERT_NE(site, nullptr);
	EXPECT_EQ(json_object_array_length(member(answer.get(), "sites")), 1U);
	EXPECT_EQ(number(site, "count"), 100U);
	EXPECT_EQ(number(site, "waste"), 0U);
	EXPECT_EQ(number(site, "tid_min"), static_cast<std::uint64_t>(process.pid()));
	EXPECT_EQ(number(site, "tid_max"), static_cast<std::uint64_t>(process.pid()));
	EXPECT_LE(number(site, "age_min"), number(site, "age_avg"));
	EXPECT_LE(number(site, "age_avg"), number(site, "age_max"));
	EXPECT_EQ(text(site, "cpus").find_first_not_of("0123456789,-"), std::string::npos);
	EXPECT_NE(text(site, "cpus"), "");
	EXPECT_EQ(text(site, "nodes"), "0");
	struct json_object *caller = json_object_array_get_idx(member(site, "stack"), 0);

	EXPECT_EQ(text(caller, "file"), CONTROL_SERVER);
	EXPECT_GT(number(caller, "offset"), 0U);
	EXPECT_GT(number(caller, "address"), number(caller, "offset"));
}

TEST_F(ControlDebugTest, TracesShowStacksOfFrees)
{
	server process;

	request(process, "debug u entry");
	process.do_task('l');
	EXPECT_EQ(first_site(request(process, "traces freed 0 entry")), nullptr);
	process.do_task('f');
	EXPECT_EQ(first_site(request(process, "traces allocated 0 entry")), nullptr);
	json freed = request(process, "traces freed 0 entry");

	ASSERT_NE(first_site(freed), nullptr);
	EXPECT_GT(number(first_site(freed), "count"), 0U);
}

TEST_F(ControlDebugTest, TracesSinceAMarkLeaveOutWhatIsOlder)
{
	server process;

	request(process, "debug u entry");
	process.do_task('l');
	const std::string mark = std::to_string(number(request(process, "mark").get(), "mark"));

	EXPECT_EQ(first_site(request(process, "traces allocated " + mark + " entry")), nullptr);
	process.do_task('l');
	json since = request(process, "traces allocated " + mark + " entry");
	json all = request(process, "traces allocated 0 entry");

	EXPECT_EQ(number(first_site(since), "count"), 100U);
	EXPECT_EQ(number(first_site(all), "count"), 200U);
}

TEST_F(ControlDebugTest, TracesOfACacheWithoutTracking)
{
	server process;
	json answer = request(process, "traces allocated 0 entry");

	EXPECT_FALSE(json_object_get_boolean(member(answer.get(), "tracked")));
	EXPECT_EQ(first_site(answer), nullptr);
}

TEST_F(ControlDebugTest, TheLastMarkIsRemembered)
{
	server process;

	json before = request(process, "stats");
	EXPECT_EQ(number(member(before.get(), "process"), "mark"), 0U);
	const std::uint64_t first = number(request(process, "mark").get(), "mark");
	const std::uint64_t second = number(request(process, "mark").get(), "mark");
	json after = request(process, "stats");
	struct json_object *about = member(after.get(), "process");

	EXPECT_GT(second, first);
	EXPECT_EQ(number(about, "mark"), second);
	EXPECT_GT(number(about, "now"), second);
}

TEST_F(ControlDebugTest, PathsMayHaveAnyCharacters)
{
	const std::string program = dir.path() + "/sörver \"\\ ÿ";
	const std::string copy = "cp " CONTROL_SERVER " '" + program + "'";

	ASSERT_EQ(std::system(copy.c_str()), 0);
	server process("plain", program);

	request(process, "debug u entry");
	process.do_task('l');
	json answer = request(process, "traces allocated 0 entry");
	struct json_object *caller =
		json_object_array_get_idx(member(first_site(answer), "stack"), 0);

	EXPECT_EQ(text(caller, "file"), dir.path() + "/sörver \"\\ ÿ");
}

/* --- sampling and its timer ----------------------------------------------------------- */

TEST_F(ControlDebugTest, SampleAnswersTheIntervalsBeforeAndAfter)
{
	server process;
	json on = request(process, "sample 100 pblock");
	json off = request(process, "sample 0 pblock");

	EXPECT_EQ(number(on.get(), "before"), 0U);
	EXPECT_EQ(number(on.get(), "after"), 100U);
	EXPECT_EQ(number(off.get(), "before"), 100U);
	EXPECT_EQ(number(off.get(), "after"), 0U);
	request(process, "sample 7 entry");
	json stats = request(process, "stats");

	EXPECT_EQ(number(find_cache(stats.get(), "entry"), "sample"), 7U);
	EXPECT_EQ(number(find_cache(stats.get(), "pblock"), "sample"), 0U);
}

unsigned long wakes_in_a_second(const std::string &task)
{
	const auto switches = [&task] {
		return std::stoul(status_line(task, "voluntary_ctxt_switches"));
	};
	const unsigned long before = switches();

	usleep(1000000);
	return switches() - before;
}

/* What was begun may have its thread wake for some seconds yet; ten ticks each second never
 * leave one without. */
bool comes_to_rest(const std::string &task)
{
	for (int second = 0; second < 30; second++)
		if (wakes_in_a_second(task) == 0)
			return true;
	return false;
}

/* How busy the machine may be: ten times are meant. */
bool ticks(const std::string &task)
{
	return wakes_in_a_second(task) >= 3;
}

TEST_F(ControlDebugTest, TheThreadWakesForSamplingAloneAndOnlyWhileItIsOn)
{
	server process;

	request(process, "ping");
	const std::string thread = find_thread(process.pid(), "slab-control");

	ASSERT_NE(thread, "");
	EXPECT_TRUE(comes_to_rest(thread));
	/* Sampling that is exact needs no ticks. */
	request(process, "sample 1000 pblock");
	EXPECT_TRUE(comes_to_rest(thread));
	request(process, "sample 100000 pblock");
	EXPECT_TRUE(ticks(thread));
	request(process, "sample 0 pblock");
	EXPECT_TRUE(comes_to_rest(thread));
}

TEST_F(ControlDebugTest, SamplingFromTheStartTicksAsWell)
{
	setenv("SLAB_SAMPLE", "pblock:100000", 1);
	server process;

	unsetenv("SLAB_SAMPLE");
	request(process, "ping");
	EXPECT_TRUE(ticks(find_thread(process.pid(), "slab-control")));
}

TEST_F(ControlDebugTest, ALoopTicksThroughDispatch)
{
	server process("loop");
	const std::string thread =
		"/proc/" + std::to_string(process.pid()) + "/task/" + std::to_string(process.pid());

	EXPECT_TRUE(comes_to_rest(thread));
	request(process, "sample 100000 pblock");
	EXPECT_TRUE(ticks(thread));
	request(process, "sample 0 pblock");
	EXPECT_TRUE(comes_to_rest(thread));
}

/* These blocks are freed and handed out again at once: only ticks let them be
 * sampled. A timer that is set anew for each client would never run out. */
TEST_F(ControlDebugTest, FrequentClientsDoNotKeepSamplingFromItsTicks)
{
	server process;
	const time_t end = time(nullptr) + child_seconds / 6;
	const auto guarded = [&] {
		json stats = request(process, "stats");

		return number(find_cache(stats.get(), "pblock"), "guarded_slabs");
	};

	process.do_task('p');
	request(process, "sample 2000 pblock");
	while (guarded() == 0 && time(nullptr) < end)
		process.do_task('p');
	EXPECT_GT(guarded(), 0U);
}

/* --- fault injection --------------------------------------------------------------- */

TEST_F(ControlDebugTest, FailMakesAllocationsFailUntilItIsOff)
{
	server process;

	EXPECT_EQ(process.do_task('c'), "0 failed");
	EXPECT_EQ(text(request(process, "fail cache=ent*").get(), "fail"), "cache=ent*");
	EXPECT_EQ(process.do_task('c'), "10 failed");
	request(process, "fail cache=entry,times=4");
	EXPECT_EQ(process.do_task('c'), "4 failed");
	request(process, "fail cache=entry");
	request(process, "fail -");
	EXPECT_EQ(process.do_task('c'), "0 failed");
}

/* --- bad requests ------------------------------------------------------------------- */

TEST_F(ControlDebugTest, WrongRequestsGetOneErrorMessage)
{
	server process;
	const std::pair<const char *, const char *> cases[] = {
		{"debug", "debug needs flags, or - for none, and the name of a cache"},
		{"debug fz", "debug needs flags, or - for none, and the name of a cache"},
		{"debug fxz entry", "\"fxz\" are no debug flags; accepted: F Z P U T A, and - "
				    "for none"},
		{"debug f- entry", "\"f-\" are no debug flags; accepted: F Z P U T A, and - "
				   "for none"},
		{"debug f nobody", "no cache is called \"nobody\""},
		{"traces", "traces needs \"allocated\" or \"freed\", a mark or 0, and the name of "
			   "a cache"},
		{"traces freed entry", "traces needs \"allocated\" or \"freed\", a mark or 0, and "
				       "the name of a cache"},
		{"traces lost 0 entry", "traces are \"allocated\" or \"freed\", not \"lost\""},
		{"traces freed -1 entry",
		 "\"-1\" is no mark; accepted: what \"mark\" answered, and 0 for all"},
		{"traces freed 99999999999999999999 entry",
		 "\"99999999999999999999\" is no mark; accepted: what \"mark\" answered, and 0 for "
		 "all"},
		{"traces freed 0 nobody", "no cache is called \"nobody\""},
		{"mark entry", "mark takes no \"entry\": it is for all caches"},
		{"sample 10", "sample needs a number, or 0 for off, and the name of a cache"},
		{"sample x entry", "\"x\" is not a number of allocations; accepted: 1 and more, "
				   "and 0 for off"},
		{"sample 10 nobody", "no cache is called \"nobody\""},
		{"fail", "\"\" says no failures; accepted: a comma list of probability=PERCENT, "
			 "interval=N, times=N, cache=NAME, and - for none"},
		{"fail often", "\"often\" says no failures; accepted: a comma list of "
			       "probability=PERCENT, interval=N, times=N, cache=NAME, and - for "
			       "none"},
		{"dance",
		 "request \"dance\" is not known; accepted: ping, read ADDRESS SIZE STRIDE "
		 "COUNT, shrink NAME, validate NAME, debug FLAGS NAME, mark, sample N NAME, fail "
		 "SPEC, profile BYTES, set ATTRIBUTE VALUE NAME, reset NAME, trim, count US"},
		{"profile often", "\"often\" is not a number of bytes between samples; accepted: 0 "
				  "for off, or a number, also in K, M, G, KiB, MiB or GiB"},
	};

	for (const auto &[words, message] : cases)
		EXPECT_EQ(refusal(process, words), message);
	EXPECT_EQ(refusal(process, "debug " + std::string(100, 'x') + " entry"),
		  "\"" + std::string(32, 'x') +
			  "\" are no debug flags; accepted: F Z P U T A, and - for none");
	request(process, "ping");
}

} /* namespace */
