/* SPDX-License-Identifier: MIT */
/* The server as operations see it, and its settings. */
#pragma once

#include "backend/backend.h"
#include "net/net.h"

#include <slab/dirsrv/entry.h>
#include <slab/dirsrv/operation.h>

#include <stdatomic.h>

struct settings {
	char root_dn[1024];      /* "": there is none */
	char root_password[1024]; /* cleartext or {CRYPT}…; "": no client can bind with it */
	bool anonymous_read;
	unsigned operations_per_connection;
	unsigned operations_in_all;
	unsigned long size_limit; /* entries of a search; 0: none */
	unsigned time_limit;      /* seconds of a search; 0: none */
	unsigned long work_limit; /* entries that a search may evaluate; 0: none */
	struct net_limits net;
};

/* password_supported: whether the server can check a stored password: cleartext, or {CRYPT} and a
 * hash. Any other {SCHEME} is not supported. */
bool password_supported(struct dirsrv_bytes stored);

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
