/* SPDX-License-Identifier: MIT */
/*
 * The server of the control socket: its states, the control thread, and the interface for an
 * application's own loop. timer.c has the timer, listener.c the descriptors, clients.c the
 * clients.
 *
 * All events come through one watch (descriptors.h): an epoll with the listening socket, a timer
 * and the clients. The control thread waits on it. An application that wants no thread adds the
 * same epoll to its own loop.
 *
 * An application that closes all descriptors closes libslab's, too. The server checks them each
 * time it wakes, and the close wakes the thread. The thread then closes the others and opens new
 * ones a second later (reopen()), since an application that closes everything may be about to
 * open 0, 1 and 2 again. In state LOOP, slab_control_fd() opens the new ones.
 *
 * `control_state` determines which thread may use `control_server`. In IDLE it is the thread that
 * sets STARTING, and in STARTING that same thread; in THREAD the control thread; in LOOP the only
 * caller of slab_control_dispatch(). OFF and FAILED are final. There is no lock, so a fork cannot
 * leave one locked in the child.
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
#include "base/clock.h"
#include "base/compiler.h"
#include "base/libc.h"
#include "base/maintenance.h"
#include "base/note.h"
#include "config/options.h"
#include "control/clients.h"
#include "debug/guard.h"
#include "memory/decay.h"
#include "memory/maintain.h"
#include "memory/pressure.h"
#include "pages/account.h"
#include "rcu/free_rcu.h"
#include "registry/count_window.h"
#include "registry/init.h"

#include <slab/control.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define STACK_BYTES ((size_t)256 << 10) /* report handlers of the application run on it */

#define REOPEN_MS 1000 /* after descriptors were lost */
#define START_BYTES ((uint64_t)1 << 20)

static pthread_key_t main_thread_key;
static bool main_thread_watched;
static SLAB_EARLY bool on_request; /* see slab_control_on_request() */
static SLAB_EARLY bool signalled;  /* the signal of SLAB_CONTROL came */

/* Ticks */

static void start_ticks(void)
{
	int saved_errno = errno;

	control_start_timer();
	errno = saved_errno;
}

/* Call sample_tick() ten times a second, even if the timer expires more often. */
static void tick_sampling(void)
{
	static uint64_t last;
	uint64_t now = clock_us();

	if (now - last < TICK_US - TICK_US / 10)
		return;
	last = now;
	sample_tick();
}

static void tick(void)
{
	uint64_t ticks;

	if (!watch_has(&control_server.watch, &control_server.timer) ||
	    read(control_server.timer.fd, &ticks, sizeof(ticks)) < 0)
		return;
	control_drop_idle();
	tick_sampling();
	count_tick();
	decay_tick(clock_us());
	pressure_tick(&control_server.watch, TAG_PRESSURE);
	control_server.period = PERIOD_UNKNOWN;
	control_update_timer();
}

static void answer_pressure(unsigned tag, uint32_t events)
{
	pressure_event(&control_server.watch, tag - TAG_PRESSURE, events);
	control_update_timer(); /* pressure_tick() must watch the file again later */
}

/* Returns the number of requests answered. */
static int serve_event(const struct epoll_event *event)
{
	unsigned tag = event->data.u32;

	if (tag < MAX_CLIENTS)
		return control_serve_client(&control_server.client[tag]);
	if (tag == TAG_LISTENER)
		control_accept();
	else if (tag == TAG_TIMER)
		tick();
	else if (tag == WATCH_TAG)
		watch_answer(&control_server.watch);
	else
		answer_pressure(tag, event->events);
	return 0;
}

/* Serve all descriptors that are ready. Returns the number of requests answered, or -errno.
 * -EBADF: some descriptors do not belong to libslab any more. */
static int serve(void)
{
	struct epoll_event events[16];
	int n, answered = 0;

	if (!control_is_open())
		return -EBADF;
	n = epoll_wait(control_server.watch.epoll.fd, events, 16, 0);
	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	for (int i = 0; i < n; i++)
		answered += serve_event(&events[i]);
	return answered;
}

/* Failing, and opening again */

/* Close everything after an error. A note is written only if the user has asked for the socket: has
 * set SLAB_RUNTIME_DIR, or sent the signal of SLAB_CONTROL. */
static void give_up(int error)
{
	if (*slab_options()->runtime_dir)
		slab_note("no control socket in SLAB_RUNTIME_DIR=%s: %s",
			  slab_options()->runtime_dir, strerrordesc_np(-error));
	else if (slab_options()->control_signal)
		slab_note("no control socket after signal %d: %s", slab_options()->control_signal,
			  strerrordesc_np(-error));
	control_close();
	control_server.error = error;
}

static int open_server(enum control_state served)
{
	return control_open(served == LOOP ? DESCRIPTORS_FROM_SELECT : DESCRIPTORS_FROM);
}

