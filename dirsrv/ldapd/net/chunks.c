/* SPDX-License-Identifier: MIT */
/* The chunks of bytes that wait until the client reads. */
#include "net/internal.h"

#include "base/memory.h"

#include <slab/malloc.h>

#include <errno.h>
#include <string.h>

#define CHUNK_BYTES 4096 /* with its header */
#define REFUSAL_BYTES 128
#define REFUSAL_RESERVE 128 /* objects */

/* Without memory, a client still gets a short response: it is kept in a chunk of this cache. */
static struct slab_cache *refusals;

int output_start(void)
{
	const struct slab_cache_args args = {.reserve = REFUSAL_RESERVE};

	refusals =
		slab_cache_create("ldapd.refusal", sizeof(struct chunk) + REFUSAL_BYTES, &args, 0);
	return refusals ? 0 : -errno;
}

int output_stop(void)
{
	return cache_stop(&refusals);
}

/* Long messages have few sizes, so that few size caches hold them. */
static struct chunk *chunk_new(size_t length)
{
	size_t size = CHUNK_BYTES;
	struct chunk *chunk;

	while (size < sizeof(struct chunk) + length)
		size *= 2;
	chunk = slab_malloc(size);
	if (chunk) {
		*chunk = (struct chunk){.capacity = (uint32_t)(size - sizeof(*chunk))};
	} else if (length <= REFUSAL_BYTES) {
		chunk = slab_alloc(refusals);
		if (!chunk)
			return NULL;
		*chunk = (struct chunk){.capacity = REFUSAL_BYTES, .reserved = true};
	}
	return chunk;
}

static void chunk_free(struct chunk *chunk)
{
	if (chunk->reserved)
		slab_free(refusals, chunk);
	else
		slab_mfree(chunk);
}

void output_free(struct connection *connection)
{
	while (connection->output) {
		struct chunk *next = connection->output->next;

		chunk_free(connection->output);
		connection->output = next;
	}
	connection->output_last = NULL;
	connection->output_bytes = 0;
}

bool output_append(struct connection *connection, const char *data, size_t length)
{
	struct chunk *last = connection->output_last;

	if (!last || last->capacity - last->length < length) {
		struct chunk *chunk = chunk_new(length);

		if (!chunk)
			return false;
		if (last)
			last->next = chunk;
		else
			connection->output = chunk;
		connection->output_last = last = chunk;
	}
	memcpy(last->data + last->length, data, length);
	last->length += (uint32_t)length;
	connection->output_bytes += length;
	return true;
}

void output_consume(struct connection *connection, size_t bytes)
{
	connection->output_bytes -= bytes;
	while (bytes) {
		struct chunk *chunk = connection->output;
		size_t left = chunk->length - chunk->sent;

		if (bytes < left) {
			chunk->sent += (uint32_t)bytes;
			return;
		}
		bytes -= left;
		connection->output = chunk->next;
		chunk_free(chunk);
	}
	if (!connection->output)
		connection->output_last = NULL;
}
