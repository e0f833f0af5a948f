/* SPDX-License-Identifier: MIT */
/* The monotonic clock, a sleep, and a mutex lock with a bounded wait. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* Microseconds of the monotonic clock. */
static inline uint64_t clock_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static inline uint64_t clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Sleep for some nanoseconds, less than a second, or until a signal comes. No cancellation point;
 * errno keeps its value. */
void clock_sleep(long ns);

/* A flush takes some 10 µs, a round of slabs off the lists less than 1 ms. A thread that holds the
 * lock for longer was preempted, or is itself allocating under it. */
#define MUTEX_LOCK_TIMED_NS 10000000L

/* Lock a mutex for an allocation that can continue without it. false: another thread held it for
 * too long. */
bool mutex_lock_timed(pthread_mutex_t *lock);
