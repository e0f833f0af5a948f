/* SPDX-License-Identifier: MIT */
#ifndef SLAB_CLOCK_H
#define SLAB_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Microseconds of a clock that only goes forward. */
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

#endif /* SLAB_CLOCK_H */
