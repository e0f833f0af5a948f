/* SPDX-License-Identifier: MIT */
/* pages_lock. Every file of the page layer may take it, so it stands below all of them. */
#include <pthread.h>

#include "base/compiler.h"
#include "pages/segment.h"

/* In a line of its own: threads that do not take the lock read the variables beside it. */
static SLAB_EARLY pthread_mutex_t pages_lock __attribute__((aligned(CPU_CACHELINE))) =
	PTHREAD_MUTEX_INITIALIZER;

void segment_lock(void)
{
	pthread_mutex_lock(&pages_lock);
}

void segment_unlock(void)
{
	pthread_mutex_unlock(&pages_lock);
}
