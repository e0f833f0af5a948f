/* SPDX-License-Identifier: MIT */
/* Doubly linked lists of slabs. The caller holds the list's lock. */
#include "core/queue.h"
#include "pages/segment.h"

void queue_add_head(struct slab_queue *queue, struct slab *slab)
{
	slab->prev = NULL;
	slab->next = queue->first;
	if (queue->first)
		queue->first->prev = slab;
	else
		queue->last = slab;
	queue->first = slab;
}

void queue_add_tail(struct slab_queue *queue, struct slab *slab)
{
	slab->next = NULL;
	slab->prev = queue->last;
	if (queue->last)
		queue->last->next = slab;
	else
		queue->first = slab;
	queue->last = slab;
}

void queue_remove(struct slab_queue *queue, struct slab *slab)
{
	if (slab->prev)
		slab->prev->next = slab->next;
	else
		queue->first = slab->next;
	if (slab->next)
		slab->next->prev = slab->prev;
	else
		queue->last = slab->prev;
}

void queue_begin_at(struct slab_queue *queue, struct slab *slab)
{
	if (!slab->prev)
		return;
	queue->last->next = queue->first;
	queue->first->prev = queue->last;
	queue->last = slab->prev;
	queue->last->next = NULL;
	queue->first = slab;
	slab->prev = NULL;
}
