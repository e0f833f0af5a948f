/* SPDX-License-Identifier: MIT */
/*
 * What the tests of the control socket and of slabinfo share: a runtime
 * directory of their own, servers in it, runs of slabinfo, raw clients.
 */
#ifndef TESTS_TOOLS_SERVER_H
#define TESTS_TOOLS_SERVER_H

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>
#include <json-c/json.h>

#include "../support/process.h"

namespace slab_test
{

/* A directory that is SLAB_RUNTIME_DIR for this process and its children, of
 * which AddressSanitizer leaves what they do to their objects to libslab. */
class runtime_dir
{
public:
	runtime_dir()
	{
		char name[] = "/tmp/slab-test-XXXXXX";

		path_ = mkdtemp(name);
		setenv("SLAB_RUNTIME_DIR", path_.c_str(), 1);
		setenv("SLAB_TOOLS", "off", 1);
	}

	~runtime_dir()
	{
		const std::string command = "rm -rf " + path_;

		EXPECT_EQ(std::system(command.c_str()), 0);
		unsetenv("SLAB_RUNTIME_DIR");
	}

	runtime_dir(const runtime_dir &) = delete;
	runtime_dir &operator=(const runtime_dir &) = delete;

	std::string socket(pid_t pid) const
	{
		return path_ + "/slab/" + std::to_string(pid) + ".sock";
	}

	const std::string &path() const
	{
		return path_;
	}

private:
	std::string path_;
};

inline bool exists(const std::string &path)
{
	return access(path.c_str(), F_OK) == 0;
}

/* A process started with pipes on its standard streams. */
class child_process
{
public:
	explicit child_process(const std::vector<std::string> &words)
	{
		int in[2], out[2], err[2];

		EXPECT_EQ(pipe2(in, O_CLOEXEC) | pipe2(out, O_CLOEXEC) | pipe2(err, O_CLOEXEC), 0);
		pid_ = fork();
		if (pid_ == 0) {
			std::vector<char *> argv;

			for (const std::string &word : words)
				argv.push_back(const_cast<char *>(word.c_str()));
			argv.push_back(nullptr);
			alarm(child_seconds);
			dup2(in[0], STDIN_FILENO);
			dup2(out[1], STDOUT_FILENO);
			dup2(err[1], STDERR_FILENO);
			execv(argv[0], argv.data());
			_exit(127);
		}
		close(in[0]);
		close(out[1]);
		close(err[1]);
		in_ = in[1];
		out_ = out[0];
		err_ = err[0];
	}

	~child_process()
	{
		wait();
		close(out_);
		close(err_);
	}

	child_process(const child_process &) = delete;
	child_process &operator=(const child_process &) = delete;

	pid_t pid() const
	{
		return pid_;
	}

	/* One line of what it prints, without the newline. */
	std::string line()
	{
		std::string text;
		char byte;

		while (read(out_, &byte, 1) == 1 && byte != '\n')
			text += byte;
		return text;
	}

	std::string rest_of_output()
	{
		return read_all(out_);
	}

	std::string errors()
	{
		return read_all(err_);
	}

	void write_line(const std::string &text)
	{
		const std::string line = text + "\n";

		EXPECT_EQ(write(in_, line.data(), line.size()), static_cast<ssize_t>(line.size()));
	}

	void end_input()
	{
		if (in_ >= 0)
			close(in_);
		in_ = -1;
	}

	/* Its exit status, after the end of its input; -1 when a signal ended it. */
	int wait()
	{
		int status = 0;

		end_input();
		if (pid_ > 0 && waitpid(pid_, &status, 0) == pid_)
			status_ = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
		pid_ = -1;
		return status_;
	}

private:
	pid_t pid_ = -1;
	int in_ = -1, out_ = -1, err_ = -1;
	int status_ = -1;
};

/* A server that is ready; see control_server.c for the modes and the tasks. */
class server : public child_process
{
public:
	explicit server(const std::string &mode = "plain",
			const std::string &program = CONTROL_SERVER)
		: child_process({program, mode})
	{
		if (mode == "fork")
			child_line_ = line();
		ready_ = line();
		if (ready_.compare(0, 5, "child") == 0)
			std::swap(ready_, child_line_);
		EXPECT_EQ(ready_.compare(0, 6, "ready "), 0) << ready_;
	}

