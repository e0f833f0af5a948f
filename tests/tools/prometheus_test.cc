/* SPDX-License-Identifier: MIT */
/*
 * What others make of the metrics: a real Prometheus scrapes slab-exporter, promtool
 * checks the formats, the alerts and their own tests, and every query of the
 * dashboard is asked. Skipped where Prometheus is not installed.
 */
#include "exporter.h"

#include <set>

using namespace slab_test;

namespace
{

bool can_run(const std::string &program)
{
	return std::system(("command -v " + program + " >/dev/null").c_str()) == 0;
}

#define SKIP_WITHOUT(program)                                                                      \
	do {                                                                                       \
		if (!can_run(program))                                                             \
			GTEST_SKIP() << program " is missing; Debian has it as prometheus";        \
	} while (0)

result shell(const std::string &command)
{
	return run_tool({"/bin/sh", "-c", command});
}

json read_json(const std::string &path)
{
	json document(json_tokener_parse(file_text(path).c_str()));

	EXPECT_TRUE(document) << path << " is not JSON";
	return document;
}

/* A port that no process listens on. */
int free_port()
{
	struct sockaddr_in address = {};
	socklen_t size = sizeof(address);
	const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	address.sin_family = AF_INET;
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || bind(fd, reinterpret_cast<struct sockaddr *>(&address), sizeof(address)) != 0)
		ADD_FAILURE() << std::strerror(errno);
	EXPECT_EQ(getsockname(fd, reinterpret_cast<struct sockaddr *>(&address), &size), 0);
	close(fd);
	return ntohs(address.sin_port);
}

void replace_all(std::string &text, const std::string &from, const std::string &to)
{
	for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
		text.replace(at, from.size(), to);
}

std::string url_encoded(const std::string &text)
{
	std::string encoded;
	char code[4];

	for (const char byte : text) {
		std::snprintf(code, sizeof(code), "%%%02X", static_cast<unsigned char>(byte));
		encoded += code;
	}
	return encoded;
}

/* All strings of members called `key`, anywhere in a document. */
void collect(struct json_object *object, const std::string &key, std::set<std::string> &found)
{
	if (json_object_is_type(object, json_type_array)) {
		for (std::size_t i = 0; i < json_object_array_length(object); i++)
			collect(json_object_array_get_idx(object, i), key, found);
	} else if (json_object_is_type(object, json_type_object)) {
		json_object_object_foreach(object, name, value)
		{
			if (key == name && json_object_is_type(value, json_type_string))
				found.insert(json_object_get_string(value));
			collect(value, key, found);
		}
	}
}

/* A Prometheus that scrapes one exporter every second. */
class prometheus
{
public:
	prometheus(const runtime_dir &dir, int target)
		: port_(free_port()), running_(command(dir, target, port_))
	{
	}

	~prometheus()
	{
		kill(running_.pid(), SIGTERM);
		close_output();
	}

	/* The answer of the API, or null before it answers. */
	json api(const std::string &path) const
	{
		return json(json_tokener_parse(http(port_, "GET", "/api/v1/" + path).body.c_str()));
	}

	json query(const std::string &expression) const
	{
		return api("query?query=" + url_encoded(expression));
	}

	/* The value of a query that has one, as text; "" when it has none. */
	std::string value(const std::string &expression) const
	{
		const json answer = query(expression);
		struct json_object *list = results(answer);

		if (!list || json_object_array_length(list) != 1)
			return "";
		return json_object_get_string(json_object_array_get_idx(
			member(json_object_array_get_idx(list, 0), "value"), 1));
	}

	/* How many results a query has; -1 when it is refused. */
	int result_count(const std::string &expression) const
	{
		const json answer = query(expression);
		struct json_object *list = results(answer);

		return list ? static_cast<int>(json_object_array_length(list)) : -1;
	}

	/* Wait until a query has the value. */
	void await(const std::string &expression, const std::string &expected) const
	{
		for (int tries = 0; tries < 600 && value(expression) != expected; tries++)
			usleep(100000);
		EXPECT_EQ(value(expression), expected) << expression;
	}

private:
	static std::vector<std::string> command(const runtime_dir &dir, int target, int port)
	{
		const std::string config = dir.path() + "/prometheus.yml";

		std::ofstream(config)
			<< "global: {scrape_interval: 1s, scrape_timeout: 1s, "
			   "evaluation_interval: 1s}\n"
			<< "rule_files: [" METRICS "/slab-alerts.yml]\n"
			<< "scrape_configs:\n  - job_name: slab\n    static_configs:\n"
			<< "      - targets: ['127.0.0.1:" << target << "']\n";
		return {"/bin/sh", "-c",
			"exec prometheus --log.level=error --config.file=" + config +
				" --storage.tsdb.path=" + dir.path() +
				"/data --web.listen-address=127.0.0.1:" + std::to_string(port)};
	}

	static struct json_object *results(const json &answer)
	{
		struct json_object *data = nullptr, *list = nullptr;

		if (json_object_object_get_ex(answer.get(), "data", &data))
			json_object_object_get_ex(data, "result", &list);
		return list;
	}

	void close_output()
	{
		running_.wait();
	}

	int port_;
	child_process running_;
};

class PrometheusTest : public testing::Test
{
protected:
	runtime_dir dir;
};

TEST_F(PrometheusTest, PromtoolFindsNothingToSayAboutTheMetrics)
{
	SKIP_WITHOUT("promtool");
	server process;
	exporter serving;
	std::ofstream(dir.path() + "/metrics") << serving.get().body;
	const result got = shell("promtool check metrics <" + dir.path() + "/metrics");

	EXPECT_EQ(got.status, 0);
	EXPECT_EQ(got.out + got.err, "");
	const result canned = shell("promtool check metrics <" METRICS_TESTS "/classic.txt");

	EXPECT_EQ(canned.status, 0);
	EXPECT_EQ(canned.out + canned.err, "");
}

