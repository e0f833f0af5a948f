/* SPDX-License-Identifier: MIT */
/*
 * The server of the control socket: its states, when it starts, and the interface for an
 * application's own loop. thread.c has the thread, timer.c the timer, listener.c the descriptors,
 * clients.c the clients, and serve.c the events.
 *
 * All events come through one watch (descriptors.h): an epoll with the listening socket, a timer
 * and the clients. The control thread waits on it. An application that wants no thread adds the
 * same epoll to its own loop.
 *
 * An application that closes all descriptors closes libslab's, too. The server checks them each
 * time it wakes, and the close wakes the thread. The thread then closes the others, works without
 * descriptors (thread.c), and opens new ones a second later. In state LOOP, slab_control_fd() opens
 * the new ones.
 *
 * `control_state` determines which thread may use `control_server`. In IDLE it is the thread that
 * sets STARTING, and in STARTING that same thread; in THREAD the control thread; in LOOP the only
 * caller of slab_control_dispatch(). OFF is final. In FAILED there is neither a thread nor a
 * socket: slow paths do the periodic work, and slab_control_fd() may set STARTING again. There is
 * no lock, so a fork cannot leave one locked in the child.
 *
 * A process that has only caches of slab_malloc() stays in IDLE until it has START_BYTES of slabs
 * and large allocations. For less memory a socket, a thread and five descriptors are too much. The
 * slow paths of caches start the thread then. Large allocations do not, so a process that has no
 * cache at all stays in IDLE.
 *
 * A process whose malloc() is libslab stays in IDLE, unless SLAB_CONTROL is set or the application
 * calls slab_control_fd() (slab_control_on_request()). Slow paths do the periodic work there
 * (memory/maintain.c). The same holds for SLAB_CONTROL=signal:N until that signal comes. Its
 * handler only sets flags: the next slow path starts the thread. If that fails, slow paths go on
 * with the periodic work.
 *
 * The child of a fork starts in IDLE. If the parent had the thread, the child's first slow path
 * that needs ticks starts one. Decay needs ticks when there may be memory to return, which every
 * slow path signals; pressure needs them if a cache has args.reclaim. So a child that only calls
 * exec() starts no thread. A slow path may find under any lock that ticks are needed, but
 * pthread_create() may allocate, from libslab if it replaces malloc. So maintenance_resume()
 * starts the thread at places where no lock is held.
 *
 * A child of vfork() has its parent's memory, but not its parent's descriptors and threads. So it
 * starts no thread: a slow path of the parent does so later.
 */
#define _GNU_SOURCE
#include "control/server.h"
#include "base/cancel.h"
#include "base/compiler.h"
#include "base/libc.h"
#include "base/maintenance.h"
#include "base/note.h"
#include "base/options.h"
#include "base/own_work.h"
#include "control/clients.h"
#include "core/init.h"
#include "memory/maintain.h"
#include "pages/account.h"

#include <slab/control.h>

#include <errno.h>
#include <signal.h>

#define START_BYTES ((uint64_t)1 << 20)

static SLAB_EARLY bool on_request; /* see slab_control_on_request() */
static SLAB_EARLY bool signalled;  /* the signal of SLAB_CONTROL came */

static void start_ticks(void)
{
	int saved_errno = errno;

	control_start_timer();
	errno = saved_errno;
}

/* Let the next slow path that needs ticks start the thread. In other states the flag stays as it
 * is: the child of a child that has not started its thread yet starts one, too. */
static void resume_later(enum control_state parents)
{
	if (parents == THREAD || parents == STARTING)
		__atomic_store_n(&maintenance_resumes, true, __ATOMIC_RELAXED);
}

static void start_from(uint64_t bytes)
{
	__atomic_store_n(&maintenance_from_bytes, bytes, __ATOMIC_RELAXED);
}

static bool is_large(void)
{
	return account_used() >= __atomic_load_n(&maintenance_from_bytes, __ATOMIC_RELAXED);
}

static void resume(void)
{
	int saved_errno = errno, cancel = cancel_disable();

	if ((is_large() || control_common_period()) && !process_is_vforked()) {
		start_from(UINT64_MAX);
		__atomic_store_n(&maintenance_resumes, false, __ATOMIC_RELAXED);
		slab_control_start();
	}
	cancel_restore(cancel);
	errno = saved_errno;
}

static const struct maintenance_driver driver = {start_ticks, resume};

/* Let the next slow path of the process start the thread. */
static void start_soon(void)
{
	maintenance_set_driver(&driver);
	start_from(0);
	__atomic_store_n(&maintenance_resumes, true, __ATOMIC_RELAXED);
	__atomic_store_n(&maintenance_polls, true, __ATOMIC_RELAXED);
}

/* There is neither a thread nor a loop, so slow paths do the periodic work. */
static void end_in_failed(int error)
{
	atomic_store(&control_server.error, error);
	atomic_store(&control_state, FAILED);
	maintain_in_slow_paths();
}

