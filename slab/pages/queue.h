/* SPDX-License-Identifier: MIT */
/*
 * Slabs linked by next and prev, in both directions. The lock is that of the structure that has
 * the queue: a node's lists (node.c), the page layer's free lists (segment.c).
 */
#ifndef SLAB_PAGES_QUEUE_H
#define SLAB_PAGES_QUEUE_H

struct slab;

struct slab_queue {
	struct slab *first, *last;
};

void queue_add_head(struct slab_queue *queue, struct slab *slab);
void queue_add_tail(struct slab_queue *queue, struct slab *slab);
void queue_remove(struct slab_queue *queue, struct slab *slab);
/* The slab becomes the first; those that stood before it go to the end, in their order. */
void queue_begin_at(struct slab_queue *queue, struct slab *slab);
/* All of `front` come first, which is empty then. */
void queue_prepend(struct slab_queue *queue, struct slab_queue *front);

#endif /* SLAB_PAGES_QUEUE_H */
