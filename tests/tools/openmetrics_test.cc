/* SPDX-License-Identifier: MIT */
/*
 * Metrics of processes that are made up: the exact text, what is shown by name and
 * what is summed up, and which format a client gets. The expected texts are in
 * tests/metrics; UPDATE=1 writes them anew.
 */
extern "C" {
#include "accept.h"
#include "openmetrics.h"
}

#include "../support/test.h"

namespace
{

std::string cache_json(const std::string &name, int slabs, int errors = 0)
{
	const std::string n = std::to_string(slabs);

	return "{\"name\":\"" + name + "\",\"object_size\":100,\"order\":0,\"slabs\":" + n +
	       ",\"slab_bytes\":" + std::to_string(4096 * slabs) +
	       ",\"cpu_objects\":1,\"partial\":2,\"empty\":1,\"full\":" +
	       std::to_string(slabs - 3) + ",\"objects\":" + std::to_string(10 * slabs) +
	       ",\"total_objects\":" + std::to_string(40 * slabs) +
	       ",\"populated\":" + std::to_string(3000 * slabs) +
	       ",\"errors\":" + std::to_string(errors) + ",\"events\":{\"alloc_slowpath\":7}}";
}

/* A process that has said all that can be said. */
const char full_answer[] = R"({"slab":2,"ok":true,"process":{"pid":42,"command":"dir",
"version":"0.1.0","engine":"rseq","uptime":99,"slab_bytes":1000,"cached_bytes":2000,
"large_bytes":3000,"metadata_bytes":4000},"caches":[{"name":"entry","object_size":712,
"slab_size":720,"order":4,"slabs":11,"slab_bytes":720896,"partial":2,"full":4,"empty":5,"cpu_objects":28,"objects":500,
"total_objects":1012,"populated":700000,"errors":3,"limit":1000000,"counted":123456,
"counted_us":2500001,"rcu_pending":21,"rcu_freed":22,"limit_hits":23,"reserve":24,
"reserve_left":25,"reclaimed":26,"moved":27,"debug_slabs":6,"guarded_slabs":1,"legacy_slabs":2,"events":{
"alloc_slowpath":1,"alloc_refill":2,"alloc_magazine":3,"alloc_other_shard":4,"alloc_slab":5,
"alloc_node_mismatch":6,"free_slowpath":7,"free_flush":8,"free_magazine":9,"free_other_node":10,
"free_slab":11,"arrays_closed":18446744073709551615}}]})";

class processes
{
public:
	~processes()
	{
		for (struct metrics &metrics : list_)
			metrics_free(&metrics);
	}

	void add_answer(pid_t pid, const std::string &command, const std::string &answer,
			std::size_t max_caches = 0)
	{
		struct process process = {};
		struct model model = {};
		struct metrics metrics = {};

		process.pid = pid;
		std::snprintf(process.command, sizeof(process.command), "%s", command.c_str());
		ASSERT_TRUE(model_load(&model, json_tokener_parse(answer.c_str()))) << answer;
		ASSERT_TRUE(metrics_take(&metrics, &process, &model, max_caches));
		model_free(&model);
		list_.push_back(metrics);
	}

	void add(pid_t pid, const std::vector<std::string> &caches, std::size_t max_caches = 0,
		 unsigned long slab_bytes = 0)
	{
		std::string answer = "{\"process\":{\"slab_bytes\":" + std::to_string(slab_bytes) +
				     "},\"caches\":[";

		for (std::size_t i = 0; i < caches.size(); i++)
			answer += (i ? "," : "") + caches[i];
		add_answer(pid, "dir", answer + "]}", max_caches);
	}

	std::size_t fold(std::size_t max_processes)
	{
		std::size_t folded = 0;

		list_.resize(metrics_fold(list_.data(), list_.size(), max_processes, &folded));
		return folded;
	}

	std::string text(enum exposition exposition = EXPOSITION_OPENMETRICS) const
	{
		char *bytes = nullptr;
		std::size_t size = 0;
		FILE *out = open_memstream(&bytes, &size);

		openmetrics_write(out, exposition, list_.data(), list_.size());
		openmetrics_end(out, exposition);
		std::fclose(out);

		const std::string text(bytes, size);

		std::free(bytes);
		return text;
	}

	/* The lines that start with `start`, without it. */
	std::vector<std::string> lines(const std::string &start) const
	{
		std::istringstream stream(text());
		std::vector<std::string> found;
		std::string line;

		while (std::getline(stream, line)) {
			if (line.compare(0, start.size(), start) == 0)
				found.push_back(line.substr(start.size()));
		}
		return found;
	}

private:
	std::vector<struct metrics> list_;
};

using strings = std::vector<std::string>;

void expect_file(const std::string &name, const std::string &text)
{
	const std::string path = METRICS_TESTS "/" + name;
	std::ostringstream expected;

	if (std::getenv("UPDATE"))
		std::ofstream(path) << text;
	expected << std::ifstream(path).rdbuf();
	EXPECT_EQ(text, expected.str()) << path;
}

