/* SPDX-License-Identifier: MIT */
/* Starting threads, and others in the place of those that are held up. */
#include "net/internal.h"

#include "base/log.h"

#include <errno.h>
#include <string.h>

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

/* The instance that the calling thread waits on. */
static int own_epoll(const struct net *net)
{
	for (unsigned i = 0; i < net->thread_count; i++)
		if (pthread_equal(net->threads[i].id, pthread_self()))
			return net->threads[i].epoll;
	return net->epolls[0];
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
	    !atomic_load(&net->stopping) && threads_start(net, net->run, own_epoll(net)))
		log_warning("no thread takes the place of one that waits: %s", strerror(errno));
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
