/* SPDX-License-Identifier: MIT */
/*
 * Disabling thread cancellation.
 *
 * A cancelled thread ends at its next cancellation point: write(), open(), nanosleep(), or anything
 * that a callback of the application calls. What it has locked, pinned or taken off a list would
 * stay so for ever. So libslab disables cancellation at its public functions and slow sections that
 * may reach a cancellation point. A pending request acts at the caller's next cancellation point.
 *
 * A refill does not disable cancellation, because that costs two locked instructions each way.
 */
#pragma once

#include <pthread.h>

/* cancel_disable: returns the value for cancel_restore(). The pairs nest. */
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
