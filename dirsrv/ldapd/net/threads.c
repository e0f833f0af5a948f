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

void threads_begin(struct net_thread *thread)
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

bool threads_take(struct net_thread *thread)
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
