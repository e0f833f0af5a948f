/* SPDX-License-Identifier: MIT */
/*
 * The control thread. It waits for descriptors (watch_wait()), or, while it has none, on a futex
 * with a time limit. So periodic work needs no descriptor: it goes on while the socket cannot be
 * opened. The thread tries to open the socket again after 1, 2, 4, … 64 seconds.
 */
#define _GNU_SOURCE
#include "control/clients.h"

#include "base/clock.h"
#include "base/compiler.h"
#include "base/libc.h"
#include "base/note.h"
#include "base/own_work.h"
#include "pages/os.h"
#include "rcu/free_rcu.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STACK_BYTES ((size_t)256 << 10) /* report handlers of the application run on it */

/* A program that closes all descriptors may be about to open 0, 1 and 2 again. So the first attempt
 * comes a second later. */
#define RETRY_US ((uint64_t)SECOND_US)
#define RETRY_MOST_US (64 * RETRY_US)

static struct {
	uint64_t wait;
	uint64_t due; /* µs of the monotonic clock */
} retry;

static pthread_key_t main_thread_key;
static bool main_thread_watched;
static SLAB_EARLY size_t tls_bytes; /* of all libraries that were loaded at the start */

/* --- the end of the main thread ------------------------------------------------------- */

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
	own_work_resume();
	atomic_store(&control_main_thread_gone, true);
	control_start_timer();
}

static void watch_main_thread(void)
{
	if (gettid() != getpid() || pthread_key_create(&main_thread_key, main_thread_ends) != 0)
		return;
	main_thread_watched = true;
	pthread_setspecific(main_thread_key, &control_state);
}

void control_watch_exit_of_main_thread(void)
{
	if (main_thread_watched && gettid() == getpid())
		own_work_watch_main_thread();
}

void control_thread_after_fork_child(void)
{
	atomic_store(&control_main_thread_gone, false);
	if (main_thread_watched)
		pthread_setspecific(main_thread_key, &control_state);
}

/* --- opening again -------------------------------------------------------------------- */

void control_give_up(int error)
{
	static atomic_bool noted;

	if (!atomic_exchange(&noted, true))
		slab_note("no control socket: %s: %s", control_server.path,
			  error == -EPERM ? "another user owns it, or may write to it"
					  : strerrordesc_np(-error));
	control_close();
	atomic_store(&control_server.error, error);
}

static void retry_after(uint64_t wait)
{
	retry.wait = wait < RETRY_MOST_US ? wait : RETRY_MOST_US;
	retry.due = clock_us() + retry.wait;
}

/* In STARTING, other threads do not set the timer. */
static void open_again(void)
{
	int error;

	atomic_store(&control_state, STARTING);
	error = control_open(DESCRIPTORS_FROM);
	if (error) {
		control_give_up(error);
		retry_after(2 * retry.wait);
	}
	atomic_store(&control_state, THREAD);
	control_start_timer();
}

static void close_for_a_while(void)
{
	atomic_store(&control_state, STARTING);
	control_close();
	retry_after(RETRY_US);
	atomic_store(&control_state, THREAD);
}

/* --- the thread ----------------------------------------------------------------------- */

static bool is_closed(void)
{
	return descriptor_number(&control_server.watch.epoll) < 0;
}

/* Wait for an event. While no client can be accepted, the listening socket is left out. */
static int wait_for_events(void)
{
	const struct control_server *server = &control_server;
	const struct descriptor *more[] = {&server->timer, &server->listener, NULL};

	if (server->muted)
		more[1] = NULL;
	return watch_wait(&server->watch, more);
}

/* Wait for `us`, or until control_start_timer() changes control_wakes. */
static void wait_closed(uint32_t wakes, uint64_t us)
{
	const struct timespec limit = {
		.tv_sec = (time_t)(us / SECOND_US),
		.tv_nsec = (long)(us % SECOND_US) * 1000,
	};

	syscall(SYS_futex, &control_wakes, FUTEX_WAIT_PRIVATE, wakes, &limit, NULL, 0);
}

/* Without descriptors: read control_wakes before the period that another thread may change. */
static void work_closed(void)
{
	const uint32_t wakes = __atomic_load_n(&control_wakes, __ATOMIC_SEQ_CST);
	const uint64_t period = (uint64_t)control_common_period(), now = clock_us();
	const uint64_t left = retry.due > now ? retry.due - now : 0;

	wait_closed(wakes, period && period < left ? period : left);
	control_tick_closed();
	if (clock_us() >= retry.due)
		open_again();
}

static void *control_thread(void *unused)
{
	struct rcu_thread rcu = {0};

	(void)unused;
	pthread_setname_np(pthread_self(), "slab-control");
	rcu_this_thread_is_ours(&rcu);
	retry_after(RETRY_US);
	while (!atomic_load(&control_main_thread_gone) || !last_thread()) {
		own_work_wait_while_exiting();
		if (is_closed()) {
			work_closed();
			continue;
		}
		if (wait_for_events() < 0 || control_serve() < 0)
			close_for_a_while();
	}
	return NULL;
}

/* --- starting it ---------------------------------------------------------------------- */

static int add_tls(struct dl_phdr_info *info, size_t size, void *arg)
{
	size_t *bytes = arg;

	(void)size;
	for (unsigned i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_TLS)
			*bytes += info->dlpi_phdr[i].p_memsz + info->dlpi_phdr[i].p_align;
	return 0;
}

/*
 * glibc takes the thread-local data of a thread from its stack, and refuses a stack that is too
 * small for both. Only here the dynamic linker's lock is taken: in the child of a fork another
 * thread may hold it for ever.
 */
static void learn_tls(void)
{
	size_t bytes = 0;

	dl_iterate_phdr(add_tls, &bytes);
	tls_bytes = bytes;
}

__attribute__((constructor)) static void learn_about_threads(void)
{
	learn_tls();
	watch_main_thread();
}

int control_start_thread(void)
{
	pthread_attr_t attr;
	pthread_t thread;
	sigset_t all, old;
	int error;

	if (!tls_bytes) /* another constructor comes before libslab's */
		learn_tls();
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, STACK_BYTES + os_pages(tls_bytes));
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	error = pthread_create(&thread, &attr, control_thread, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	return -error;
}
