/* SPDX-License-Identifier: MIT */
/* Rings of operations: one mutex and one condition each, as the work queue of a server has them. */
#include "traffic.h"

int ring_init(struct ring *ring, size_t capacity)
{
	size_t size = 1;

	while (size < capacity)
		size *= 2;
	pthread_mutex_init(&ring->lock, NULL);
	pthread_cond_init(&ring->filled, NULL);
	ring->slot = calloc(size, sizeof(*ring->slot));
	ring->mask = size - 1;
	ring->head = 0;
	ring->tail = 0;
	ring->closed = false;
	return ring->slot ? 0 : -1;
}

void ring_destroy(struct ring *ring)
{
	pthread_mutex_destroy(&ring->lock);
	pthread_cond_destroy(&ring->filled);
	free(ring->slot);
}

void ring_push(struct ring *ring, const struct dirsrv_operation_handle *operations, size_t count)
{
	bool was_empty;

	pthread_mutex_lock(&ring->lock);
	was_empty = ring->head == ring->tail;
	for (size_t i = 0; i < count; i++)
		ring->slot[ring->tail++ & ring->mask] = operations[i];
	pthread_mutex_unlock(&ring->lock);
	if (was_empty)
		pthread_cond_signal(&ring->filled);
}

size_t ring_pop(struct ring *ring, struct dirsrv_operation_handle *operations, size_t max)
{
	size_t count = 0;

	pthread_mutex_lock(&ring->lock);
	while (ring->head == ring->tail && !ring->closed)
		pthread_cond_wait(&ring->filled, &ring->lock);
	while (ring->head != ring->tail && count < max)
		operations[count++] = ring->slot[ring->head++ & ring->mask];
	pthread_mutex_unlock(&ring->lock);
	return count;
}

void ring_close(struct ring *ring)
{
	pthread_mutex_lock(&ring->lock);
	ring->closed = true;
	pthread_mutex_unlock(&ring->lock);
	pthread_cond_broadcast(&ring->filled);
}