/* Open new descriptors after some were closed. In STARTING, other threads do not set the timer. */
static int reopen(enum control_state served)
{
	int error;

	atomic_store(&control_state, STARTING);
	control_close();
	if (served == THREAD)
		poll(NULL, 0, REOPEN_MS);
	error = open_server(served);
	if (error)
		control_close();
	atomic_store(&control_state, error && served == THREAD ? IDLE : served);
	control_start_timer();
	return error;
}

/* The thread */

/*
 * If the main thread leaves by pthread_exit(), the process ends with its last thread. The control
 * thread must not be that thread. The destructor of a thread-specific key detects the end of the
 * main thread; from then on the control thread checks once a second whether only it and the dead
 * main thread are left, and ends.
 */
static bool last_thread(void)
{
	char stat[512];
	int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? -1 : read(fd, stat, sizeof(stat) - 1);
	const char *field;

	if (fd >= 0)
		close(fd);
	if (len <= 0)
		return false;
	stat[len] = '\0';
	/* ')' ends field 2. Field 3 is the main thread's state, field 20 the number of threads. */
	field = strrchr(stat, ')');
	if (!field || strncmp(field, ") Z ", 4) != 0)
		return false;
	for (int i = 2; field && i < 20; i++)
		field = strchr(field + 1, ' ');
	return field && atoi(field) == 2;
}

static void main_thread_ends(void *unused)
{
	(void)unused;
	atomic_store(&control_main_thread_gone, true);
	control_start_timer();
}

__attribute__((constructor)) static void watch_main_thread(void)
{
	if (gettid() != getpid() || pthread_key_create(&main_thread_key, main_thread_ends) != 0)
		return;
	main_thread_watched = true;
	pthread_setspecific(main_thread_key, &control_state);
}

/* Let the next slow path that needs ticks start the thread. In other states the flag stays as it
 * is: the child of a child that has not started its thread yet starts one, too. */
static void resume_later(enum control_state parents)
{
	if (parents == THREAD || parents == STARTING)
		__atomic_store_n(&maintenance_resumes, true, __ATOMIC_RELAXED);
}

/* Wait for an event. While no client can be accepted, the listening socket is left out. */
static void wait_for_events(void)
{
	const struct control_server *server = &control_server;
	const struct descriptor *more[] = {&server->timer, &server->listener, NULL};

	if (server->muted)
		more[1] = NULL;
	watch_wait(&server->watch, more);
}

static void *control_thread(void *unused)
{
	(void)unused;
	pthread_setname_np(pthread_self(), "slab-control");
	rcu_this_thread_is_ours();
	while (!atomic_load(&control_main_thread_gone) || !last_thread()) {
		wait_for_events();
		if (serve() < 0 && reopen(THREAD) != 0) {
			resume_later(THREAD);
			break;
		}
	}
	return NULL;
}

static int start_thread(void)
{
	pthread_attr_t attr;
	pthread_t thread;
	sigset_t all, old;
	int error;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	error = pthread_create(&thread, &attr, control_thread, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	return -error;
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

/* There is no thread, so slow paths do the periodic work again, if they did it before. */
static void end_in_failed(int error)
{
	give_up(error);
	atomic_store(&control_state, FAILED);
	if (__atomic_load_n(&on_request, __ATOMIC_RELAXED) || slab_options()->control_signal)
		maintain_in_slow_paths();
}

/* Leave the state IDLE: for `served`, which is THREAD or LOOP, or for OFF or FAILED. */
static void start_once(enum control_state served)
{
	int expected = IDLE, error = 0;

	if (!atomic_compare_exchange_strong(&control_state, &expected, STARTING))
		return;
	start_from(UINT64_MAX);
	if (slab_options()->control == SLAB_CONTROL_OFF) {
		atomic_store(&control_state, OFF);
		return;
	}
	maintenance_set_driver(&driver);
	error = open_server(served);
	if (!error)
		atomic_store(&control_state, served); /* the thread may change it at once */
	if (!error && served == THREAD)
		error = start_thread();
	if (error)
		end_in_failed(error);
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

void slab_control_after_fork_child(void)
{
	if (atomic_load(&control_state) == OFF)
		return;
	resume_later(atomic_load(&control_state));
	control_leave();
	atomic_store(&control_main_thread_gone, false);
	if (main_thread_watched)
		pthread_setspecific(main_thread_key, &control_state);
	atomic_store(&control_state, IDLE);
}

/* The application's loop */

/* 0 if the application serves the socket, otherwise the reason why not, as -errno. */
static int loop_error(void)
{
	switch (atomic_load(&control_state)) {
	case LOOP:
		return 0;
	case OFF:
		return -EPERM;
	case FAILED:
		return control_server.error;
	case IDLE:
		return -EINVAL;
	default:
		return -EBUSY;
	}
}

int slab_control_fd(void)
{
	int error, cancel = cancel_disable();

	start_once(LOOP);
	error = loop_error();
	if (!error && !control_is_open())
		error = reopen(LOOP);
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
	int answered = error ? error : serve();

	cancel_restore(cancel);
	if (answered < 0)
		errno = -answered;
	return answered;
}
