/* SPDX-License-Identifier: MIT */
/*
 * The control socket: directory, descriptors, timer, and the thread. Clients:
 * control_clients.c.
 *
 * Everything hangs on one epoll descriptor that watches the listening socket, a
 * timer and the clients. The thread waits on it; an application that wants no
 * thread watches the same descriptor in its own loop.
 *
 * `state` says who may touch `control_server`: in IDLE whoever moves it to STARTING;
 * in STARTING that thread; in THREAD the control thread; in LOOP the one caller
 * of slab_control_dispatch(). OFF and FAILED are final. There is no lock that a fork
 * could catch held.
 *
 * A fork's child starts from IDLE again. If its parent had the thread, the child's is
 * started by the first slow path after which somebody wants ticks: decay, when there is
 * something to give back (every slow path stirs it), or pressure, when there is a cache
 * to be asked. A child that only calls exec() has no use for one. What wants ticks may be
 * noticed under any lock, while a thread is made by functions that may allocate, in
 * libslab where it is malloc; hence slab_control_resume() at places without locks. That
 * of the registry may be held, by a cache's destruction; then another slow path will do.
 */
#define _GNU_SOURCE
#include "clock.h"
#include "control_clients.h"
#include "control_socket.h"
#include "count.h"
#include "decay.h"
#include "guard.h"
#include "options.h"
#include "pressure.h"
#include "cache_rcu.h"
#include "report.h"
#include "runtime_dir.h"

#include <slab/control.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define STACK_BYTES ((size_t)256 << 10) /* report handlers of the application run on it */

/* Periods of the timer. */
#define TICK_MS 100L
#define SECOND_MS 1000L
#define PERIOD_UNKNOWN (-1L)

enum state { IDLE, STARTING, THREAD, LOOP, OFF, FAILED };

struct control_server control_server = {.listener = -1, .poll = -1, .timer = -1};

static atomic_int state;

bool slab_control_resumes;

/* Set when the main thread ends by pthread_exit(); see watch_main_thread(). */
static atomic_bool main_thread_gone;
static pthread_key_t main_thread_key;
static bool main_thread_watched;

uint64_t control_now(void)
{
	return clock_us() / 1000;
}

int control_watch(int operation, int fd, uint32_t events, unsigned tag)
{
	struct epoll_event event = {.events = events, .data.u32 = tag};

	return epoll_ctl(control_server.poll, operation, fd, &event);
}

/* The timer */

static void set_timer(long ms)
{
	const struct timespec period = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
	struct itimerspec spec = {.it_interval = period, .it_value = period};

	timerfd_settime(control_server.timer, 0, &spec, NULL);
}

/* Of two periods the one that is shorter; 0: off. */
static long shorter(long a, long b)
{
	return a && (a < b || !b) ? a : b;
}

/* What those wait for who are not clients, in ms; 0: nothing. */
static long common_period(void)
{
	long period = shorter(decay_wait(), pressure_period());

	if (sample_wants_ticks() || count_wants_ticks())
		period = shorter(period, TICK_MS);
	if (atomic_load(&main_thread_gone) && atomic_load(&state) == THREAD)
		period = shorter(period, SECOND_MS);
	return period;
}

static long wanted_period(void)
{
	long period = common_period();

	if (control_server.muted)
		period = shorter(period, TICK_MS);
	return control_server.clients ? shorter(period, SECOND_MS) : period;
}

/*
 * Whoever serves. Others may set the timer at any moment (start_timer()) after
 * the period was chosen here, so it is chosen again after it was set. Unless it
 * changes it is left alone: frequent clients must not keep it from running out.
 * (decay_wait() becomes less all the time: it may be set again and again for that.)
 */
void control_update_timer(void)
{
	long period;

	while ((period = wanted_period()) != control_server.period) {
		control_server.period = period;
		set_timer(period);
	}
}

/* Any thread. What is too much is put right when the timer has run out. */
static void start_timer(void)
{
	enum state served = atomic_load(&state);
	long period = common_period();

	if (period && (served == THREAD || served == LOOP))
		set_timer(period);
}

void slab_control_start_ticks(void)
{
	int saved_errno = errno;

	start_timer();
	errno = saved_errno;
}

static void tick(void)
{
	uint64_t ticks;

	if (read(control_server.timer, &ticks, sizeof(ticks)) < 0)
		return;
	control_drop_idle();
	sample_tick();
	count_tick();
	decay_tick(clock_us());
	pressure_tick(control_server.poll, TAG_PRESSURE);
	control_server.period = PERIOD_UNKNOWN;
	control_update_timer();
}

static void answer_pressure(unsigned tag, uint32_t events)
{
	pressure_event(tag - TAG_PRESSURE, events);
	control_update_timer(); /* it is listened to again after a while */
}

/* Serves what is ready. Returns the number of requests answered, or -errno. */
static int serve(int timeout)
{
	struct epoll_event events[16];
	int n = epoll_wait(control_server.poll, events, 16, timeout);
	int answered = 0;

	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	for (int i = 0; i < n; i++) {
		unsigned tag = events[i].data.u32;

		if (tag == TAG_LISTENER)
			control_accept();
		else if (tag == TAG_TIMER)
			tick();
		else if (tag >= TAG_PRESSURE)
			answer_pressure(tag, events[i].events);
		else
			answered += control_serve_client(&control_server.client[tag]);
	}
	return answered;
}

/* Opening and closing */

/* Leaves the descriptors, and the socket's name, to whoever else has them. */
static void close_descriptors(void)
{
	for (unsigned i = 0; i < MAX_CLIENTS; i++) {
		if (control_server.client[i].used)
			close(control_server.client[i].fd);
	}
	if (control_server.listener >= 0)
		close(control_server.listener);
	if (control_server.timer >= 0)
		close(control_server.timer);
	if (control_server.poll >= 0)
		close(control_server.poll);
	pressure_close();
	memset(&control_server, 0, sizeof(control_server));
	control_server.listener = control_server.timer = control_server.poll = -1;
}

