/* SPDX-License-Identifier: MIT */
/* Typed functions: the compiler sees when an object goes to the wrong cache. */
#include <slab/slab.h>

#include <stdio.h>

struct connection {
	int fd;
	unsigned long bytes_read;
};

struct request {
	struct connection *connection;
	char line[240];
};

SLAB_DEFINE_TYPED(connection, struct connection);
SLAB_DEFINE_TYPED(request, struct request);

int main(void)
{
	/* SLAB_PANIC: without these caches the program cannot go on anyway. */
	struct slab_cache *connections = connection_cache_create(NULL, SLAB_PANIC);
	struct slab_cache *requests = request_cache_create(NULL, SLAB_PANIC);
	struct connection *connection = connection_zalloc(connections);
	struct request *request = request_alloc(requests);

	if (!connection || !request) {
		perror("slab");
		return 1;
	}
	request->connection = connection;
	snprintf(request->line, sizeof(request->line), "GET /");
	request->connection->bytes_read += 5;
	printf("%s: %lu bytes read\n", request->line, connection->bytes_read);

	/* connection_free(connections, request) would not compile cleanly. */
	request_free(requests, request);
	connection_free(connections, connection);
	return slab_cache_destroy(requests) || slab_cache_destroy(connections);
}
