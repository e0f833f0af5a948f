/* SPDX-License-Identifier: MIT */
/* One process looked at in each way: in its memory, over its socket, in a copy. All say the
 * same. */
#include "../support/server.h"

extern "C" {
#include "memory.h"
#include "memory_source.h"
}

namespace
{

struct memory *by_process(const server &process, const std::string &)
{
	return memory_open_process(process.pid(), "");
}

struct memory *by_socket(const server &process, const std::string &socket)
{
	auto *memory = static_cast<struct memory *>(std::calloc(1, sizeof(struct memory)));

	memory->pid = process.pid();
	std::strcpy(memory->command, "control_server");
	EXPECT_EQ(memory_use_socket(memory, socket.c_str()), 0);
	return memory;
}

struct memory *by_copy(const server &process, const std::string &)
{
	struct snapshot snapshot = {};

	snapshot.limit_s = 5;
	return memory_open_snapshot(process.pid(), &snapshot);
}

struct way_of_looking {
	const char *name;
	struct memory *(*open)(const server &process, const std::string &socket);
};

class TransportsTest : public testing::TestWithParam<way_of_looking>
{
protected:
	/* Without numbers that time alone changes. */
	std::string answer(struct memory *memory, const std::string &request) const
	{
		struct slab_answer answer;

		EXPECT_EQ(memory_query(memory, request.c_str(), &answer), 0)
			<< (answer.text ? answer.text : "") << memory_trouble(memory);
		std::string text = answer.text ? answer.text : "";

		slab_answer_free(&answer);
		for (const char *key :
		     {"\"now\":", "\"uptime\":", "\"age_min\":", "\"age_avg\":", "\"age_max\":"})
			for (std::size_t at = 0; (at = text.find(key, at)) != std::string::npos;)
				text.erase(at, text.find(',', at) - at);
		return text;
	}

	runtime_dir dir;
};

TEST_P(TransportsTest, EveryRequestIsAnsweredTheSame)
{
	server process;
	const std::string socket = dir.socket(process.pid());

	for (const char *request : {"debug u entry", "profile 1"})
		query_json(socket, request);
	process.do_task('l');

	struct memory *memory = GetParam().open(process, socket);
	struct memory *plain = memory_open_process(process.pid(), "");

	ASSERT_TRUE(memory && plain);
	for (const char *request : {"ping", "stats", "slabs", "slabs pblock",
				    "traces allocated 0 entry", "traces freed 0", "objects",
				    "objects entry", "object 4096", "regions", "profile", "waste"})
		EXPECT_EQ(answer(memory, request), answer(plain, request)) << request;
	memory_close(memory);
	memory_close(plain);
}

TEST_P(TransportsTest, ABusyProcessIsReadAgainAndAgain)
{
	server process("load");
	struct memory *memory = GetParam().open(process, dir.socket(process.pid()));

	ASSERT_TRUE(memory);
	for (int i = 0; i < 50; i++)
		EXPECT_TRUE(contains(answer(memory, "stats"), "\"entry\""));
	memory_close(memory);
}

INSTANTIATE_TEST_SUITE_P(Ways, TransportsTest,
			 testing::Values(way_of_looking{"Process", by_process},
					 way_of_looking{"Socket", by_socket},
					 way_of_looking{"Copy", by_copy}),
			 [](const auto &info) { return info.param.name; });

} /* namespace */