static int open_poll(void)
{
	control_server.poll = epoll_create1(EPOLL_CLOEXEC);
	control_server.timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (control_server.poll < 0 || control_server.timer < 0)
		return -errno;
	if (control_watch(EPOLL_CTL_ADD, control_server.listener, EPOLLIN, TAG_LISTENER) != 0 ||
	    control_watch(EPOLL_CTL_ADD, control_server.timer, EPOLLIN, TAG_TIMER) != 0)
		return -errno;
	return 0;
}

static int open_listener(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int error = slab_runtime_dir_prepare(control_server.path, sizeof(control_server.path));

	if (error)
		return error;
	memcpy(address.sun_path, control_server.path, sizeof(control_server.path));
	control_server.listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (control_server.listener < 0)
		return -errno;
	if (bind(control_server.listener, (struct sockaddr *)&address, sizeof(address)) != 0)
		return -errno;
	if (lstat(control_server.path, &control_server.made) == 0)
		control_server.pid = getpid();
	if (listen(control_server.listener, MAX_CLIENTS) != 0)
		return -errno;
	return 0;
}

/* Only the process that made the socket removes its name, unless somebody has put
 * another in its place. */
__attribute__((destructor)) static void unlink_socket(void)
{
	struct stat st;

	if (control_server.pid == getpid() && lstat(control_server.path, &st) == 0 &&
	    st.st_dev == control_server.made.st_dev && st.st_ino == control_server.made.st_ino)
		unlink(control_server.path);
}

/* Told only to users who asked for a directory. */
static void give_up(int error)
{
	if (*slab_options()->runtime_dir)
		slab_note("no control socket in SLAB_RUNTIME_DIR=%s: %s",
			  slab_options()->runtime_dir, strerrordesc_np(-error));
	unlink_socket();
	close_descriptors();
	control_server.error = error;
}

static int open_server(void)
{
	int error = open_listener();

	return error ? error : open_poll();
}

/* The thread */

/*
 * A process whose main thread leaves by pthread_exit() ends with its last
 * thread, and the control thread must not be the one that keeps it. A key's
 * destructor tells of the main thread's end; from then on the control thread
 * looks once a second whether only it and the dead leader are left.
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
	field = strrchr(stat, ')'); /* ends field 2; 3 is the leader's state, 20 the threads */
	if (!field || strncmp(field, ") Z ", 4) != 0)
		return false;
	for (int i = 2; field && i < 20; i++)
		field = strchr(field + 1, ' ');
	return field && atoi(field) == 2;
}

static void main_thread_ends(void *unused)
{
	(void)unused;
	atomic_store(&main_thread_gone, true);
	start_timer();
}

__attribute__((constructor)) static void watch_main_thread(void)
{
	if (gettid() != getpid() || pthread_key_create(&main_thread_key, main_thread_ends) != 0)
		return;
	main_thread_watched = true;
	pthread_setspecific(main_thread_key, &state);
}

static void *control_thread(void *unused)
{
	(void)unused;
	pthread_setname_np(pthread_self(), "slab-control");
	rcu_this_thread_is_ours();
	while (!atomic_load(&main_thread_gone) || !last_thread()) {
		if (serve(-1) < 0) { /* somebody closed our descriptors */
			unlink_socket();
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

/* From IDLE to one of the final states; `served` is THREAD or LOOP. */
static void start_once(enum state served)
{
	int expected = IDLE, error = 0;

	if (!atomic_compare_exchange_strong(&state, &expected, STARTING))
		return;
	if (!slab_options()->control) {
		atomic_store(&state, OFF);
		return;
	}
	error = open_server();
	if (!error && served == THREAD)
		error = start_thread();
	if (error)
		give_up(error);
	atomic_store(&state, error ? FAILED : served);
	start_timer();
}

void slab_control_start(void)
{
	int saved_errno;

	if (atomic_load_explicit(&state, memory_order_acquire) != IDLE)
		return;
	saved_errno = errno;
	start_once(THREAD);
	errno = saved_errno;
}

void slab_control_resume_slow(void)
{
	int saved_errno = errno;

	if (common_period() && pthread_mutex_trylock(&registry_lock) == 0) {
		pthread_mutex_unlock(&registry_lock);
		__atomic_store_n(&slab_control_resumes, false, __ATOMIC_RELAXED);
		slab_control_start();
	}
	errno = saved_errno;
}

/* The child of a child that has not had a slow path yet resumes as well. */
static void resume_later(enum state parents)
{
	if (parents == THREAD || parents == STARTING)
		__atomic_store_n(&slab_control_resumes, true, __ATOMIC_RELAXED);
}

void slab_control_after_fork_child(void)
{
	if (atomic_load(&state) == OFF)
		return;
	resume_later(atomic_load(&state));
	close_descriptors();
	atomic_store(&main_thread_gone, false);
	if (main_thread_watched)
		pthread_setspecific(main_thread_key, &state);
	atomic_store(&state, IDLE);
}

/* The application's loop */

/* 0 when the application serves the socket, else why it does not. */
static int loop_error(void)
{
	switch (atomic_load(&state)) {
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
	int error;

	start_once(LOOP);
	error = loop_error();
	if (error) {
		errno = -error;
		return error;
	}
	return control_server.poll;
}

int slab_control_dispatch(void)
{
	int error = loop_error();
	int answered = error ? error : serve(0);

	if (answered < 0)
		errno = -answered;
	return answered;
}
