/* SPDX-License-Identifier: MIT */
/* slab-exporter as the tests run it, and a client for what speaks HTTP. */
#ifndef TESTS_TOOLS_EXPORTER_H
#define TESTS_TOOLS_EXPORTER_H

#include "../support/server.h"

#include <arpa/inet.h>
#include <netinet/in.h>

namespace slab_test
{

/* A TCP connection to a port of this machine. */
class tcp_client
{
public:
	explicit tcp_client(int port)
	{
		struct sockaddr_in address = {};

		address.sin_family = AF_INET;
		address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		address.sin_port = htons(static_cast<std::uint16_t>(port));
		fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		connected_ = fd_ >= 0 && connect(fd_, reinterpret_cast<struct sockaddr *>(&address),
						 sizeof(address)) == 0;
	}

	~tcp_client()
	{
		close(fd_);
	}

	tcp_client(const tcp_client &) = delete;
	tcp_client &operator=(const tcp_client &) = delete;

	bool connected() const
	{
		return connected_;
	}

	void send(const std::string &text)
	{
		(void)::send(fd_, text.data(), text.size(), MSG_NOSIGNAL);
	}

	/* What comes until the server closes. */
	std::string rest()
	{
		return read_all(fd_);
	}

private:
	int fd_ = -1;
	bool connected_ = false;
};

struct reply {
	int status = 0;
	std::string headers, body;

	/* The value of a header, "" when there is none. */
	std::string header(const std::string &name) const
	{
		for (const std::string &line : lines_of(headers)) {
			if (line.compare(0, name.size() + 2, name + ": ") == 0)
				return line.substr(name.size() + 2,
						   line.find('\r') - name.size() - 2);
		}
		return "";
	}
};

inline std::string request_text(const std::string &method, const std::string &path,
				const std::string &headers = "")
{
	return method + " " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" +
	       headers + "\r\n";
}

inline reply parse_reply(const std::string &text)
{
	const std::size_t end = text.find("\r\n\r\n");
	reply got;

	if (end == std::string::npos)
		return got;
	got.headers = text.substr(0, end + 2);
	got.body = text.substr(end + 4);
	(void)std::sscanf(text.c_str(), "HTTP/1.1 %d", &got.status);
	return got;
}

inline reply http(int port, const std::string &method, const std::string &path,
		  const std::string &headers = "")
{
	tcp_client client(port);

	client.send(request_text(method, path, headers));
	return parse_reply(client.rest());
}

class exporter : public child_process
{
public:
	explicit exporter(std::vector<std::string> options = {},
			  const std::string &listen = "127.0.0.1:0")
		: child_process(command(std::move(options), listen))
	{
		const std::string first = line();
		const std::size_t colon = first.rfind(':');

		if (colon != std::string::npos)
			port_ = std::atoi(first.c_str() + colon + 1);
		line_ = first;
	}

	~exporter()
	{
		end(SIGTERM);
	}

	/* Its exit status. */
	int end(int number)
	{
		if (child_process::pid() > 0)
			kill(child_process::pid(), number);
		return wait();
	}

	int port() const
	{
		return port_;
	}

	/* The line that it printed. */
	const std::string &first_line() const
	{
		return line_;
	}

	reply get(const std::string &path = "/metrics", const std::string &headers = "") const
	{
		return http(port_, "GET", path, headers);
	}

private:
	static std::vector<std::string> command(std::vector<std::string> options,
						const std::string &listen)
	{
		options.insert(options.begin(), {SLAB_EXPORTER, "--listen", listen});
		return options;
	}

	int port_ = 0;
	std::string line_;
};

/* The value of a sample, by its name and all its labels as they are written; -1 when
 * there is none. */
inline double sample(const std::string &text, const std::string &name)
{
	for (const std::string &line : lines_of(text)) {
		if (line.compare(0, name.size() + 1, name + " ") == 0)
			return std::atof(line.c_str() + name.size() + 1);
	}
	return -1;
}

/* A process that can be connected to and never answers. */
struct mute : impostor {
	explicit mute(const runtime_dir &dir)
		: impostor(dir, [](int) {
			  for (;;)
				  pause();
		  })
	{
	}
};

class ExporterTest : public testing::Test
{
protected:
	runtime_dir dir;
};

} /* namespace slab_test */

#endif /* TESTS_TOOLS_EXPORTER_H */
