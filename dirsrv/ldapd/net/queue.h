/* SPDX-License-Identifier: MIT */
/* The queue of work: first in, first out, with as many takers as there are workers. Work is
 * linked by itself, so that the queue needs no memory. MT-safe. */
#ifndef LDAPD_NET_QUEUE_H
#define LDAPD_NET_QUEUE_H

#include "net/net.h"

#include <pthread.h>

struct work_queue {
	pthread_mutex_t lock;
	pthread_cond_t filled;
	struct work *first, **end;
	unsigned waiting; /* workers */
	bool stopped;
};

void work_queue_init(struct work_queue *queue);
void work_queue_destroy(struct work_queue *queue);

/* work_queue_push: add work, one piece or several linked by `next`. NULL is allowed. */
void work_queue_push(struct work_queue *queue, struct work *work);

/* work_queue_run: run work until the queue was stopped and is empty. */
void work_queue_run(struct work_queue *queue);

/* work_queue_stop: let the workers end once the queue is empty. */
void work_queue_stop(struct work_queue *queue);

#endif /* LDAPD_NET_QUEUE_H */
