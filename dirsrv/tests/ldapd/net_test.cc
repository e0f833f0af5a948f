/* SPDX-License-Identifier: MIT */
/* The end of the network, with a handler of the test's. */
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <thread>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <urcu/urcu-memb.h>

#include <gtest/gtest.h>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic" /* the data of a message is a flexible array */
extern "C" {
#include "net/net.h"
}
#pragma GCC diagnostic pop

namespace
{

constexpr unsigned workers = 2;
constexpr char request[] = "\x30\x05\x02\x01\x01\x42"; /* and its last byte, 0 */

std::atomic<bool> is_received, has_run;
std::atomic<unsigned> ended;
struct work work;

void run(struct work * /* work */)
{
	has_run = true;
}

/* The listener's thread is in here until all workers have ended. */
struct work *receive_late(struct connection * /* connection */, struct pdu *pdu)
{
	pdu_free(pdu);
	is_received = true;
	while (ended < workers)
		std::this_thread::yield();
	work = {nullptr, run};
	return &work;
}

void close_connection(struct connection * /* connection */) {}

void end_thread()
{
	ended++;
}

struct net_config config()
{
	static const char *const addresses[] = {"ldap://127.0.0.1:0"};
	struct net_config config = {};

	config.form = NET_INLINE;
	config.threads = workers;
	config.addresses = addresses;
	config.address_count = 1;
	config.limits.connections = 4;
	config.limits.pdu_max = config.limits.output_max = 4096;
	config.handler.receive = receive_late;
	config.handler.closed = close_connection;
	config.handler.thread_end = end_thread;
	return config;
}

/* A client that is connected to the address, as net_address() writes it, and sends a request: its
 * descriptor, or -1. */
int client(const char *address)
{
	const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in server = {};

	server.sin_family = AF_INET;
	server.sin_port =
		htons(static_cast<std::uint16_t>(std::atoi(std::strrchr(address, ':') + 1)));
	server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (connect(fd, reinterpret_cast<struct sockaddr *>(&server), sizeof(server)) != 0 ||
	    write(fd, request, sizeof(request)) != static_cast<ssize_t>(sizeof(request)))
		return -1;
	return fd;
}

TEST(NetTest, WorkThatAListenerAddsAfterTheWorkersEndedIsRun)
{
	const struct net_config wanted = config();
	char error[256] = "";

	urcu_memb_register_thread();
	struct net *net = net_start(&wanted, error, sizeof(error));
	ASSERT_NE(net, nullptr) << error;
	const int fd = client(net_address(net, 0));
	ASSERT_GE(fd, 0);
	while (!is_received)
		std::this_thread::yield();
	net_pause(net);
	net_stop(net);
	EXPECT_TRUE(has_run);
	close(fd);
	urcu_memb_unregister_thread();
}

} /* namespace */
