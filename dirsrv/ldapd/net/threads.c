/* SPDX-License-Identifier: MIT */
/*
 * Starting threads, and others in the place of those that are held up.
 *
 * With multi, few more threads wait for events than there are processors: each event wakes one of
 * them, and a thread that is woken beside one that is about to ask for the next event costs time
 * for nothing. A thread that will be busy for long hands its place over to a spare thread.
 */
#include "net/internal.h"

#include "base/log.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <time.h>
#include <urcu/urcu-memb.h>

/* --- the queue of work ---------------------------------------------------------------------- */

void work_queue_init(struct work_queue *queue)
{
	*queue = (struct work_queue){.end = NULL};
	pthread_mutex_init(&queue->lock, NULL);
	pthread_cond_init(&queue->filled, NULL);
	queue->end = &queue->first;
}

void work_queue_destroy(struct work_queue *queue)
{
	pthread_mutex_destroy(&queue->lock);
	pthread_cond_destroy(&queue->filled);
}

void work_queue_push(struct work_queue *queue, struct work *work)
{
	unsigned count = 0, wake;

	if (!work)
		return;
	pthread_mutex_lock(&queue->lock);
	*queue->end = work;
	for (; work; work = work->next, count++)
		queue->end = &work->next;
	wake = queue->waiting < count ? queue->waiting : count;
	pthread_mutex_unlock(&queue->lock);
	while (wake--)
		pthread_cond_signal(&queue->filled);
}

/* Wait for work; NULL: the queue was stopped and is empty. */
static struct work *pop(struct work_queue *queue)
{
	struct work *work;

	pthread_mutex_lock(&queue->lock);
	while (!queue->first && !queue->stopped) {
		queue->waiting++;
		pthread_cond_wait(&queue->filled, &queue->lock);
		queue->waiting--;
	}
	work = queue->first;
	if (work) {
		queue->first = work->next;
		if (!queue->first)
			queue->end = &queue->first;
		work->next = NULL;
	}
	pthread_mutex_unlock(&queue->lock);
	return work;
}

void work_queue_run(struct work_queue *queue)
{
	struct work *work;

	while ((work = pop(queue)))
		work->run(work);
}

void work_queue_stop(struct work_queue *queue)
{
	pthread_mutex_lock(&queue->lock);
	queue->stopped = true;
	pthread_mutex_unlock(&queue->lock);
	pthread_cond_broadcast(&queue->filled);
}

/* --- starting threads, and others in the place of those that are held up -------------------- */

/* The calling thread; NULL: not one of a network. */
static _Thread_local struct net_thread *own;

/* To be called first by each thread. */
static void threads_begin(struct net_thread *thread)
{
	own = thread;
}

int threads_start(struct net *net, void *(*run)(void *), int epoll)
{
	struct net_thread *thread = &net->threads[net->thread_count];
	int error;

	*thread = (struct net_thread){.net = net, .epoll = epoll};
	error = pthread_create(&thread->id, NULL, run, thread);
	if (error) {
		errno = error;
		return -1;
	}
	net->thread_count++;
	return 0;
}

/* Wait until there is an instance whose events the thread may take. Returns false when
 * the threads have to stop. */
static bool threads_take(struct net_thread *thread)
{
	struct net *net = thread->net;
	bool stopping;

	pthread_mutex_lock(&net->threads_lock);
	if (!thread->ready) {
		thread->ready = true;
		net->ready_threads++;
	}
	net->spare_threads++;
	while (!net->vacant_count && !atomic_load(&net->stopping))
		pthread_cond_wait(&net->vacated, &net->threads_lock);
	net->spare_threads--;
	stopping = atomic_load(&net->stopping);
	if (!stopping)
		thread->epoll = net->vacant[--net->vacant_count];
	pthread_mutex_unlock(&net->threads_lock);
	return !stopping;
}

void threads_wait_ready(struct net *net)
{
	const struct timespec ms = {.tv_nsec = 1000000};
	unsigned ready;

	do {
		pthread_mutex_lock(&net->threads_lock);
		ready = net->ready_threads;
		pthread_mutex_unlock(&net->threads_lock);
	} while (ready < net->config.threads && nanosleep(&ms, NULL) == 0);
}

/* The caller holds threads_lock. */
static void vacate(struct net *net)
{
	if (!own || own->epoll < 0)
		return;
	net->vacant[net->vacant_count++] = own->epoll;
	own->epoll = -1;
	pthread_cond_signal(&net->vacated);
}

void net_lengthy(void)
{
	struct net *net = own ? own->net : NULL;

	if (!net || net->config.form != NET_MULTI || own->epoll < 0)
		return;
	pthread_mutex_lock(&net->threads_lock);
	/* Without a spare thread the place would stay empty, even when this one is ready again. */
	if (net->spare_threads > net->vacant_count)
		vacate(net);
	pthread_mutex_unlock(&net->threads_lock);
}

void threads_block(struct net *net)
{
	bool multi = net->config.form == NET_MULTI;
	unsigned workers;

	if (!multi && net->config.form != NET_HANDOFF)
		return;
	pthread_mutex_lock(&net->threads_lock);
	workers = net->thread_count - !multi;
	net->blocked++;
	if (workers < net->config.threads + net->blocked && workers < NET_THREADS_MAX &&
	    !atomic_load(&net->stopping) && threads_start(net, net->run, -1))
		log_warning("no thread takes the place of one that waits: %s", strerror(errno));
	if (multi)
		vacate(net);
	pthread_mutex_unlock(&net->threads_lock);
}

void threads_unblock(struct net *net)
{
	if (net->config.form != NET_MULTI && net->config.form != NET_HANDOFF)
		return;
	pthread_mutex_lock(&net->threads_lock);
	net->blocked--;
	pthread_mutex_unlock(&net->threads_lock);
}

void threads_stop(struct net *net)
{
	pthread_mutex_lock(&net->threads_lock);
	atomic_store(&net->stopping, true);
	pthread_cond_broadcast(&net->vacated);
	pthread_mutex_unlock(&net->threads_lock);
}

/* --- the threads of the four forms ---------------------------------------------------------- */

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
