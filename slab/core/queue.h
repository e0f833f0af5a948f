/* SPDX-License-Identifier: MIT */
/* Doubly linked lists of slabs. The lock is that of the structure that contains the queue. */
#pragma once

struct slab;

struct slab_queue {
	struct slab *first, *last;
};

void queue_add_head(struct slab_queue *queue, struct slab *slab);
void queue_add_tail(struct slab_queue *queue, struct slab *slab);
void queue_remove(struct slab_queue *queue, struct slab *slab);
/* Rotate the queue: the slab becomes the first, and the slabs before it go to the end, in their
 * order. */
void queue_begin_at(struct slab_queue *queue, struct slab *slab);