	/* Have it do something; what it says about it. */
	std::string do_task(char task)
	{
		std::string said, next;

		write_line(std::string(1, task));
		while ((next = line()) != "done" && !next.empty())
			said += next;
		EXPECT_EQ(next, "done");
		return said;
	}

	/* What slab_control_fd() returned. */
	int control_fd() const
	{
		return std::atoi(ready_.c_str() + 6);
	}

	const std::string &child_line() const
	{
		return child_line_;
	}

private:
	std::string ready_, child_line_;
};

struct result {
	int status;
	std::string out, err;
};

/* A program to its end, without input. */
inline result run_tool(const std::vector<std::string> &words)
{
	child_process tool(words);
	result got;

	got.out = tool.rest_of_output();
	got.err = tool.errors();
	got.status = tool.wait();
	return got;
}

inline result run_tool(const std::string &program, std::vector<std::string> words)
{
	words.insert(words.begin(), program);
	return run_tool(words);
}

inline result slabinfo(const std::vector<std::string> &words = {})
{
	return run_tool(SLABINFO, words);
}

/* A connection to a control socket. */
class client
{
public:
	explicit client(const std::string &path)
	{
		struct sockaddr_un address = {};

		address.sun_family = AF_UNIX;
		std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
		fd_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		connected_ = connect(fd_, reinterpret_cast<struct sockaddr *>(&address),
				     sizeof(address)) == 0;
	}

	~client()
	{
		close(fd_);
	}

	client(const client &) = delete;
	client &operator=(const client &) = delete;

	bool connected() const
	{
		return connected_;
	}

	void send(const std::string &text)
	{
		/* The server may have closed already. */
		(void)::send(fd_, text.data(), text.size(), MSG_NOSIGNAL);
	}

	void end_requests()
	{
		shutdown(fd_, SHUT_WR);
	}

