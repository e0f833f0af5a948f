/* SPDX-License-Identifier: MIT */
/*
 * What the tests of the control socket and of slabinfo share: servers (control_server.c),
 * their threads, runs of slabinfo.
 */
#pragma once

#include "answers.h"

inline bool exists(const std::string &path)
{
	return access(path.c_str(), F_OK) == 0;
}

/* A server that is ready; see control_server.c for the modes and the tasks. */
class server : public child_process
{
public:
	explicit server(const std::string &mode = "plain",
			const std::string &program = CONTROL_SERVER)
		: server(std::vector<std::string>{program, mode})
	{
	}

	explicit server(const std::vector<std::string> &words) : child_process(words)
	{
		const std::string ready = line();

		EXPECT_EQ(ready.compare(0, 6, "ready "), 0) << ready;
	}

	/* Makes it do something; returns what it prints meanwhile. */
	std::string do_task(char task)
	{
		std::string printed, next;

		write_line(std::string(1, task));
		while ((next = line()) != "done" && !next.empty())
			printed += next;
		EXPECT_EQ(next, "done");
		return printed;
	}
};

inline result slabinfo(const std::vector<std::string> &words = {})
{
	return run_tool(SLABINFO, words);
}

/* What it prints when it succeeds without a word on stderr. */
inline std::string output_of(const std::vector<std::string> &words)
{
	const result got = slabinfo(words);

	EXPECT_EQ(got.status, 0) << got.err;
	EXPECT_EQ(got.err, "");
	return got.out;
}

inline std::string file_text(const std::string &path)
{
	std::ifstream file(path);
	std::stringstream text;

	EXPECT_TRUE(file.is_open()) << path;
	text << file.rdbuf();
	return text.str();
}

inline void write_file(const std::string &path, const std::string &text)
{
	std::ofstream file(path);

	file << text;
	EXPECT_TRUE(file.flush()) << path;
}

/* --- threads of a server ------------------------------------------------------------ */

/* The directory in /proc of the thread called `name`, "" when there is none. */
inline std::string find_thread(pid_t pid, const std::string &name)
{
	const std::string tasks = "/proc/" + std::to_string(pid) + "/task/";
	DIR *listing = opendir(tasks.c_str());
	std::string found;

	while (const struct dirent *entry = listing ? readdir(listing) : nullptr) {
		std::string comm;

		std::getline(std::ifstream(tasks + entry->d_name + "/comm") >> std::ws, comm);
		if (comm == name)
			found = tasks + entry->d_name;
	}
	if (listing)
		closedir(listing);
	return found;
}

/* The named line of /proc's status file. */
inline std::string status_line(const std::string &task, const std::string &name)
{
	std::ifstream status(task + "/status");
	std::string line;

	while (std::getline(status, line))
		if (line.compare(0, name.size() + 1, name + ":") == 0)
			return line.substr(name.size() + 2);
	return "";
}
