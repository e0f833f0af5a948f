/* SPDX-License-Identifier: MIT */
/* The threads of the four forms: waiting for events, accepting, and working. */
#include "net/internal.h"

#include <poll.h>
#include <urcu/urcu-memb.h>

#define EVENTS 64
#define ACCEPTS 16 /* connections that a thread accepts before it looks at others */

static bool stopping(struct net *net)
{
	return atomic_load_explicit(&net->stopping, memory_order_relaxed);
}

/* Run the first piece here; other workers take the rest meanwhile. */
static void run_first(struct net *net, struct work *work)
{
	if (!work)
		return;
	work_queue_push(&net->queue, work->next);
	work->next = NULL;
	work->run(work);
}

static void accept_some(struct address *address)
{
	for (unsigned i = 0; i < ACCEPTS && !atomic_load(&address->net->paused); i++)
		if (!accept_one(address, NULL))
			return;
}

/* --- handoff: what workers do with an event ------------------------------------------------ */

static void run_event(struct work *work)
{
	struct connection *connection = (void *)((char *)work - offsetof(struct connection, event));
	struct net *net = connection->net;

	run_first(net, event_handle(connection));
	connection_put(connection);
}

static void arm_address(struct address *address)
{
	struct net *net = address->net;
	struct epoll_event event = {.events = EPOLLIN | EPOLLONESHOT};

	event.data.u64 = event_data((uint32_t)(address - net->addresses), 0);
	if (!atomic_load(&net->paused))
		epoll_ctl(net->epolls[0], EPOLL_CTL_MOD, address->fd, &event);
}

void listener_accept(struct work *work)
{
	struct address *address = (void *)((char *)work - offsetof(struct address, accept));

	if (!atomic_load(&address->net->paused))
		accept_one(address, arm_address);
}

/* --- events --------------------------------------------------------------------------------- */

static void address_event(struct net *net, uint32_t index)
{
	struct address *address = &net->addresses[index];

	if (net->config.form == NET_HANDOFF)
		work_queue_push(&net->queue, &address->accept);
	else
		accept_some(address);
}

static void connection_event(struct net *net, struct connection *connection)
{
	switch (net->config.form) {
	case NET_INLINE:
		work_queue_push(&net->queue, event_handle(connection));
		break;
	case NET_MULTI:
		event_serve(connection);
		break;
	default:
		connection->event.run = run_event;
		connection_get(connection);
		work_queue_push(&net->queue, &connection->event);
	}
}

static void event(struct net *net, const struct epoll_event *event)
{
	uint32_t number = (uint32_t)event->data.u64;
	uint32_t generation = (uint32_t)(event->data.u64 >> 32);
	struct connection *connection;

	if (!generation) {
		if (number != EVENT_WAKE)
			address_event(net, number);
		return;
	}
	connection = connection_find(net, number, generation);
	if (!connection)
		return;
	if (event_begin(connection, event->events))
		connection_event(net, connection);
	connection_put(connection);
}

/* --- threads ---------------------------------------------------------------------------------- */

static struct net *thread_begin(struct net_thread *thread)
{
	threads_begin(thread);
	urcu_memb_register_thread();
	return thread->net;
}

static void thread_end(struct net *net)
{
	net->config.handler.thread_end();
	urcu_memb_unregister_thread();
}

void *listener_thread(void *arg)
{
	struct net_thread *thread = arg;
	struct net *net = thread_begin(thread);
	struct epoll_event events[EVENTS];

	while (!stopping(net)) {
		int count = epoll_wait(thread->epoll, events, EVENTS, -1);

		for (int i = 0; i < count; i++)
			event(net, &events[i]);
	}
	thread_end(net);
	return NULL;
}

/* A thread takes one event at a time: it may hand its place over while it handles that one. */
void *multi_thread(void *arg)
{
	struct net_thread *thread = arg;
	struct net *net = thread_begin(thread);
	struct epoll_event one;

	while (!stopping(net) && (thread->epoll >= 0 || threads_take(thread)))
		if (epoll_wait(thread->epoll, &one, 1, -1) == 1)
			event(net, &one);
	thread_end(net);
	return NULL;
}

void *worker_thread(void *arg)
{
	struct net *net = thread_begin(arg);

	work_queue_run(&net->queue);
	thread_end(net);
	return NULL;
}

void *accept_thread(void *arg)
{
	struct net *net = thread_begin(arg);
	struct pollfd polled[NET_ADDRESSES_MAX + 1];

	for (unsigned i = 0; i < net->address_count; i++)
		polled[i] = (struct pollfd){.fd = net->addresses[i].fd, .events = POLLIN};
	polled[net->address_count] = (struct pollfd){.fd = net->wake, .events = POLLIN};
	while (!stopping(net) && !atomic_load(&net->paused)) {
		if (poll(polled, net->address_count + 1, -1) < 0 && errno != EINTR)
			break;
		for (unsigned i = 0; i < net->address_count; i++)
			if (polled[i].revents)
				accept_some(&net->addresses[i]);
	}
	thread_end(net);
	return NULL;
}
