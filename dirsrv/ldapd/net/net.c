/* SPDX-License-Identifier: MIT */
/* Starting and stopping the network, and the time limits of connections. */
#include "net/internal.h"

#include "base/clock.h"
#include "base/log.h"
#include "proto/response.h"

#include <slab/malloc.h>
#include <sys/eventfd.h>
#include <sys/resource.h>

/* Descriptors beside those of connections: the database, the log, libraries. */
#define OTHER_DESCRIPTORS 128

static int fail(char *error, size_t size, const char *what)
{
	snprintf(error, size, "%s: %s", what, strerror(errno));
	return -1;
}

/* As many descriptors as connections need, if the system allows it; and a place for each. */
static int make_table(struct net *net)
{
	rlim_t wanted = net->config.limits.connections + OTHER_DESCRIPTORS;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return -1;
	if (limit.rlim_cur < wanted) {
		limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
		if (setrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur < wanted)
			log_warning("the limit of open files is %lu; %u connections need %lu",
				    (unsigned long)limit.rlim_cur, net->config.limits.connections,
				    (unsigned long)wanted);
	}
	net->table_size = (unsigned)wanted;
	net->table = slab_calloc(net->table_size, sizeof(*net->table));
	return net->table ? 0 : -1;
}

static int add_wake(struct net *net, int epoll)
{
	struct epoll_event event = {.events = EPOLLIN};

	event.data.u64 = event_data(EVENT_WAKE, 0);
	return epoll_ctl(epoll, EPOLL_CTL_ADD, net->wake, &event);
}

static int make_epolls(struct net *net)
{
	unsigned count = net->config.form == NET_MULTI ? net->config.listeners : 1;

	net->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	spares_open(net);
	if (net->wake < 0 || net->spares < NET_SPARES)
		return -1;
	while (net->epoll_count < count) {
		int epoll = epoll_create1(EPOLL_CLOEXEC);

		if (epoll < 0)
			return -1;
		net->epolls[net->epoll_count++] = epoll;
		if (add_wake(net, epoll))
			return -1;
	}
	return 0;
}

/* Which threads see that a client connects: with several epoll instances, the system wakes a
 * thread of one of them. */
static int watch_address(struct net *net, unsigned index)
{
	struct epoll_event event = {.events = EPOLLIN};

	event.data.u64 = event_data(index, 0);
	if (net->config.form == NET_ACCEPT_THREAD)
		return 0;
	if (net->config.form == NET_HANDOFF)
		event.events |= EPOLLONESHOT;
	if (net->config.form == NET_MULTI)
		event.events |= EPOLLEXCLUSIVE;
	for (unsigned i = 0; i < net->epoll_count; i++)
		if (epoll_ctl(net->epolls[i], EPOLL_CTL_ADD, net->addresses[index].fd, &event))
			return -1;
	return 0;
}

static int open_addresses(struct net *net, char *error, size_t size)
{
	for (unsigned i = 0; i < net->config.address_count; i++) {
		if (address_open(&net->addresses[i], net, net->config.addresses[i], error, size)) {
			address_close(&net->addresses[i]);
			return -1;
		}
		net->address_count = i + 1;
		net->addresses[i].accept.run = listener_accept;
		if (watch_address(net, i))
			return fail(error, size, net->config.addresses[i]);
	}
	return 0;
}

static int start_threads(struct net *net)
{
	net->run = net->config.form == NET_MULTI ? multi_thread : worker_thread;
	for (unsigned i = 0; net->config.form == NET_MULTI && i < net->config.pollers; i++)
		net->vacant[net->vacant_count++] = net->epolls[i % net->epoll_count];
	for (unsigned i = 0; i < net->config.threads; i++)
		if (threads_start(net, net->run, -1))
			return -1;
	if (net->config.form != NET_MULTI && threads_start(net, listener_thread, net->epolls[0]))
		return -1;
	return net->config.form == NET_ACCEPT_THREAD ? threads_start(net, accept_thread, -1) : 0;
}

/* Everything but threads and connections. */
static void destroy(struct net *net)
{
	for (unsigned i = 0; i < net->address_count; i++)
		address_close(&net->addresses[i]);
	for (unsigned i = 0; i < net->epoll_count; i++)
		close(net->epolls[i]);
	if (net->wake >= 0)
		close(net->wake);
	spares_close(net);
	work_queue_destroy(&net->queue);
	pthread_rwlock_destroy(&net->spare_lock);
	pthread_cond_destroy(&net->vacated);
	pthread_mutex_destroy(&net->threads_lock);
	slab_mfree(net->table);
	slab_mfree(net);
	if (connections_stop() || output_stop())
		log_error("connections are still in use at the end");
}