/* Without the socket the thread does the periodic work, and tries again. */
static void begin_thread(void)
{
	int error = control_open(DESCRIPTORS_FROM);

	if (error)
		control_give_up(error);
	atomic_store(&control_state, THREAD); /* the thread may change it at once */
	error = control_start_thread();
	if (!error)
		return;
	slab_note("no control thread: %s", strerrordesc_np(-error));
	control_close();
	end_in_failed(error);
}

static void begin_loop(void)
{
	int error = control_open(DESCRIPTORS_FROM_SELECT);

	if (error) {
		control_give_up(error);
		end_in_failed(error);
	} else {
		atomic_store(&control_state, LOOP);
	}
}

/* In STARTING, only this thread uses the server. */
static bool begin_starting(enum control_state from)
{
	int expected = from;

	return atomic_compare_exchange_strong(&control_state, &expected, STARTING);
}

/* Leave the state IDLE, and FAILED for LOOP: for `served`, which is THREAD or LOOP, or for OFF or
 * FAILED. */
static void start_once(enum control_state served)
{
	if (!begin_starting(IDLE) && (served != LOOP || !begin_starting(FAILED)))
		return;
	start_from(UINT64_MAX);
	if (slab_options()->control == SLAB_CONTROL_OFF) {
		atomic_store(&control_state, OFF);
		return;
	}
	maintenance_set_driver(&driver);
	if (served == LOOP)
		begin_loop();
	else
		begin_thread();
	control_start_timer();
}

/* The handler of the signal that SLAB_CONTROL names. */
static void signal_came(int number)
{
	(void)number;
	if (atomic_load(&control_state) != IDLE)
		return;
	__atomic_store_n(&signalled, true, __ATOMIC_RELAXED);
	start_soon();
}

/* Several threads may do it at once. */
static void wait_for_signal(int number)
{
	static bool waits;
	struct sigaction action = {.sa_handler = signal_came, .sa_flags = SA_RESTART | SA_ONSTACK};

	if (__atomic_exchange_n(&waits, true, __ATOMIC_RELAXED))
		return;
	maintain_in_slow_paths();
	sigaction(number, &action, NULL);
}

/* Does libslab stay without socket and thread, unless the application calls slab_control_fd() or
 * the signal comes? */
static bool waits_for_request(void)
{
	const int number = slab_options()->control_signal;

	if (number) {
		wait_for_signal(number);
		return !__atomic_load_n(&signalled, __ATOMIC_RELAXED);
	}
	return __atomic_load_n(&on_request, __ATOMIC_RELAXED) && !slab_options()->control_is_set;
}

void slab_control_on_request(void)
{
	__atomic_store_n(&on_request, true, __ATOMIC_RELAXED);
}

/* May libslab start the thread, now or later? */
static bool may_start(void)
{
	return atomic_load_explicit(&control_state, memory_order_acquire) == IDLE &&
	       !waits_for_request();
}

void slab_control_start(void)
{
	int saved_errno;

	if (!may_start())
		return;
	saved_errno = errno;
	if (process_is_vforked())
		start_soon();
	else
		start_once(THREAD);
	errno = saved_errno;
}

void slab_control_start_if_large(void)
{
	if (!may_start())
		return;
	/* If the signal came, the size does not matter. */
	if (slab_options()->control == SLAB_CONTROL_AUTO && !slab_options()->control_signal) {
		maintenance_set_driver(&driver);
		start_from(START_BYTES);
		if (!is_large())
			return;
	}
	slab_control_start();
}

/* glibc ends the process if it cannot allocate a thread-local destructor. */
void slab_control_watch_exit(void)
{
	own_work_watch_exit();
	if (!__atomic_load_n(&on_request, __ATOMIC_RELAXED))
		control_watch_exit_of_main_thread();
}

void slab_control_after_fork_child(void)
{
	if (atomic_load(&control_state) == OFF)
		return;
	resume_later(atomic_load(&control_state));
	control_leave();
	control_thread_after_fork_child();
	atomic_store(&control_state, IDLE);
}

/* The application's loop */

/* 0 if the application serves the socket, otherwise the reason why not, as -errno. */
static int loop_error(void)
{
	const int failed = atomic_load(&control_server.error);

	switch (atomic_load(&control_state)) {
	case LOOP:
		return 0;
	case OFF:
		return -EPERM;
	case FAILED:
		return failed;
	case IDLE:
		return -EINVAL;
	default:
		return failed ? failed : -EBUSY;
	}
}

/* Open new descriptors after some were closed. */
static int reopen_loop(void)
{
	atomic_store(&control_state, STARTING);
	control_close();
	begin_loop();
	control_start_timer();
	return loop_error();
}

int slab_control_fd(void)
{
	int error, cancel = cancel_disable();

	start_once(LOOP);
	error = loop_error();
	if (!error && !control_is_open())
		error = reopen_loop();
	cancel_restore(cancel);
	if (error) {
		errno = -error;
		return error;
	}
	return control_server.watch.epoll.fd;
}

int slab_control_dispatch(void)
{
	int cancel = cancel_disable(), error = loop_error();
	int answered = error ? error : control_serve();

	cancel_restore(cancel);
	if (answered < 0)
		errno = -answered;
	return answered;
}