TEST_F(PrometheusTest, AlertRulesAreValid)
{
	SKIP_WITHOUT("promtool");
	const result got = shell("promtool check rules --lint-fatal " METRICS "/slab-alerts.yml");

	EXPECT_EQ(got.status, 0) << got.out << got.err;
}

TEST_F(PrometheusTest, AlertsFireWhenTheyShall)
{
	SKIP_WITHOUT("promtool");
	const result got = shell("promtool test rules " METRICS_TESTS "/slab-alerts-test.yml");

	EXPECT_EQ(got.status, 0) << got.out << got.err;
}

TEST_F(PrometheusTest, ExampleConfigurationIsValid)
{
	SKIP_WITHOUT("promtool");
	const result got = shell("promtool check config " METRICS "/prometheus.yml");

	EXPECT_EQ(got.status, 0) << got.out << got.err;
}

TEST_F(PrometheusTest, ScrapesWhatSlabinfoShows)
{
	SKIP_WITHOUT("prometheus");
	server one, two;
	exporter serving;
	const prometheus scraping(dir, serving.port());

	one.do_task('l');
	scraping.await("up{job=\"slab\"}", "1");
	for (const server *process : {&one, &two}) {
		const std::string pid = std::to_string(process->pid());
		const result table = slabinfo({"-z", "--pid", pid});

		for (const char *cache : {"entry", "pblock", "first", "empty"})
			scraping.await("slab_cache_objects{pid=\"" + pid + "\",cache=\"" + cache +
					       "\"}",
				       row_of(table.out, cache).at(1));
	}
	EXPECT_EQ(scraping.value("count(slab_process_info{process=\"control_server\"})"), "2");
}

TEST_F(PrometheusTest, ReadsOpenMetrics)
{
	SKIP_WITHOUT("prometheus");
	server process;
	exporter serving;
	const prometheus scraping(dir, serving.port());

	scraping.await("up{job=\"slab\"}", "1");
	/* The classic format has no units, and calls the second one ..._total. */
	for (const char *name : {"slab_cache_bytes", "slab_cache_counted_seconds"}) {
		const json answer = scraping.api(std::string("targets/metadata?metric=") + name);
		struct json_object *list = member(answer.get(), "data");

		ASSERT_EQ(json_object_array_length(list), 1U) << name;
		EXPECT_NE(text(json_object_array_get_idx(list, 0), "unit"), "") << name;
	}
	/* Nothing was dropped. */
	EXPECT_EQ(scraping.value("scrape_samples_scraped - scrape_samples_post_metric_relabeling"),
		  "0");
	EXPECT_EQ(scraping.value("count({__name__=~\"slab_.*\"}) - scalar(scrape_samples_scraped)"),
		  "0");
}

TEST_F(PrometheusTest, DashboardFindsWhatItAsksFor)
{
	SKIP_WITHOUT("prometheus");
	const json dashboard = read_json(METRICS "/slab-dashboard.json");
	std::set<std::string> queries;
	server process;
	exporter serving;
	const prometheus scraping(dir, serving.port());

	collect(member(dashboard.get(), "panels"), "expr", queries);
	EXPECT_GE(queries.size(), 20U);
	/* Rates need two scrapes. */
	scraping.await("count_over_time(up{job=\"slab\"}[10m]) >= bool 3", "1");
	for (std::string query : queries) {
		for (const char *name : {"$instance", "$process", "$pid", "$cache"})
			replace_all(query, name, ".*");
		replace_all(query, "$__rate_interval", "10m");
		EXPECT_EQ(query.find('$'), std::string::npos) << query;
		/* The server's caches have no limit. */
		if (contains(query, "slab_cache_limit_bytes"))
			EXPECT_EQ(scraping.result_count(query), 0) << query;
		else
			EXPECT_GE(scraping.result_count(query), 1) << query;
	}
}

TEST_F(PrometheusTest, DashboardVariablesHaveValues)
{
	SKIP_WITHOUT("prometheus");
	const json dashboard = read_json(METRICS "/slab-dashboard.json");
	std::set<std::string> definitions;
	server process;
	exporter serving;
	const prometheus scraping(dir, serving.port());

	collect(member(dashboard.get(), "templating"), "definition", definitions);
	EXPECT_EQ(definitions.size(), 4U);
	scraping.await("up{job=\"slab\"}", "1");
	for (std::string series : definitions) {
		const std::size_t comma = series.rfind(", "), paren = series.find('(');

		for (const char *name : {"$instance", "$process", "$pid"})
			replace_all(series, name, ".*");
		ASSERT_NE(comma, std::string::npos) << series;
		series = "count by (" + series.substr(series.rfind(", ") + 2) + " (" +
			 series.substr(paren + 1, series.rfind(", ") - paren - 1) + ")";
		EXPECT_GE(scraping.result_count(series), 1) << series;
	}
}

TEST_F(PrometheusTest, CorruptionIsAlerted)
{
	SKIP_WITHOUT("prometheus");
	server process;
	exporter serving;
	const prometheus scraping(dir, serving.port());

	EXPECT_EQ(slabinfo({"-da", "entry"}).status, 0);
	process.do_task('l');
	process.do_task('o');
	EXPECT_EQ(slabinfo({"-v", "entry"}).status, 1);
	scraping.await("ALERTS{alertname=\"SlabCorruption\",alertstate=\"firing\",cache=\"entry\"}",
		       "1");
}

} /* namespace */