	/* What comes until the server closes. It may have much to do for others before, on a
	 * busy machine, but it is never silent for so long. */
	std::string answer()
	{
		std::string text;
		struct pollfd wait = {fd_, POLLIN, 0};
		char buffer[4096];
		ssize_t n = 1;

		while (n > 0 && poll(&wait, 1, child_seconds * 1000) == 1) {
			n = recv(fd_, buffer, sizeof(buffer), 0);
			if (n > 0)
				text.append(buffer, static_cast<std::size_t>(n));
		}
		EXPECT_LE(n, 0) << "the server keeps the connection open";
		return text;
	}

private:
	int fd_ = -1;
	bool connected_ = false;
};

inline std::string ask(const std::string &path, const std::string &request)
{
	client asking(path);

	EXPECT_TRUE(asking.connected()) << path << ": " << std::strerror(errno);
	asking.send(request);
	return asking.answer();
}

inline bool contains(const std::string &text, const std::string &words)
{
	return text.find(words) != std::string::npos;
}

/* --- text ------------------------------------------------------------------------ */

inline std::vector<std::string> lines_of(const std::string &text)
{
	std::istringstream stream(text);
	std::vector<std::string> lines;
	std::string line;

	while (std::getline(stream, line))
		lines.push_back(line);
	return lines;
}

inline std::vector<std::string> words_of(const std::string &line)
{
	std::istringstream stream(line);
	std::vector<std::string> words;
	std::string word;

	while (stream >> word)
		words.push_back(word);
	return words;
}

/* Those of slabinfo's table: what is below it is left out. */
inline std::vector<std::string> table_of(const std::string &text)
{
	return lines_of(text.substr(0, text.find("\n\n")));
}

/* The columns of the row of cache `name`. */
inline std::vector<std::string> row_of(const std::string &table, const std::string &name)
{
	for (const std::string &line : lines_of(table)) {
		const std::vector<std::string> words = words_of(line);

		if (!words.empty() && words[0] == name)
			return words;
	}
	return {};
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

/* --- JSON ------------------------------------------------------------------------- */

struct json_deleter {
	void operator()(struct json_object *object) const
	{
		json_object_put(object);
	}
};
using json = std::unique_ptr<struct json_object, json_deleter>;

inline struct json_object *member(struct json_object *object, const std::string &key)
{
	struct json_object *found = nullptr;

	EXPECT_TRUE(json_object_object_get_ex(object, key.c_str(), &found)) << key;
	return found;
}

inline std::uint64_t number(struct json_object *object, const std::string &key)
{
	return json_object_get_uint64(member(object, key));
}

inline struct json_object *find_cache(struct json_object *document, const std::string &name)
{
	struct json_object *caches = member(document, "caches");

	for (std::size_t i = 0; i < json_object_array_length(caches); i++) {
		struct json_object *cache = json_object_array_get_idx(caches, i);

		if (name == json_object_get_string(member(cache, "name")))
			return cache;
	}
	ADD_FAILURE() << "no cache " << name;
	return nullptr;
}

/* What is answered to a request, as JSON; it must be true that it is "ok". */
inline json query_json(const std::string &path, const std::string &request)
{
	json answer(json_tokener_parse(ask(path, "slab/2 " + request + "\n").c_str()));

	EXPECT_TRUE(json_object_get_boolean(member(answer.get(), "ok"))) << request;
	return answer;
}

inline std::string text(struct json_object *object, const std::string &key)
{
	const char *value = json_object_get_string(member(object, key));

	return value ? value : "";
}

/* What --json prints, without the numbers that the time alone changes. */
inline std::string quiet_json(const result &got)
{
	json document(json_tokener_parse(got.out.c_str()));
	struct json_object *process;

	EXPECT_EQ(got.status, 0) << got.err;
	if (!document)
		return "none";
	process = member(document.get(), "process");
	json_object_object_del(process, "uptime");
	json_object_object_del(process, "now");
	return json_object_to_json_string_ext(document.get(), JSON_C_TO_STRING_PRETTY);
}

/* --- impostors --------------------------------------------------------------------- */

/* A process that answers every request with `answer`. */
template <typename Check>
void with_impostor(const runtime_dir &dir, const char *answer, Check check)
{
	mkdir((dir.path() + "/slab").c_str(), 0700);
	int ready[2];

	ASSERT_EQ(pipe2(ready, O_CLOEXEC), 0);
	const pid_t pid = fork();

	if (pid == 0) {
		struct sockaddr_un address = {};
		const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

		alarm(child_seconds);
		address.sun_family = AF_UNIX;
		std::strncpy(address.sun_path, dir.socket(getpid()).c_str(),
			     sizeof(address.sun_path) - 1);
		if (bind(listener, reinterpret_cast<struct sockaddr *>(&address),
			 sizeof(address)) ||
		    listen(listener, 8) || write(ready[1], "", 1) != 1)
			_exit(1);
		for (;;) {
			const int fd = accept(listener, nullptr, nullptr);
			char request[100];

			if (fd >= 0 && recv(fd, request, sizeof(request), 0) > 0)
				send(fd, answer, std::strlen(answer), MSG_NOSIGNAL);
			close(fd);
		}
	}
	char byte;

	EXPECT_EQ(read(ready[0], &byte, 1), 1);
	check(pid);
	kill(pid, SIGKILL);
	waitpid(pid, nullptr, 0);
	close(ready[0]);
	close(ready[1]);
}

} /* namespace slab_test */

#endif /* TESTS_TOOLS_SERVER_H */
