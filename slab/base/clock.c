/* SPDX-License-Identifier: MIT */
/*
 * clock_sleep(), mutex_lock_timed(). pthread_mutex_timedlock() uses the realtime clock, so a step
 * of that clock may shorten or lengthen one wait.
 */
#include "base/clock.h"

#include <errno.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SECOND_NS 1000000000L

/* A system call, because nanosleep() is a cancellation point. */
void clock_sleep(long ns)
{
	const struct timespec time = {.tv_nsec = ns};
	const int saved = errno;

	syscall(SYS_nanosleep, &time, NULL);
	errno = saved;
}

bool mutex_lock_timed(pthread_mutex_t *lock)
{
	struct timespec until;

	if (pthread_mutex_trylock(lock) == 0)
		return true;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += MUTEX_LOCK_TIMED_NS;
	until.tv_sec += until.tv_nsec / SECOND_NS;
	until.tv_nsec %= SECOND_NS;
	return pthread_mutex_timedlock(lock, &until) == 0;
}
