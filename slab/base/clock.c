/* SPDX-License-Identifier: MIT */
/*
 * clock_sleep(), mutex_lock_timed(). A step of the realtime clock changes no wait, except on musl,
 * which lacks pthread_mutex_clocklock().
 */
#define _GNU_SOURCE
#include "base/clock.h"

#include <errno.h>
#include <sys/syscall.h>
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

/* ThreadSanitizer of gcc 12 does not know pthread_mutex_clocklock(). */
#if !defined(SLAB_HAVE_MUTEX_CLOCKLOCK) || defined(__SANITIZE_THREAD__)
#define pthread_mutex_clocklock(lock, clock, until) pthread_mutex_timedlock(lock, until)
#define LOCK_CLOCK CLOCK_REALTIME
#else
#define LOCK_CLOCK CLOCK_MONOTONIC
#endif

bool mutex_lock_timed(pthread_mutex_t *lock)
{
	struct timespec until;

	if (pthread_mutex_trylock(lock) == 0)
		return true;
	clock_gettime(LOCK_CLOCK, &until);
	until.tv_nsec += MUTEX_LOCK_TIMED_NS;
	until.tv_sec += until.tv_nsec / SECOND_NS;
	until.tv_nsec %= SECOND_NS;
	return pthread_mutex_clocklock(lock, LOCK_CLOCK, &until) == 0;
}
