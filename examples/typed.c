/* SPDX-License-Identifier: MIT */
/* Typed caches: the compiler sees when an object goes to the wrong cache. */
#include <slab/define.h>

#include <stdio.h>

struct connection {
	int fd;
	unsigned long bytes_read;
};

struct request {
	struct connection *connection;
	char line[240];
};

SLAB_DEFINE_CACHE(connection, struct connection);
SLAB_DEFINE_CACHE(request, struct request);

int main(void)
{
	/* The first allocations create the caches. */
	struct connection *connection = connection_zalloc();
	struct request *request = request_alloc();

	if (!connection || !request) {
		perror("slab");
		return 1;
	}
	request->connection = connection;
	snprintf(request->line, sizeof(request->line), "GET /");
	request->connection->bytes_read += 5;
	printf("%s: %lu bytes read\n", request->line, connection->bytes_read);

	/* connection_free(request) would not compile cleanly, nor would free(request). */
	request_free(request);
	connection_free(connection);
	return 0;
}
