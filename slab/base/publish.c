/* SPDX-License-Identifier: MIT */
/* The lock of all writers, and handlers (publish.h). */
#include "base/publish.h"

#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void publish_lock(void)
{
	pthread_mutex_lock(&lock);
}

void publish_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

void handler_set(struct handler_ring *ring, handler_fn fn, void *arg)
{
	struct handler *slot;

	publish_lock();
	slot = &ring->slot[publish_begin(&ring->published)];
	__atomic_store_n(&slot->fn, fn, __ATOMIC_RELAXED);
	__atomic_store_n(&slot->arg, arg, __ATOMIC_RELAXED);
	publish_end(&ring->published);
	publish_unlock();
}

bool handler_get(const struct handler_ring *ring, struct handler *ret_handler)
{
	const struct handler *slot;
	uint64_t number;

	do {
		number = publish_current(&ring->published);
		if (!number)
			return false;
		slot = &ring->slot[number % PUBLISH_SLOTS];
		ret_handler->fn = __atomic_load_n(&slot->fn, __ATOMIC_RELAXED);
		ret_handler->arg = __atomic_load_n(&slot->arg, __ATOMIC_RELAXED);
	} while (!publish_was_whole(&ring->published, number));
	return ret_handler->fn;
}
