/* SPDX-License-Identifier: MIT */
/* The program against a server that misbehaves: what it counts, and what it sends. */
extern "C" {
#include "message.h"
}

#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <ldap.h>
#include <mutex>
#include <netinet/in.h>
#include <string>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace
{

/* One connection of the server. */
class Peer
{
public:
	Peer(int fd, int number) : number(number), fd_(fd) {}

	/* A whole message; "" at the end of the connection. */
	std::string receive()
	{
		for (;;) {
			ssize_t length = message_length(bytes_.data(), bytes_.size());
			char more[4096];

			if (length > 0 && (size_t)length <= bytes_.size()) {
				std::string message = bytes_.substr(0, (size_t)length);

				bytes_.erase(0, (size_t)length);
				return message;
			}
			ssize_t n = recv(fd_, more, sizeof(more), 0);
			if (n <= 0)
				return "";
			bytes_.append(more, (size_t)n);
		}
	}

	void send(const std::string &bytes)
	{
		(void)::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
	}

	void end()
	{
		shutdown(fd_, SHUT_RDWR);
	}

	int number; /* of connections before it */

private:
	int fd_;
	std::string bytes_;
};

/* serve() runs in a thread for each connection. */
class Server
{
public:
	explicit Server(std::function<void(Peer &)> serve) : serve_(std::move(serve))
	{
		struct sockaddr_in address = {};
		socklen_t size = sizeof(address);

		address.sin_family = AF_INET;
		address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		EXPECT_EQ(bind(fd_, (struct sockaddr *)&address, size), 0);
		EXPECT_EQ(listen(fd_, 100), 0);
		getsockname(fd_, (struct sockaddr *)&address, &size);
		uri = "ldap://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
		listener_ = std::thread([this] { accept_all(); });
	}

	/* When the client has ended. */
	~Server()
	{
		shutdown(fd_, SHUT_RDWR);
		listener_.join();
		for (std::thread &thread : threads_)
			thread.join();
		close(fd_);
	}

	std::string uri;

private:
	void accept_all()
	{
		for (int number = 0;; number++) {
			int fd = accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC);

			if (fd < 0)
				return;
			threads_.emplace_back([this, fd, number] {
				Peer peer(fd, number);

				serve_(peer);
				close(fd);
			});
		}
	}

	std::function<void(Peer &)> serve_;
	int fd_;
	std::thread listener_;
	std::vector<std::thread> threads_;
};

std::string answer(int id, ber_tag_t tag, int code)
{
	BerElement *ber = ber_alloc_t(LBER_USE_DER);
	struct berval bytes;
	std::string message;

	ber_printf(ber, "{it{ess}}", id, tag, code, "", "");
	ber_flatten2(ber, &bytes, 0);
	message.assign(bytes.bv_val, bytes.bv_len);
	ber_free(ber, 1);
	return message;
}

int id_of(const std::string &message)
{
	return message[4]; /* small messages, numbers below 128 */
}

bool is_unbind(const std::string &message)
{
	return message.empty() || message[5] == (char)LDAP_REQ_UNBIND;
}

/* Answers a compare as it must be. */
std::string compare_true(const std::string &message)
{
	return answer(id_of(message), LDAP_RES_COMPARE, LDAP_COMPARE_TRUE);
}

struct outcome {
	int status;
	std::string text; /* of standard output */
};

outcome load(const Server &server, const std::string &options)
{
	std::string command =
		std::string(LDAPLOAD) + " -H " + server.uri + " --mix compare " + options + " 2>&1";
	FILE *pipe = popen(command.c_str(), "re");
	char buffer[4096];
	outcome found = {};

	while (size_t n = fread(buffer, 1, sizeof(buffer), pipe))
		found.text.append(buffer, n);
	found.status = WEXITSTATUS(pclose(pipe));
	return found;
}

void expect_said(const outcome &found, const std::string &part)
{
	EXPECT_NE(found.text.find(part), std::string::npos) << found.text;
}

TEST(LdapLoadBehaviour, NoticeOfDisconnectionCountsWithItsCode)
{
	Server server([](Peer &peer) {
		while (!is_unbind(peer.receive()))
			peer.send(answer(0, LDAP_RES_EXTENDED, LDAP_UNAVAILABLE));
	});
	outcome found = load(server, "-c 1 --operations 1");

	EXPECT_EQ(found.status, 1);
	expect_said(found, "unexpected: 1 compare: Server is unavailable (52)");
}

