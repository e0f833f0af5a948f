/* SPDX-License-Identifier: MIT */
/*
 * Cancellation. A thread that is cancelled ends at its next cancellation point: write(),
 * open(), nanosleep(), or whatever the application's callbacks reach. Whatever it has
 * locked, pinned or isolated by then stays so for ever. So libslab disables cancellation
 * at the entries of its interface and of its slow sections, where a cancellation point may
 * be reached; a request that comes meanwhile acts at the caller's next one.
 *
 * Not at every refill: it takes two locked instructions each way.
 */
#ifndef SLAB_BASE_CANCEL_H
#define SLAB_BASE_CANCEL_H

#include <pthread.h>

/* cancel_disable: what cancel_restore() wants. They nest. */
static inline int cancel_disable(void)
{
	int before;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	return before;
}

static inline void cancel_restore(int before)
{
	pthread_setcancelstate(before, NULL);
}

#endif /* SLAB_BASE_CANCEL_H */
