/* SPDX-License-Identifier: MIT */
/* The server's caches and settings. */
#include "ops/operation.h"

#include "base/clock.h"

#include <errno.h>

int server_start(struct server *server, struct backend *backend, const struct settings *settings)
{
	*server =
		(struct server){.backend = backend, .settings = settings, .started_ns = clock_ns()};
	response_start();
	if (request_start())
		return -ENOMEM;
	server->operations =
		dirsrv_operation_pool_create("ldapd.operation", sizeof(struct operation), NULL);
	return server->operations ? 0 : -errno;
}

int server_stop(struct server *server)
{
	int error = dirsrv_operation_pool_destroy(server->operations);

	return error ? error : request_stop();
}
