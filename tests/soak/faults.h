/* SPDX-License-Identifier: MIT */
/*
 * System calls and mappings of libslab that fail, and those that are cancellation points: the
 * linker sends its calls to wrappers here (--wrap, CMakeLists.txt). The C library's own calls, and
 * liburcu's, are not affected.
 */
#pragma once

#include "../support/test.h"

namespace soak
{

/* Every n-th call fails; 0: none. */
void fail_calls(unsigned every);

unsigned long failed_calls();

/* The thread may be cancelled: it is an error from now on if libslab calls a cancellation point
 * without having disabled cancellation. */
void watch_cancellation_points();

/* nanosleep(), at which a thread may be cancelled. */
void nap(const struct timespec *time);

/* pthread_create() that does not fail on purpose. */
int create_thread(pthread_t *thread, void *(*body)(void *), void *arg);

} /* namespace soak */
