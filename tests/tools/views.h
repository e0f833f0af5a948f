/* SPDX-License-Identifier: MIT */
/*
 * A process that always answers the same (golden/stats.json), and the fixture of tests that
 * look at what slabinfo prints about it.
 */
#pragma once

#include "../support/server.h"

inline std::string golden_path(const std::string &name)
{
	return std::string(GOLDEN) + "/" + name;
}

/* One line, as the control protocol wants it. */
inline std::string in_one_line(std::string text)
{
	for (char &byte : text)
		byte = byte == '\n' ? ' ' : byte;
	return text + "\n";
}

/* A process that answers each kind of request with one text, and notes the requests. */
class constant_process
{
public:
	constant_process(const runtime_dir &dir, const std::string &stats)
		: process_(dir, [this, &stats](int listener) {
			  for (;;)
				  answer_one(listener, [this, &stats](const std::string &request) {
					  EXPECT_GT(
						  write(heard_.in, request.data(), request.size()),
						  0);
					  return answer_to(request, stats);
				  });
		  })
	{
	}

	pid_t pid() const { return process_.pid(); }

	/* The requests since the last call, without "stats" and "ping". */
	std::vector<std::string> requests()
	{
		std::vector<std::string> asked;

		for (const std::string &line : lines_of(read_all(heard_.out)))
			if (line != "slab/2 stats" && line != "slab/2 ping")
				asked.push_back(line);
		return asked;
	}

private:
	struct channel {
		channel()
		{
			int ends[2];

			EXPECT_EQ(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
			out = ends[0];
			in = ends[1];
		}

		~channel()
		{
			close(out);
			close(in);
		}

		int out, in;
	};

	static std::string answer_to(const std::string &request, const std::string &stats)
	{
		static const std::vector<std::pair<std::string, std::string>> answers = {
			{"shrink", "\"slabs\":3"},
			{"validate", "\"problems\":0"},
			{"debug", "\"before\":\"-\",\"after\":\"F\",\"legacy_slabs\":0"},
			{"sample", "\"before\":0,\"after\":5"},
			{"traces", "\"tracked\":true,\"now\":1000,\"sites\":[]"},
		};

		for (const auto &[word, members] : answers)
			if (contains(request, "slab/2 " + word))
				return "{\"slab\":2,\"ok\":true," + members + "}\n";
		return stats;
	}

	channel heard_;
	impostor process_;
};

class ViewsTest : public testing::Test
{
protected:
	/* The names in the first column, without the header, and what is below the table. */
	static std::vector<std::string> names_in(const std::vector<std::string> &words)
	{
		std::vector<std::string> names;

		for (const std::string &line : table_of(output_of(words)))
			names.push_back(words_of(line).at(0));
		if (!names.empty())
			names.erase(names.begin());
		return names;
	}

	using names = std::vector<std::string>;

	runtime_dir dir;
	constant_process process{dir, in_one_line(file_text(golden_path("stats.json")))};
};
