/* SPDX-License-Identifier: MIT */
/*
 * The life of a connection, and what waits to be sent to its client.
 */
#include "net/internal.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"

#include <slab/malloc.h>

#include <urcu/map/urcu-memb.h>
#include <urcu/urcu-memb.h>

/* --- chunks --------------------------------------------------------------------------------- */

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

static void output_free(struct connection *connection)
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

void pdu_free(struct pdu *pdu)
{
	if (pdu)
		explicit_bzero(pdu->data, pdu->length);
	slab_mfree(pdu);
}

/* --- life ----------------------------------------------------------------------------------- */

static int construct(void *object, void *arg)
{
	struct connection *connection = object;

	(void)arg;
	atomic_init(&connection->references, 0);
	connection->generation = 0;
	return pthread_mutex_init(&connection->lock, NULL);
}

static void destruct(void *object, void *arg)
{
	struct connection *connection = object;

	(void)arg;
	pthread_mutex_destroy(&connection->lock);
}

static struct slab_cache *connections;

int connections_start(void)
{
	const struct slab_cache_args args = {
		.ctor = construct,
		.dtor = destruct,
		.rcu = &urcu_memb_flavor,
	};

	connections = slab_cache_create("ldapd.connection", sizeof(struct connection), &args,
					SLAB_TYPESAFE_BY_RCU);
	return connections ? 0 : -errno;
}

int connections_stop(void)
{
	return cache_stop(&connections);
}

/* Everything but what is constructed. */
static void clear(struct connection *connection)
{
	size_t start = offsetof(struct connection, fd);

	memset((char *)connection + start, 0, sizeof(*connection) - start);
}

struct connection *connection_new(struct net *net, int fd)
{
	struct connection *connection = slab_alloc(connections);

	if (!connection)
		return NULL;
	clear(connection);
	connection->fd = fd;
	connection->net = net;
	connection->id = atomic_fetch_add(&net->next_id, 1) + 1;
	atomic_store(&connection->active_at, clock_seconds());
	connection->epoll = net->epolls[atomic_fetch_add(&net->next_epoll, 1) % net->epoll_count];
	do
		connection->generation = atomic_fetch_add(&net->next_generation, 1);
	while (!connection->generation);
	/* One for the table, one for the caller. A thread that found the object in an earlier life
	 * may be about to take another. */
	atomic_store_explicit(&connection->references, 2, memory_order_release);
	atomic_store_explicit(&net->table[fd], connection, memory_order_release);
	atomic_fetch_add(&net->connections, 1);
	return connection;
}

static bool get_unless_free(struct connection *connection)
{
	uint32_t references = atomic_load(&connection->references);

	while (references)
		if (atomic_compare_exchange_weak(&connection->references, &references,
						 references + 1))
			return true;
	return false;
}

/* Generation 0 stands for any. */
struct connection *connection_find(struct net *net, unsigned fd, uint32_t generation)
{
	struct connection *connection;

	urcu_memb_read_lock();
	connection = atomic_load_explicit(&net->table[fd], memory_order_acquire);
	if (connection && !get_unless_free(connection))
		connection = NULL;
	urcu_memb_read_unlock();
	if (connection && generation && connection->generation != generation) {
		connection_put(connection);
		return NULL;
	}
	return connection;
}

void connection_get(struct connection *connection)
{
	atomic_fetch_add_explicit(&connection->references, 1, memory_order_relaxed);
}

void connection_put(struct connection *connection)
{
	struct net *net = connection->net;

	if (atomic_fetch_sub_explicit(&connection->references, 1, memory_order_acq_rel) != 1)
		return;
	output_free(connection);
	pdu_free(connection->partial);
	close(connection->fd);
	slab_free(connections, connection);
	atomic_fetch_sub(&net->connections, 1);
}

void connection_lock(struct connection *connection)
{
	pthread_mutex_lock(&connection->lock);
}

void connection_unlock(struct connection *connection)
{
	pthread_mutex_unlock(&connection->lock);
}

void connection_close(struct connection *connection, const char *why)
{
	struct net *net = connection->net;
	bool first;

	connection_lock(connection);
	first = !connection->closing;
	connection->closing = true;
	connection_unlock(connection);
	if (!first)
		return;
	log_info("conn=%lu closed: %s", (unsigned long)connection->id, why);
	epoll_ctl(connection->epoll, EPOLL_CTL_DEL, connection->fd, NULL);
	atomic_store_explicit(&net->table[connection->fd], NULL, memory_order_release);
	/* Other threads may be using the descriptor: it is closed with the last reference. */
	shutdown(connection->fd, SHUT_RDWR);
	counter_add(COUNTER_CLOSED, 1);
	net->config.handler.closed(connection);
	connection_put(connection);
}

bool connection_busy(const struct connection *connection)
{
	return connection->in_flight || connection->answering || connection->output;
}

void connection_finished(struct connection *connection)
{
	bool over;

	connection_lock(connection);
	over = connection->end_of_input && !connection_busy(connection);
	connection_unlock(connection);
	if (over)
		connection_close(connection, "end of input");
}
