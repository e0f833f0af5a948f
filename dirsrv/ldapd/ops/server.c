/* SPDX-License-Identifier: MIT */
/* The server's caches and settings. */
#include "ops/operation.h"

#include "base/clock.h"

#include <slab/malloc.h>

#include <errno.h>

int server_start(struct server *server, struct backend *backend, struct settings *settings)
{
	*server = (struct server){.backend = backend, .started_ns = clock_ns()};
	atomic_init(&server->settings, settings);
	response_start();
	if (request_start())
		return -ENOMEM;
	server->operations =
		dirsrv_operation_pool_create("ldapd.operation", sizeof(struct operation), NULL);
	return server->operations ? 0 : -errno;
}

int server_stop(struct server *server)
{
	struct settings *settings = atomic_load(&server->settings);
	int error = dirsrv_operation_pool_destroy(server->operations);

	if (error)
		return error;
	error = request_stop();
	while (settings) {
		struct settings *former = settings->former;

		slab_mfree(settings);
		settings = former;
	}
	return error;
}

const struct settings *server_settings(const struct server *server)
{
	return atomic_load_explicit(&server->settings, memory_order_acquire);
}

void server_set_settings(struct server *server, struct settings *settings)
{
	settings->former = atomic_load(&server->settings);
	atomic_store_explicit(&server->settings, settings, memory_order_release);
	if (server->net)
		net_set_limits(server->net, &settings->net);
}
