/* SPDX-License-Identifier: MIT */
/*
 * A process that always answers the same (golden/stats.json), and the fixture of tests that
 * look at what slabinfo prints about it.
 */
#ifndef TESTS_TOOLS_VIEWS_H
#define TESTS_TOOLS_VIEWS_H

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../support/server.h"

namespace slab_test
{

inline std::string file_text(const std::string &path)
{
	std::ifstream file(path);
	std::stringstream text;

	text << file.rdbuf();
	EXPECT_TRUE(file.good()) << path;
	return text.str();
}

inline std::string golden_path(const std::string &name)
{
	return std::string(GOLDEN) + "/" + name;
}

inline void expect_golden(const std::string &name, const std::string &got)
{
	if (std::getenv("GOLDEN_WRITE")) {
		std::ofstream(golden_path(name)) << got;
		return;
	}
	EXPECT_EQ(got, file_text(golden_path(name))) << name;
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
	constant_process(const runtime_dir &dir, const std::string &stats) : stats_(stats)
	{
		int ready[2], heard[2];
		char byte;

		mkdir((dir.path() + "/slab").c_str(), 0700);
		EXPECT_EQ(pipe2(ready, O_CLOEXEC) | pipe2(heard, O_CLOEXEC | O_NONBLOCK), 0);
		heard_ = heard[0];
		pid_ = fork();
		if (pid_ == 0)
			serve(dir, ready[1], heard[1]);
		close(heard[1]);
		EXPECT_EQ(read(ready[0], &byte, 1), 1);
		close(ready[0]);
		close(ready[1]);
	}

	~constant_process()
	{
		kill(pid_, SIGKILL);
		waitpid(pid_, nullptr, 0);
		close(heard_);
	}

	constant_process(const constant_process &) = delete;
	constant_process &operator=(const constant_process &) = delete;

	pid_t pid() const
	{
		return pid_;
	}

	/* The requests since the last call, without "stats". */
	std::vector<std::string> requests()
	{
		std::vector<std::string> asked;

		for (const std::string &line : lines_of(read_all(heard_)))
			if (line != "slab/2 stats")
				asked.push_back(line);
		return asked;
	}

private:
	std::string answer_to(const std::string &request) const
	{
		static const std::vector<std::pair<std::string, std::string>> answers = {
			{"shrink", "\"slabs\":3"},
			{"validate", "\"problems\":0"},
			{"debug", "\"before\":\"-\",\"after\":\"F\",\"legacy\":[]"},
			{"sample", "\"before\":0,\"after\":5"},
			{"traces", "\"tracked\":true,\"now\":1000,\"sites\":[]"},
		};

		for (const auto &[word, members] : answers)
			if (contains(request, "slab/2 " + word))
				return "{\"slab\":2,\"ok\":true," + members + "}\n";
		return stats_;
	}

	[[noreturn]] void serve(const runtime_dir &dir, int ready, int heard) const
	{
		const int listener = listen_in(dir);

		alarm(child_seconds);
		if (listener < 0 || write(ready, "", 1) != 1)
			_exit(1);
		for (;;) {
			const int fd = accept(listener, nullptr, nullptr);
			char request[200];
			const ssize_t n = recv(fd, request, sizeof(request), 0);

			if (n > 0 && write(heard, request, static_cast<std::size_t>(n)) == n) {
				const std::string answer = answer_to(
					std::string(request, static_cast<std::size_t>(n)));

				send(fd, answer.data(), answer.size(), MSG_NOSIGNAL);
			}
			close(fd);
		}
	}

	std::string stats_;
	pid_t pid_ = -1;
	int heard_ = -1;
};

class ViewsTest : public testing::Test
{
protected:
	/* What slabinfo prints; it must succeed with nothing on stderr. */
	static std::string output_of(const std::vector<std::string> &words)
	{
		const result got = slabinfo(words);

		EXPECT_EQ(got.status, 0) << got.err;
		EXPECT_EQ(got.err, "");
		return got.out;
	}

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

} /* namespace slab_test */

#endif /* TESTS_TOOLS_VIEWS_H */
