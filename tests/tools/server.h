/* SPDX-License-Identifier: MIT */
/*
 * What the tests of the control socket and of slabinfo share: a runtime
 * directory of their own, servers in it, runs of slabinfo, raw clients.
 */
#ifndef TESTS_TOOLS_SERVER_H
#define TESTS_TOOLS_SERVER_H

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "../support/process.h"

namespace slab_test
{

/* A directory that is SLAB_RUNTIME_DIR for this process and its children. */
class runtime_dir
{
public:
	runtime_dir()
	{
		char name[] = "/tmp/slab-test-XXXXXX";

		path_ = mkdtemp(name);
		setenv("SLAB_RUNTIME_DIR", path_.c_str(), 1);
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

/* A server that is ready; see control_server.c for the modes. */
class server : public child_process
{
public:
	explicit server(const std::string &mode = "plain") : child_process({CONTROL_SERVER, mode})
	{
		if (mode == "fork")
			child_line_ = line();
		ready_ = line();
		if (ready_.compare(0, 5, "child") == 0)
			std::swap(ready_, child_line_);
		EXPECT_EQ(ready_.compare(0, 6, "ready "), 0) << ready_;
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

inline result slabinfo(std::vector<std::string> words = {})
{
	words.insert(words.begin(), SLABINFO);
	child_process tool(words);
	result got;

	got.out = tool.rest_of_output();
	got.err = tool.errors();
	got.status = tool.wait();
	return got;
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

	/* What comes until the server closes, which must be within `seconds`. */
	std::string answer(int seconds = 20)
	{
		std::string text;
		struct pollfd wait = {fd_, POLLIN, 0};
		char buffer[4096];
		ssize_t n = 1;

		while (n > 0 && poll(&wait, 1, seconds * 1000) == 1) {
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

} /* namespace slab_test */

#endif /* TESTS_TOOLS_SERVER_H */
