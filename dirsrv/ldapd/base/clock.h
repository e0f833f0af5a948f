/* SPDX-License-Identifier: MIT */
/* The monotonic clock. Both functions are MT-safe. */
#pragma once

#include "posix.h"

/* clock_ns: nanoseconds of CLOCK_MONOTONIC. */
static inline uint64_t clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* clock_seconds: seconds of the same clock, at the resolution of the timer interrupt, which
 * costs less to read. */
static inline uint32_t clock_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return (uint32_t)now.tv_sec;
}
