/* SPDX-License-Identifier: MIT */
/*
 * A runtime directory for a test, clients of the control sockets in it, and a process that
 * listens there in place of libslab.
 */
#pragma once

#include "folder.h"
#include "process.h"

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

	~runtime_dir() { unsetenv("SLAB_RUNTIME_DIR"); }

	runtime_dir(const runtime_dir &) = delete;
	runtime_dir &operator=(const runtime_dir &) = delete;

	std::string socket(pid_t pid) const
	{
		return path() + "/slab/" + std::to_string(pid) + ".sock";
	}

	const std::string &path() const { return folder_.path; }

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

	~client() { close(fd_); }

	client(const client &) = delete;
	client &operator=(const client &) = delete;

	bool connected() const { return connected_; }

	void send(const std::string &text)
	{
		/* The server may have closed already. */
		(void)::send(fd_, text.data(), text.size(), MSG_NOSIGNAL);
	}

	void end_requests() { shutdown(fd_, SHUT_WR); }

	/* This number of bytes, or what comes until the server closes. */
	std::string receive(std::size_t size)
	{
		std::string text(size, '\0');
		const ssize_t n = recv(fd_, text.data(), size, MSG_WAITALL);

		text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
		return text;
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

/* The same for "read", after which the server waits for another request. */
inline std::string ask_last(const std::string &path, const std::string &request)
{
	client asking(path);

	EXPECT_TRUE(asking.connected()) << path << ": " << std::strerror(errno);
	asking.send(request);
	asking.end_requests();
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

/* A process that listens where libslab would, and does `serve` with that socket. */
class impostor
{
public:
	template <typename Serve> impostor(const runtime_dir &dir, Serve serve)
	{
		int ready[2];
		char byte;

		mkdir((dir.path() + "/slab").c_str(), 0700);
		EXPECT_EQ(pipe2(ready, O_CLOEXEC), 0);
		pid_ = fork();
		if (pid_ == 0) {
			const int listener = listen_in(dir);

			alarm(child_seconds);
			if (listener >= 0 && write(ready[1], "", 1) == 1)
				serve(listener);
			_exit(1);
		}
		close(ready[1]);
		EXPECT_EQ(read(ready[0], &byte, 1), 1);
		close(ready[0]);
	}

	~impostor() { end(); }

	impostor(const impostor &) = delete;
	impostor &operator=(const impostor &) = delete;

	void end()
	{
		if (pid_ > 0) {
			kill(pid_, SIGKILL);
			waitpid(pid_, nullptr, 0);
		}
		pid_ = -1;
	}

	pid_t pid() const { return pid_; }

private:
	pid_t pid_ = -1;
};

/* Serve the next client: `answer` makes an answer of its request. */
template <typename Answer> void answer_one(int listener, Answer answer)
{
	const int fd = accept(listener, nullptr, nullptr);
	char request[200] = "";

	if (fd >= 0 && recv(fd, request, sizeof(request) - 1, 0) > 0) {
		const std::string text = answer(std::string(request));

		send(fd, text.data(), text.size(), MSG_NOSIGNAL);
	}
	close(fd);
}

/* A process that answers every request with `answer`. */
template <typename Check>
void with_impostor(const runtime_dir &dir, const char *answer, Check check)
{
	const impostor process(dir, [answer](int listener) {
		for (;;)
			answer_one(listener, [answer](const std::string &) { return answer; });
	});

	check(process.pid());
}
