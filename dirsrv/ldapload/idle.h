/* SPDX-License-Identifier: MIT */
/* Connections that send nothing. */
#ifndef LDAPLOAD_IDLE_H
#define LDAPLOAD_IDLE_H

#include "server.h"

struct idle {
	int *fds;
	unsigned count;
};

/* idle_open: that many connections, each open. Ends the program if one cannot be opened. */
void idle_open(struct idle *idle, const struct server *server, unsigned count, double timeout_s);

/* idle_lost: how many of them the server has closed. */
unsigned idle_lost(const struct idle *idle);

void idle_close(struct idle *idle);

#endif /* LDAPLOAD_IDLE_H */
