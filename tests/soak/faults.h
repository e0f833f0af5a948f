/* SPDX-License-Identifier: MIT */
/*
 * System calls and mappings of libslab that fail: the linker sends its calls to wrappers here
 * (--wrap, CMakeLists.txt). The C library's own calls, and liburcu's, are not affected.
 */
#ifndef TESTS_SOAK_FAULTS_H
#define TESTS_SOAK_FAULTS_H

#include <pthread.h>

namespace soak
{

/* Every n-th call fails; 0: none. */
void fail_calls(unsigned every);

unsigned long failed_calls();

/* pthread_create() that does not fail on purpose. */
int create_thread(pthread_t *thread, void *(*body)(void *), void *arg);

} /* namespace soak */

#endif /* TESTS_SOAK_FAULTS_H */
