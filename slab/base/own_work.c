/* SPDX-License-Identifier: MIT */
/* A flag that exit() sets, and the number of threads that do work of libslab: exit() waits for
 * them, but not for ever. */
#define _GNU_SOURCE
#include "base/own_work.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/compiler.h"

/* A callback may need a lock that the thread in exit() holds. */
#define EXIT_WAIT_US UINT64_C(2000000)

#define OF_THREAD __thread __attribute__((tls_model("initial-exec")))

static SLAB_EARLY uint32_t exiting; /* a futex */
static SLAB_EARLY uint32_t working; /* a futex: the number of threads with depth > 0 */
static OF_THREAD unsigned depth;
static OF_THREAD bool exits; /* this thread has set `exiting` */

/* glibc alone has it. */
extern int __cxa_thread_atexit_impl(void (*call)(void *), void *arg, void *library)
	__attribute__((weak));
extern void *__dso_handle __attribute__((visibility("hidden")));

static bool is_exiting(void)
{
	return __atomic_load_n(&exiting, __ATOMIC_SEQ_CST);
}

static void wake(uint32_t *futex)
{
	syscall(SYS_futex, futex, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

bool own_work_begin(void)
{
	if (depth++)
		return true;
	__atomic_fetch_add(&working, 1, __ATOMIC_SEQ_CST);
	if (!is_exiting())
		return true;
	own_work_end();
	return false;
}

void own_work_end(void)
{
	if (--depth)
		return;
	__atomic_fetch_sub(&working, 1, __ATOMIC_SEQ_CST);
	if (is_exiting())
		wake(&working);
}

bool own_work_must_end(void)
{
	return depth && is_exiting();
}

void own_work_wait_while_exiting(void)
{
	while (is_exiting())
		syscall(SYS_futex, &exiting, FUTEX_WAIT_PRIVATE, 1, NULL, NULL, 0);
}

/* Wait for the work of other threads. If a callback called exit(), this thread has work, too. */
static void wait_for_others(void)
{
	const uint32_t own = depth ? 1 : 0;
	const uint64_t end = clock_us() + EXIT_WAIT_US;
	uint32_t others;
	uint64_t now;

	while ((others = __atomic_load_n(&working, __ATOMIC_SEQ_CST)) > own &&
	       (now = clock_us()) < end) {
		const struct timespec rest = {
			.tv_sec = (time_t)((end - now) / 1000000),
			.tv_nsec = (long)((end - now) % 1000000) * 1000,
		};

		syscall(SYS_futex, &working, FUTEX_WAIT_PRIVATE, others, &rest, NULL, 0);
	}
}

static void exit_begins(void)
{
	const int saved = errno;

	if (!__atomic_exchange_n(&exiting, 1, __ATOMIC_SEQ_CST)) {
		exits = true;
		wait_for_others();
	}
	errno = saved;
}

static void main_thread_ends(void *unused)
{
	(void)unused;
	exit_begins();
}

void own_work_watch_exit(void)
{
	static atomic_bool watched;

	if (!atomic_exchange(&watched, true))
		atexit(exit_begins);
}

void own_work_watch_main_thread(void)
{
	static OF_THREAD bool watched;

	if (!__cxa_thread_atexit_impl || watched)
		return;
	watched = true;
	__cxa_thread_atexit_impl(main_thread_ends, NULL, &__dso_handle);
}

void own_work_resume(void)
{
	__atomic_store_n(&exiting, 0, __ATOMIC_SEQ_CST);
	wake(&exiting);
}

void own_work_after_fork_child(void)
{
	working = depth ? 1 : 0;
	exiting = exits;
}
