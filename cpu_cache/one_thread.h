/* SPDX-License-Identifier: MIT */
/*
 * Processes with one thread: nothing runs beside the caller, and only a signal handler interrupts
 * it.
 *
 * glibc says so until the first pthread_create(), and never again. A C library that does not say
 * (glibc before 2.32, musl) counts as one with threads.
 */
#pragma once

#include <stdbool.h>

extern char __libc_single_threaded __attribute__((weak));

static inline bool process_has_one_thread(void)
{
	return &__libc_single_threaded && __libc_single_threaded;
}