/* The lines about families, which start with "#", or the samples. */
std::string lines_that(bool are_heads, const std::string &text)
{
	std::istringstream stream(text);
	std::string chosen;

	for (std::string line; std::getline(stream, line);)
		chosen += (line[0] == '#') == are_heads ? line + "\n" : "";
	return chosen;
}

TEST(OpenMetricsTest, TextOfAProcess)
{
	processes list;

	list.add_answer(42, "dir", full_answer);
	expect_file("openmetrics.txt", lines_that(true, list.text()));
	EXPECT_EQ(lines_that(false, list.text()), lines_that(false, list.text(EXPOSITION_CLASSIC)));
}

TEST(OpenMetricsTest, ClassicTextOfAProcess)
{
	processes list;

	list.add_answer(42, "dir", full_answer);
	expect_file("classic.txt", list.text(EXPOSITION_CLASSIC));
}

TEST(OpenMetricsTest, NoProcessIsValidToo)
{
	const std::string text = processes().text();

	EXPECT_EQ(text.substr(text.size() - 6), "# EOF\n");
	EXPECT_EQ(text.find('{'), std::string::npos) << text;
}

TEST(OpenMetricsTest, SamplesOfAFamilyStandTogether)
{
	processes list;

	list.add(1, {cache_json("a", 5), cache_json("b", 4)});
	list.add(2, {cache_json("a", 3)});
	EXPECT_EQ(list.lines("slab_cache_objects{"),
		  (strings{"process=\"dir\",pid=\"1\",cache=\"a\"} 50",
			   "process=\"dir\",pid=\"1\",cache=\"b\"} 40",
			   "process=\"dir\",pid=\"2\",cache=\"a\"} 30"}));
}

TEST(OpenMetricsTest, CacheWithoutALimitHasNoLimit)
{
	processes list;

	list.add(1, {cache_json("a", 5)});
	EXPECT_EQ(list.lines("slab_cache_limit_bytes{"), strings{});
}

TEST(OpenMetricsTest, NamesAreEscaped)
{
	processes list;

	list.add_answer(1, "a\"b\\c\nd", "{\"caches\":[]}");
	EXPECT_EQ(list.lines("slab_process_slab_bytes{"),
		  strings{"process=\"a\\\"b\\\\c\\nd\",pid=\"1\"} 0"});
}

TEST(OpenMetricsTest, WhatIsNotUtf8IsAQuestionMark)
{
	const struct {
		const char *name, *shown;
	} cases[] = {
		{"na\xc3\xafve", "na\xc3\xafve"},
		{"\xe2\x82\xac \xf0\x9f\x98\x80", "\xe2\x82\xac \xf0\x9f\x98\x80"},
		{"\xff\xfe", "??"},
		{"a\xc3", "a?"},
		{"\xc0\xaf", "??"},             /* overlong */
		{"\xe0\x80\xaf", "???"},        /* overlong */
		{"\xed\xa0\x80", "???"},        /* a surrogate */
		{"\xf4\x90\x80\x80", "????"},   /* behind the last one */
		{"\xf8\x88\x80\x80\x80", "?????"},
	};

	for (const auto &one : cases) {
		processes list;

		list.add_answer(1, one.name, "{\"caches\":[]}");
		EXPECT_EQ(list.lines("slab_process_caches{"),
			  strings{std::string("process=\"") + one.shown + "\",pid=\"1\"} 0"});
	}
}

TEST(OpenMetricsTest, LongNamesAreCutBetweenCharacters)
{
	processes list;

	list.add(1, {cache_json(std::string(200, 'x'), 5),
		     cache_json(std::string(62, 'y') + "\xc3\xaf", 5)});
	EXPECT_EQ(list.lines("slab_cache_objects{process=\"dir\",pid=\"1\",cache="),
		  (strings{"\"" + std::string(63, 'x') + "\"} 50",
			   "\"" + std::string(62, 'y') + "\"} 50"}));
}

/* --- bounds ------------------------------------------------------------------ */

TEST(OpenMetricsTest, LargestCachesHaveTheirNames)
{
	processes list;

	list.add(1,
		 {cache_json("a", 5), cache_json("b", 9), cache_json("c", 3), cache_json("d", 7)},
		 2);
	EXPECT_EQ(list.lines("slab_cache_objects{process=\"dir\",pid=\"1\",cache="),
		  (strings{"\"b\"} 90", "\"d\"} 70", "\"other\"} 80"}));
	EXPECT_EQ(list.lines("slab_cache_bytes{process=\"dir\",pid=\"1\",cache=\"other\"} "),
		  strings{std::to_string(8 * 4096)});
	EXPECT_EQ(list.lines("slab_cache_used_bytes{process=\"dir\",pid=\"1\",cache=\"other\"} "),
		  strings{"8000"});
	EXPECT_EQ(list.lines("slab_cache_slabs{process=\"dir\",pid=\"1\",cache=\"other\",state="),
		  (strings{"\"empty\"} 2", "\"partial\"} 4", "\"full\"} 2"}));
	EXPECT_EQ(list.lines("slab_process_caches{process=\"dir\",pid=\"1\"} "), strings{"4"});
	EXPECT_EQ(list.lines("slab_process_folded_caches{process=\"dir\",pid=\"1\"} "),
		  strings{"2"});
}

