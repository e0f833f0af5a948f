/* SPDX-License-Identifier: MIT */
/*
 * A runtime directory for a test, clients of the control sockets in it, and a process that
 * listens there in place of libslab.
 */
#ifndef TESTS_SUPPORT_CLIENT_H
#define TESTS_SUPPORT_CLIENT_H

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "folder.h"
#include "process.h"

namespace slab_test
{

/* A directory that is SLAB_RUNTIME_DIR for this process and its children, of
 * which AddressSanitizer leaves what they do to their objects to libslab. */
class runtime_dir
{
public:
	runtime_dir()
	{
		setenv("SLAB_RUNTIME_DIR", path().c_str(), 1);
		setenv("SLAB_TOOLS", "off", 1);
	}

	~runtime_dir()
	{
		unsetenv("SLAB_RUNTIME_DIR");
	}

	runtime_dir(const runtime_dir &) = delete;
	runtime_dir &operator=(const runtime_dir &) = delete;

	std::string socket(pid_t pid) const
	{
		return path() + "/slab/" + std::to_string(pid) + ".sock";
	}

	const std::string &path() const
	{
		return folder_.path;
	}

private:
	const folder folder_;
};

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

		while (n > 0 && poll(&wait, 1, static_cast<int>(child_seconds * 1000)) == 1) {
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

/* A socket where clients look for the control socket of this process, or -1. */
inline int listen_in(const runtime_dir &dir)
{
	struct sockaddr_un address = {};
	const int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	address.sun_family = AF_UNIX;
	std::strncpy(address.sun_path, dir.socket(getpid()).c_str(), sizeof(address.sun_path) - 1);
	if (bind(listener, reinterpret_cast<struct sockaddr *>(&address), sizeof(address)) != 0 ||
	    listen(listener, 64) != 0)
		return -1;
	return listener;
}

/* A process that answers every request with `answer`. */
template <typename Check>
void with_impostor(const runtime_dir &dir, const char *answer, Check check)
{
	mkdir((dir.path() + "/slab").c_str(), 0700);
	int ready[2];

	ASSERT_EQ(pipe2(ready, O_CLOEXEC), 0);
	const pid_t pid = fork();

	if (pid == 0) {
		const int listener = listen_in(dir);

		alarm(child_seconds);
		if (listener < 0 || write(ready[1], "", 1) != 1)
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

#endif /* TESTS_SUPPORT_CLIENT_H */
