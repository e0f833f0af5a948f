/* SPDX-License-Identifier: MIT */
/* The queue of work. */
#include "net/queue.h"

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
