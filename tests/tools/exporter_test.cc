/* SPDX-License-Identifier: MIT */
/*
 * slab-exporter from the outside: what it serves for processes whose caches are
 * known, and that neither they nor its clients can hold it up.
 */
#include "exporter.h"

#include "../support/contained.h"
#include "../support/looks.h"

#include <json-c/json.h>

using namespace slab_test;

namespace
{

const char openmetrics[] = "Accept: application/openmetrics-text; version=1.0.0\r\n";

std::string labels(pid_t pid)
{
	return "{process=\"control_server\",pid=\"" + std::to_string(pid) + "\"}";
}

std::string labels(pid_t pid, const std::string &cache)
{
	return "{process=\"control_server\",pid=\"" + std::to_string(pid) + "\",cache=\"" + cache +
	       "\"}";
}

/* --- numbers ----------------------------------------------------------------- */

TEST_F(ExporterTest, ServesTheNumbersOfAllProcesses)
{
	server one, two;
	exporter serving;
	const std::string text = serving.get().body;

	for (const server *process : {&one, &two}) {
		const json stats = query_json(dir.socket(process->pid()), "stats");

		for (const char *name : {"entry", "pblock", "empty", "first"}) {
			struct json_object *cache = find_cache(stats.get(), name);
			const std::string of = labels(process->pid(), name);

			EXPECT_EQ(sample(text, "slab_cache_objects" + of),
				  number(cache, "objects"));
			EXPECT_EQ(sample(text, "slab_cache_object_size_bytes" + of),
				  number(cache, "object_size"));
			EXPECT_EQ(sample(text, "slab_cache_bytes" + of),
				  number(cache, "slab_bytes"));
			EXPECT_EQ(sample(text, "slab_cache_errors_total" + of), 0);
		}
		EXPECT_EQ(sample(text, "slab_process_slab_bytes" + labels(process->pid())),
			  number(member(stats.get(), "process"), "slab_bytes"));
	}
	EXPECT_EQ(sample(text, "slab_exporter_processes"), 2);
	EXPECT_EQ(sample(text, "slab_exporter_failed_processes"), 0);
}

TEST_F(ExporterTest, SlabinfoPrintsTheSameFamilies)
{
	server process;
	exporter serving;
	const std::string of = labels(process.pid(), "entry");
	const result got = slabinfo({"--openmetrics"});

	EXPECT_EQ(got.status, 0) << got.err;
	EXPECT_EQ(sample(got.out, "slab_cache_objects" + of), 500);
	EXPECT_EQ(sample(serving.get().body, "slab_cache_objects" + of), 500);
	EXPECT_EQ(lines_of(got.out).back(), "# EOF");
}

TEST_F(ExporterTest, SlabinfoPrintsOnlyTheCachesThatAreMeant)
{
	server process;
	const result got = slabinfo({"--openmetrics", "^entry$"});

	EXPECT_EQ(sample(got.out, "slab_cache_objects" + labels(process.pid(), "entry")), 500);
	EXPECT_EQ(sample(got.out, "slab_cache_objects" + labels(process.pid(), "pblock")), -1);
}

TEST_F(ExporterTest, NoProcessIsNoError)
{
	exporter serving;
	const reply got = serving.get();

	EXPECT_EQ(got.status, 200);
	EXPECT_EQ(sample(got.body, "slab_exporter_processes"), 0);
}

TEST_F(ExporterTest, OnlyNamedProcesses)
{
	server process;
	exporter named({"--process", "nobody", "--process", "control_server"});
	exporter other({"--process", "nobody"});

	EXPECT_EQ(sample(named.get().body, "slab_exporter_processes"), 1);
	EXPECT_EQ(sample(other.get().body, "slab_exporter_processes"), 0);
}

TEST_F(ExporterTest, CachesBeyondTheBoundAreSummedUp)
{
	server process;
	exporter serving({"--max-caches", "1"});
	const std::string text = serving.get().body;

	EXPECT_EQ(sample(text, "slab_cache_objects" + labels(process.pid(), "entry")), 500);
	EXPECT_EQ(sample(text, "slab_cache_objects" + labels(process.pid(), "other")), 601);
	EXPECT_EQ(sample(text, "slab_cache_objects" + labels(process.pid(), "pblock")), -1);
	EXPECT_EQ(sample(text, "slab_process_folded_caches" + labels(process.pid())), 3);
}

TEST_F(ExporterTest, ProcessesBeyondTheBoundAreSummedUp)
{
	server one, two, three;
	exporter serving({"--max-processes", "1"});
	const std::string text = serving.get().body;

	EXPECT_EQ(sample(text, "slab_cache_objects{process=\"other\",pid=\"0\",cache=\"other\"}"),
		  2 * 1101);
	EXPECT_EQ(sample(text, "slab_exporter_processes"), 3);
	EXPECT_EQ(sample(text, "slab_exporter_folded_processes"), 2);
}

TEST_F(ExporterTest, ProcessesInContainersAreServed)
{
	const std::string why = no_container(unshare_as_root);

	if (!why.empty())
		GTEST_SKIP() << why;
	const contained process(dir.path());
	exporter serving;

	EXPECT_EQ(sample(serving.get().body, "slab_cache_objects{process=\"program\",pid=\"" +
						     process.number() + "\",cache=\"entry\"}"),
		  500);
}

TEST_F(ExporterTest, ProcessesWithoutASocketAreServed)
{
	setenv("SLAB_CONTROL", "off", 1);
	const server process;

	unsetenv("SLAB_CONTROL");
	exporter serving;

	EXPECT_EQ(sample(serving.get().body, "slab_cache_objects" + labels(process.pid(), "entry")),
		  500);
}

TEST_F(ExporterTest, BothCopiesOfLibslabAreServed)
{
	setenv("LIBSLAB", LIBSLAB, 1);
	const server process("both", PROGRAMS "silent_server_archive");

	unsetenv("LIBSLAB");
	exporter serving;
	const std::string text = serving.get().body;

	for (const char *name : {"mine", "entry@libslab.so.0.1.0"})
		EXPECT_TRUE(contains(text, "\",cache=\"" + std::string(name) + "\"} 300\n"))
			<< name;
}

TEST_F(ExporterTest, AStoppedProcessIsRead)
{
	server process;
	exporter serving;

	kill(process.pid(), SIGSTOP);
	EXPECT_EQ(sample(serving.get().body, "slab_cache_objects" + labels(process.pid(), "entry")),
		  500);
	kill(process.pid(), SIGCONT);
}

/* --- HTTP -------------------------------------------------------------------- */

TEST_F(ExporterTest, FormatIsNegotiated)
{
	exporter serving;
	const reply open = serving.get("/metrics", openmetrics), classic = serving.get();

	EXPECT_EQ(open.header("Content-Type"),
		  "application/openmetrics-text; version=1.0.0; charset=utf-8");
	EXPECT_EQ(lines_of(open.body).back(), "# EOF");
	EXPECT_EQ(classic.header("Content-Type"), "text/plain; version=0.0.4; charset=utf-8");
	EXPECT_FALSE(contains(classic.body, "# EOF"));
	EXPECT_FALSE(contains(classic.body, "# UNIT"));
}

TEST_F(ExporterTest, PageHasALink)
{
	exporter serving;
	const reply got = serving.get("/");

	EXPECT_EQ(got.status, 200);
	EXPECT_EQ(got.header("Content-Type"), "text/html; charset=utf-8");
	EXPECT_TRUE(contains(got.body, "<a href=\"/metrics\">")) << got.body;
}

TEST_F(ExporterTest, HealthIsCheckedWithoutAScrape)
{
	exporter serving;

	EXPECT_EQ(serving.get("/-/healthy").status, 200);
	EXPECT_EQ(serving.get("/-/healthy").body, "healthy\n");
	EXPECT_EQ(sample(serving.get().body, "slab_exporter_scrapes_total"), 1);
}

TEST_F(ExporterTest, HeadHasNoBody)
{
	exporter serving;

	for (const char *path : {"/metrics", "/", "/-/healthy"}) {
		const reply got = http(serving.port(), "HEAD", path);

		EXPECT_EQ(got.status, 200) << path;
		EXPECT_EQ(got.body, "") << path;
		EXPECT_NE(got.header("Content-Length"), "0") << path;
	}
}

TEST_F(ExporterTest, OtherMethodsAreRefused)
{
	exporter serving;

	for (const char *method : {"POST", "PUT", "DELETE", "OPTIONS", "BREW"}) {
		const reply got = http(serving.port(), method, "/metrics");

		EXPECT_EQ(got.status, 405) << method;
		EXPECT_EQ(got.header("Allow"), "GET, HEAD") << method;
	}
}

TEST_F(ExporterTest, OtherPathsAreNotFound)
{
	exporter serving;

	for (const char *path : {"/metric", "/metrics/", "/../etc/passwd", "/-/"})
		EXPECT_EQ(serving.get(path).status, 404) << path;
}

TEST_F(ExporterTest, IPv6IsServed)
{
	exporter serving({}, "[::1]:0");

	if (!serving.port())
		GTEST_SKIP() << "this machine has no IPv6: " << serving.errors();
	EXPECT_EQ(serving.first_line(), "slab-exporter: serving http://[::1]:" +
						std::to_string(serving.port()) + "/metrics");
}

/* --- processes and clients that do not answer ---------------------------------- */

TEST_F(ExporterTest, SilentProcessFailsAndTheOthersAreServed)
{
	server process;
	mute silent(dir);
	exporter serving({"--timeout", "0.5"});
	const std::string text = serving.get().body;

	EXPECT_EQ(sample(text, "slab_exporter_processes"), 2);
	EXPECT_EQ(sample(text, "slab_exporter_failed_processes"), 1);
	EXPECT_EQ(sample(text, "slab_cache_objects" + labels(process.pid(), "entry")), 500);
	kill(serving.pid(), SIGTERM);
	EXPECT_TRUE(contains(serving.errors(),
			     "slab-exporter: process " + std::to_string(silent.pid()) + " ("));
}

/* A reader of its memory waits as long as the process likes; other processes are served. */
TEST_F(ExporterTest, ProcessThatBlocksItsReadersFailsAlone)
{
	server process;
	server hostile("fault", HOSTILE_SERVER);

	if (hostile.control_fd() < 0)
		GTEST_SKIP() << "no memory that waits: userfaultfd() is not allowed";
	exporter serving({"--timeout", "3"});
	const std::string text = serving.get().body;

	EXPECT_EQ(sample(text, "slab_cache_objects" + labels(process.pid(), "entry")), 500);
	EXPECT_EQ(sample(text, "slab_exporter_processes"), 2);
	EXPECT_EQ(sample(text, "slab_exporter_failed_processes"), 1);
	kill(serving.pid(), SIGTERM);
	EXPECT_EQ(serving.errors(), "slab-exporter: process " + std::to_string(hostile.pid()) +
					    " (hostile_server) did not answer within 3 seconds\n");
}

TEST_F(ExporterTest, ProcessWithoutCachesIsNotCounted)
{
	server process;
	child_process stranger({"/bin/cat"});
	exporter serving;
	const std::string text = serving.get().body;

	EXPECT_EQ(sample(text, "slab_exporter_processes"), 1);
	EXPECT_EQ(sample(text, "slab_exporter_failed_processes"), 0);
}

TEST_F(ExporterTest, NonsenseIsAFailureReportedOnce)
{
	for (const char *answer : {"nonsense\n", "", "{\"slab\":2,\"ok\":true}\n", "[1,2]\n",
				   "{\"slab\":2,\"ok\":true,\"process\":[],\"caches\":{}}\n",
				   "{\"slab\":2,\"ok\":false,\"error\":\"not today\"}\n"}) {
		with_impostor(dir, answer, [&](pid_t pid) {
			exporter serving;
			std::string text = serving.get().body;

			EXPECT_EQ(sample(text, "slab_exporter_failed_processes"), 1) << answer;
			while (sample(text, "slab_exporter_scrapes_total") < 2)
				text = serving.get().body;
			EXPECT_EQ(sample(text, "slab_exporter_failed_processes"), 1) << answer;
			kill(serving.pid(), SIGTERM);

			const std::string errors = serving.errors();

			EXPECT_EQ(lines_of(errors).size(), 1U) << errors;
			EXPECT_TRUE(contains(errors, "process " + std::to_string(pid) + " ("))
				<< errors;
		});
	}
}

TEST_F(ExporterTest, StrangeCachesAreServedAsTheyCan)
{
	with_impostor(dir,
		      "{\"slab\":2,\"ok\":true,\"caches\":[7,{\"name\":\"a\\\"\\n\",\"order\":3000,"
		      "\"objects\":-5},null,{\"name\":{}}]}\n",
		      [&](pid_t) {
			      exporter serving;
			      const std::string text = serving.get("/metrics", openmetrics).body;

			      EXPECT_TRUE(contains(text, "cache=\"a\\\"\\n\"")) << text;
			      EXPECT_EQ(lines_of(text).back(), "# EOF");
		      });
}

TEST_F(ExporterTest, ProcessThatIsGoneIsNoFailure)
{
	exporter serving;

	{
		server process;

		kill(process.pid(), SIGKILL);
	}
	EXPECT_EQ(sample(serving.get().body, "slab_exporter_failed_processes"), 0);
}

TEST_F(ExporterTest, ClientsShareAScrape)
{
	mute silent(dir);
	exporter serving({"--timeout", "0.5"});
	std::vector<std::unique_ptr<tcp_client>> clients;

	for (int i = 0; i < 20; i++) {
		clients.push_back(std::make_unique<tcp_client>(serving.port()));
		clients.back()->send(request_text("GET", "/metrics", i % 2 ? openmetrics : ""));
	}
	for (auto &client : clients)
		EXPECT_EQ(sample(parse_reply(client->rest()).body, "slab_exporter_scrapes_total"),
			  1);
}

TEST_F(ExporterTest, SlowClientsDoNotHoldUpOthers)
{
	exporter serving;
	std::vector<std::unique_ptr<tcp_client>> clients;

	for (int i = 0; i < 200; i++) {
		clients.push_back(std::make_unique<tcp_client>(serving.port()));
		ASSERT_TRUE(clients.back()->connected()) << i;
		clients.back()->send(i % 2 ? "GET /metr" : "");
	}
	EXPECT_EQ(serving.get().status, 200);
}

TEST_F(ExporterTest, ClientsThatLeaveDoNoHarm)
{
	mute silent(dir);
	exporter serving({"--timeout", "0.5"});

	for (int i = 0; i < 20; i++)
		tcp_client(serving.port()).send(request_text("GET", "/metrics"));
	EXPECT_EQ(serving.get().status, 200);
}

TEST_F(ExporterTest, RequestsAreBoundedInSize)
{
	exporter serving;
	const std::string long_header = "X-Long: " + std::string(100000, 'x') + "\r\n";

	EXPECT_GE(serving.get("/metrics", long_header).status, 400);
	EXPECT_EQ(serving.get().status, 200);
}

} /* namespace */
