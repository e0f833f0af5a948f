/* SPDX-License-Identifier: MIT */
/*
 * What the tests of the control socket and of slabinfo share: servers (control_server.c),
 * their threads, runs of slabinfo.
 */
#pragma once

#include "answers.h"
#include "child_process.h"
#include "client.h"

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
		if (words.back() == "fork")
			child_line_ = line();
		ready_ = line();
		if (ready_.compare(0, 5, "child") == 0)
			std::swap(ready_, child_line_);
		EXPECT_EQ(ready_.compare(0, 6, "ready "), 0) << ready_;
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

	/* What slab_control_fd() returned. */
	int control_fd() const { return std::atoi(ready_.c_str() + 6); }

	const std::string &child_line() const { return child_line_; }

private:
	std::string ready_, child_line_;
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

/* It does nothing but print this error message. */
inline void expect_error(const std::vector<std::string> &words, const std::string &message,
			 int status = 2)
{
	const result got = slabinfo(words);

	EXPECT_EQ(got.err, "slabinfo: " + message + "\n");
	EXPECT_EQ(got.status, status) << testing::PrintToString(words);
	EXPECT_EQ(got.out, "");
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

/* The default table without the lines about resident memory, which changes all the time. */
inline std::string caches_part(const std::string &table)
{
	return table.substr(0, table.find("\nResident "));
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
