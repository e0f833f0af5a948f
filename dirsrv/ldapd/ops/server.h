/* SPDX-License-Identifier: MIT */
/* The server as operations see it. */
#ifndef LDAPD_OPS_SERVER_H
#define LDAPD_OPS_SERVER_H

#include "backend/backend.h"
#include "net/net.h"
#include "ops/settings.h"

#include <slab/dirsrv/operation.h>

#include <stdatomic.h>

struct server {
	struct backend *backend;
	struct net *net; /* NULL until the network has started */
	struct dirsrv_operation_pool *operations;
	const struct settings *settings;
	_Atomic unsigned in_flight; /* operations of all connections */
	uint64_t started_ns;
};

/* server_start: create the caches of operations. Returns 0, or -errno. server_stop: destroy them
 *; returns 0, or -EBUSY: operations are still in use. Not MT-safe. */
int server_start(struct server *server, struct backend *backend, const struct settings *settings);
int server_stop(struct server *server);

/* server_handler: what the network calls. */
struct net_handler server_handler(struct server *server);

#endif /* LDAPD_OPS_SERVER_H */