TEST(OpenMetricsTest, AsManyCachesAsAllowedNeedNoSum)
{
	processes list;

	list.add(1, {cache_json("small", 3), cache_json("other", 9)}, 2);
	EXPECT_EQ(list.lines("slab_cache_objects{process=\"dir\",pid=\"1\",cache="),
		  (strings{"\"small\"} 30", "\"other\"} 90"}));
}

TEST(OpenMetricsTest, CacheWithErrorsIsNeverInTheSum)
{
	processes list;

	list.add(1, {cache_json("a", 9), cache_json("damaged", 3, 1), cache_json("c", 8)}, 2);
	EXPECT_EQ(list.lines("slab_cache_errors_total{process=\"dir\",pid=\"1\",cache="),
		  (strings{"\"damaged\"} 1", "\"a\"} 0"}));
}

TEST(OpenMetricsTest, SumHasNoCounters)
{
	processes list;

	list.add(1, {cache_json("a", 9), cache_json("b", 4)}, 1);
	for (const char *name :
	     {"slab_cache_errors_total", "slab_cache_events_total", "slab_cache_object_size_bytes",
	      "slab_cache_counted_seconds_total"})
		EXPECT_EQ(list.lines(std::string(name) +
				     "{process=\"dir\",pid=\"1\",cache=\"other\""),
			  strings{})
			<< name;
}

TEST(OpenMetricsTest, CacheThatIsCalledOtherIsInTheSum)
{
	processes list;

	list.add(1, {cache_json("other", 9), cache_json("a", 4), cache_json("b", 3)}, 1);
	EXPECT_EQ(list.lines("slab_cache_objects{process=\"dir\",pid=\"1\",cache="),
		  (strings{"\"a\"} 40", "\"other\"} 120"}));
}

TEST(OpenMetricsTest, LargestProcessesHaveTheirNames)
{
	processes list;

	list.add(1, {cache_json("a", 3)}, 0, 300);
	list.add(2, {cache_json("a", 9)}, 0, 900);
	list.add(3, {cache_json("a", 4), cache_json("b", 5)}, 0, 500);
	list.add(4, {cache_json("a", 7)}, 0, 700);
	EXPECT_EQ(list.fold(2), 2U);
	EXPECT_EQ(list.lines("slab_process_slab_bytes{process="),
		  (strings{"\"dir\",pid=\"2\"} 900", "\"dir\",pid=\"4\"} 700",
			   "\"other\",pid=\"0\"} 800"}));
	EXPECT_EQ(list.lines("slab_cache_objects{process=\"other\",pid=\"0\",cache="),
		  strings{"\"other\"} 120"});
	EXPECT_EQ(list.lines("slab_process_info{process=\"other\""), strings{});
	EXPECT_EQ(list.lines("slab_process_uptime_seconds{process=\"other\""), strings{});
}

TEST(OpenMetricsTest, ProcessWithErrorsIsNeverInTheSum)
{
	processes list;

	list.add(1, {cache_json("a", 3, 1)}, 0, 300);
	list.add(2, {cache_json("a", 9)}, 0, 900);
	EXPECT_EQ(list.fold(1), 1U);
	EXPECT_EQ(list.lines("slab_process_slab_bytes{process="),
		  (strings{"\"dir\",pid=\"1\"} 300", "\"other\",pid=\"0\"} 900"}));
}

/* --- negotiation ------------------------------------------------------------- */

TEST(AcceptTest, OpenMetricsForThoseThatAskForIt)
{
	for (const char *accept :
	     {"application/openmetrics-text; version=1.0.0", "application/openmetrics-text",
	      "Application/OpenMetrics-Text;Version=\"1.0.0\"; charset=utf-8",
	      /* Prometheus 2.42 */
	      "application/openmetrics-text;version=1.0.0,application/openmetrics-text;"
	      "version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
	      /* Prometheus 3 */
	      "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,"
	      "application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=1.0.0;q=0.3,"
	      "*/*;q=0.2",
	      "text/plain,application/openmetrics-text;version=1.0.0"})
		EXPECT_EQ(accept_format(accept), EXPOSITION_OPENMETRICS) << accept;
}

TEST(AcceptTest, ClassicTextForAllOthers)
{
	EXPECT_EQ(accept_format(nullptr), EXPOSITION_CLASSIC);
	for (const char *accept :
	     {"", "*/*", "text/plain", "text/html,application/xhtml+xml,*/*;q=0.8",
	      "application/openmetrics-text;version=0.0.1",
	      "application/openmetrics-text;version=2.0.0",
	      "application/openmetrics-text;version=1.0.0;q=0",
	      "application/openmetrics-text;version=1.0.0;q=0.2,text/plain;q=0.9", ",;=,;q=;;,",
	      "application/openmetrics-textual"})
		EXPECT_EQ(accept_format(accept), EXPOSITION_CLASSIC) << accept;
}

} /* namespace */