TEST(LdapLoadBehaviour, ClosedConnectionIsOpenedAgain)
{
	Server server([](Peer &peer) {
		std::string message = peer.receive();

		if (peer.number > 0 && !is_unbind(message))
			peer.send(compare_true(message));
		if (peer.number > 0)
			peer.receive();
	});
	outcome found = load(server, "-c 1 --operations 2");

	EXPECT_EQ(found.status, 1);
	expect_said(found, "unexpected: 1 compare: connection lost (-1)");
	expect_said(found, "compare            1 ");
}

TEST(LdapLoadBehaviour, MalformedAnswerEndsTheConnection)
{
	Server server([](Peer &peer) {
		peer.receive();
		peer.send("HTTP/1.1 400 Bad Request\r\n");
		EXPECT_EQ(peer.receive(), "");
	});
	outcome found = load(server, "-c 1 --operations 1");

	EXPECT_EQ(found.status, 1);
	expect_said(found, "unexpected: 1 compare: malformed answer (-4)");
}

TEST(LdapLoadBehaviour, AnswerToNoRequestIsMalformed)
{
	Server server([](Peer &peer) {
		peer.receive();
		peer.send(answer(77, LDAP_RES_COMPARE, LDAP_COMPARE_TRUE));
		peer.receive();
	});

	expect_said(load(server, "-c 1 --operations 1"), "malformed answer (-4)");
}

TEST(LdapLoadBehaviour, MissingAnswerEndsAfterTheTimeout)
{
	Server server([](Peer &peer) {
		while (!peer.receive().empty())
			;
	});
	outcome found = load(server, "-c 2 --operations 2 --timeout 0.2");

	EXPECT_EQ(found.status, 1);
	expect_said(found, "unexpected: 2 compare: no answer in time (-5)");
}

TEST(LdapLoadBehaviour, AnswersMayComeInPiecesAndTogether)
{
	Server server([](Peer &peer) {
		std::string first = compare_true(peer.receive());
		std::string both = first + compare_true(peer.receive());

		for (char byte : both) {
			peer.send(std::string(1, byte));
			std::this_thread::sleep_for(std::chrono::milliseconds(1));
		}
		first = compare_true(peer.receive());
		peer.send(first + compare_true(peer.receive()));
		peer.receive();
	});

	EXPECT_EQ(load(server, "-c 1 --depth 2 --operations 4").status, 0);
}

TEST(LdapLoadBehaviour, ConnectionEndsWithAnUnbindAfterItsOperations)
{
	std::mutex lock;
	std::vector<int> operations;
	{
		Server server([&](Peer &peer) {
			std::string message;
			int count = 0;

			while (!is_unbind(message = peer.receive())) {
				count++;
				peer.send(compare_true(message));
			}
			EXPECT_FALSE(message.empty());
			std::lock_guard<std::mutex> guard(lock);
			operations.push_back(count);
		});
		EXPECT_EQ(load(server, "-c 1 --per-connection 3 --operations 7").status, 0);
	}
	/* In the order in which the peers' threads have noticed the end. */
	std::sort(operations.begin(), operations.end());
	EXPECT_EQ(operations, (std::vector<int>{1, 3, 3}));
}

/* The median of all operations, in microseconds. */
double median_us(const outcome &found)
{
	size_t at = found.text.find("\"p50_us\": ", found.text.find("\"all\""));

	return strtod(found.text.c_str() + at + strlen("\"p50_us\": "), nullptr);
}

TEST(LdapLoadBehaviour, AtARateLatencyCountsFromWhenTheOperationWasDue)
{
	Server server([](Peer &peer) {
		std::string message = peer.receive();

		std::this_thread::sleep_for(std::chrono::milliseconds(400));
		for (; !is_unbind(message); message = peer.receive())
			peer.send(compare_true(message));
	});

	/* 40 operations in 0.4 s: a pause of 0.4 s is seen by all of them, by 20 for 0.2 s. */
	EXPECT_GT(median_us(load(server, "-c 1 --rate 100 --operations 40 --json")), 100000);
	EXPECT_LT(median_us(load(server, "-c 1 --operations 40 --json")), 100000);
}

TEST(LdapLoadBehaviour, IdleConnectionThatTheServerClosesIsAFailure)
{
	std::atomic<bool> ended{false};
	Server server([&](Peer &peer) {
		if (peer.number == 0) {
			peer.end();
			ended = true;
			return;
		}
		while (!ended)
			std::this_thread::yield();
		for (std::string message; !is_unbind(message = peer.receive());)
			peer.send(compare_true(message));
	});
	outcome found = load(server, "-c 1 --idle 2 --operations 100");

	EXPECT_EQ(found.status, 1);
	expect_said(found, "the server closed 1 of 2 idle connections");
}

} // namespace
