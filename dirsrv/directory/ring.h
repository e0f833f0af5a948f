/* SPDX-License-Identifier: MIT */
/*
 * A bounded ring of handles to operations. Threads push and pop batches, so that they take
 * the lock once for many operations. The ring has room for all operations that its users
 * have at the same time, so pushing does not wait.
 */
#ifndef DIRECTORY_RING_H
#define DIRECTORY_RING_H

#include <pthread.h>
#include <stdbool.h>

#include <slab/dirsrv/operation.h>

struct ring {
	_Alignas(64) pthread_mutex_t lock;
	pthread_cond_t filled;
	struct dirsrv_operation_handle *slot;
	size_t mask;
	size_t head; /* next to pop */
	size_t tail; /* next to push */
	bool closed;
};

/* ring_init: room for at least `capacity`; 0, or -1 without memory. */
int ring_init(struct ring *ring, size_t capacity);
void ring_destroy(struct ring *ring);

void ring_push(struct ring *ring, const struct dirsrv_operation_handle *operations, size_t count);

/* ring_pop: up to max operations, waiting for the first; 0: closed and empty. */
size_t ring_pop(struct ring *ring, struct dirsrv_operation_handle *operations, size_t max);

/* ring_close: no thread pushes any more. */
void ring_close(struct ring *ring);

#endif /* DIRECTORY_RING_H */