static int start(struct net *net, char *error, size_t size)
{
	int failed;

	if (connections_start() || output_start() || make_table(net))
		return fail(error, size, "no memory for connections");
	if (make_epolls(net))
		return fail(error, size, "epoll");
	if (open_addresses(net, error, size))
		return -1;
	pthread_mutex_lock(&net->threads_lock);
	failed = start_threads(net);
	pthread_mutex_unlock(&net->threads_lock);
	if (!failed && net->config.form == NET_MULTI)
		threads_wait_ready(net);
	return failed ? fail(error, size, "threads") : 0;
}

struct net *net_start(const struct net_config *config, char *error, size_t size)
{
	struct net *net = slab_calloc(1, sizeof(*net));

	if (!net) {
		fail(error, size, "no memory");
		return NULL;
	}
	net->config = *config;
	net->wake = -1;
	net->edge = config->form == NET_INLINE ? 0 : EPOLLET;
	work_queue_init(&net->queue);
	pthread_rwlock_init(&net->spare_lock, NULL);
	pthread_mutex_init(&net->threads_lock, NULL);
	pthread_cond_init(&net->vacated, NULL);
	if (start(net, error, size)) {
		net_pause(net);
		net_stop(net);
		return NULL;
	}
	return net;
}

const char *net_address(const struct net *net, unsigned i)
{
	return i < net->address_count ? net->addresses[i].text : NULL;
}

unsigned net_connections(const struct net *net)
{
	return atomic_load(&net->connections);
}

static void net_each(struct net *net, void (*fn)(struct connection *connection, void *arg),
		     void *arg)
{
	for (unsigned fd = 0; fd < net->table_size; fd++) {
		struct connection *connection = NULL;

		if (atomic_load_explicit(&net->table[fd], memory_order_relaxed))
			connection = connection_find(net, fd, 0);
		if (!connection)
			continue;
		fn(connection, arg);
		connection_put(connection);
	}
}

/* --- time limits --------------------------------------------------------------------------- */

/* `since` may be later than `now`: another thread may have set it in the meantime. */
static bool passed(uint32_t since, unsigned limit, uint32_t now)
{
	return limit && (int64_t)now - since > limit;
}

/* Why a connection has to be closed; NULL: it stays. The number of bytes of an incomplete
 * message does not matter: a client that sends one byte a second is as bad as one that sends
 * none. */
static const char *overdue(const struct net_limits *limits, struct connection *connection,
			   uint32_t now)
{
	uint32_t partial_at = atomic_load(&connection->partial_at);
	const char *why = NULL;

	connection_lock(connection);
	if (connection->want_write)
		why = passed(connection->blocked_at, limits->write_seconds, now)
			      ? "the client does not read"
			      : NULL;
	else if (partial_at)
		why = passed(partial_at, limits->request_seconds, now)
			      ? "a request takes too long to arrive"
			      : NULL;
	else if (!connection->in_flight &&
		 passed(atomic_load(&connection->active_at), limits->idle_seconds, now))
		why = "idle";
	connection_unlock(connection);
	return why;
}

static void check_time(struct connection *connection, void *arg)
{
	const char *why = overdue(&connection->net->config.limits, connection, *(uint32_t *)arg);

	if (!why)
		return;
	counter_add(COUNTER_IDLE, 1);
	connection_disconnect(connection, LDAP_UNAVAILABLE, why);
}

void net_tick(struct net *net)
{
	uint32_t now = clock_seconds();

	net_each(net, check_time, &now);
}

/* --- stopping ------------------------------------------------------------------------------ */

void net_pause(struct net *net)
{
	atomic_store(&net->paused, true);
	for (unsigned i = 0; i < net->address_count; i++) {
		for (unsigned j = 0; j < net->epoll_count; j++)
			epoll_ctl(net->epolls[j], EPOLL_CTL_DEL, net->addresses[i].fd, NULL);
		/* The accept thread wakes up. */
		shutdown(net->addresses[i].fd, SHUT_RDWR);
	}
}

static void disconnect(struct connection *connection, void *arg)
{
	(void)arg;
	connection_disconnect(connection, LDAP_UNAVAILABLE, "the server stops");
}

void net_stop(struct net *net)
{
	uint64_t one = 1;

	if (net->table)
		net_each(net, disconnect, NULL);
	/* From here on no thread is added. */
	threads_stop(net);
	work_queue_stop(&net->queue);
	if (net->wake >= 0 && write(net->wake, &one, sizeof(one)) < 0)
		log_error("the listener threads cannot be woken: %s", strerror(errno));
	for (unsigned i = 0; i < net->thread_count; i++)
		pthread_join(net->threads[i].id, NULL);
	/* Workers end once the queue is empty; a listener may have added work after that. */
	work_queue_run(&net->queue);
	/* A thread may have accepted one more connection meanwhile. */
	if (net->table)
		net_each(net, disconnect, NULL);
	destroy(net);
}
