/* SPDX-License-Identifier: MIT */
/* A runtime directory for a test, and clients of the control sockets in it. */
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
