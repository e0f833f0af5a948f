/* SPDX-License-Identifier: MIT */
/* The server's address, from its URI; connections that send nothing. */
#pragma once

#include "posix.h"

#include <sys/socket.h>

struct server {
	struct sockaddr_storage address;
	socklen_t length;
};

/*
 * server_parse: ldap://HOST[:PORT] or ldapi://PATH with %2F for each slash. Returns 0, or -1 with
 * what is wrong in `error`. server_connect: a new socket, non-blocking, which may still be
 * connecting. Connections to 127.0.0.0/8 come from several source addresses, chosen by `number`:
 * one address has too few ports for thousands of short connections a second. Returns -1 with
 * errno: EAGAIN if the queue of a local socket is full. MT-safe.
 */
int server_parse(struct server *server, const char *uri, char *error, size_t size);
int server_connect(const struct server *server, unsigned long number);

struct idle {
	int *fds;
	unsigned count;
};

/* idle_open: that many connections, each open. Ends the program if one cannot be opened. */
void idle_open(struct idle *idle, const struct server *server, unsigned count, double timeout_s);

/* idle_lost: how many of them the server has closed. */
unsigned idle_lost(const struct idle *idle);

void idle_close(struct idle *idle);
