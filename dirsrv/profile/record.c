/* SPDX-License-Identifier: MIT */
/*
 * Recording the calls of pblock functions: start, stop, and fork.
 *
 * Pblock functions read pblock_recording without a lock, so they cost one load while nothing is
 * recorded. A thread that finds it set reads it again under a lock of the recorder (calls.h).
 * Recording ends when a thread has cleared it and then taken all the locks.
 *
 * The child of a fork drops the recorded data, and writes to FILE.PID: servers fork to go into the
 * background, and parent and child must not write to the same file.
 *
 * Lock order: `control`, then the locks of calls.h.
 */
#include "record.h"
#include "calls.h"

#include <errno.h>
#include <pthread.h>
#include <slab/dirsrv/profile.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t control = PTHREAD_MUTEX_INITIALIZER; /* protects the following */
static char trace[PATH_MAX]; /* the file's name */
static bool is_open; /* between start and stop */

/* Fork */

static void before_fork(void)
{
	pthread_mutex_lock(&control);
	calls_lock();
}

static void after_fork_in_parent(void)
{
	calls_unlock();
	pthread_mutex_unlock(&control);
}

static void after_fork_in_child(void)
{
	size_t len = strlen(trace);
	int room = (int)(sizeof(trace) - len);

	if (is_open) {
		calls_forget();
		/* Write nothing rather than overwrite the file of another process. */
		if (snprintf(trace + len, (size_t)room, ".%d", (int)getpid()) >= room) {
			calls_record(false);
			is_open = false;
		}
	}
	after_fork_in_parent();
}

static void prepare(void)
{
	calls_prepare();
	pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

/* Start and stop */

static int start_locked(const char *file)
{
	int error;

	if (is_open)
		return -EBUSY;
	error = file_name(trace, file);
	if (!error)
		error = calls_open();
	if (error)
		return error;
	is_open = true;
	calls_record(true);
	return 0;
}

int slab_pblock_trace_start(const char *file)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	int error = -EINVAL;

	if (file && *file) {
		pthread_once(&once, prepare);
		pthread_mutex_lock(&control);
		error = start_locked(file);
		pthread_mutex_unlock(&control);
	}
	if (error)
		errno = -error;
	return error;
}

static int stop_locked(void)
{
	int error;

	calls_record(false);
	calls_lock();
	error = calls_write(trace);
	calls_forget();
	calls_unlock();
	calls_close();
	is_open = false;
	return error;
}

/* Cancellation is disabled: a thread that was cancelled while it writes a file would leave the
 * locks locked. */
int slab_pblock_trace_stop(void)
{
	int error = -EINVAL, cancel;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	pthread_mutex_lock(&control);
	if (is_open)
		error = stop_locked();
	pthread_mutex_unlock(&control);
	pthread_setcancelstate(cancel, NULL);
	if (error)
		errno = -error;
	return error;
}

/* The environment */

__attribute__((constructor)) static void start_by_environment(void)
{
	const char *file = secure_getenv("SLAB_PBLOCK_TRACE");

	if (file && slab_pblock_trace_start(file) != 0)
		fprintf(stderr, "libslab_dirsrv: SLAB_PBLOCK_TRACE=%s: nothing is recorded: %s\n",
			file, strerror(errno));
}

__attribute__((destructor)) static void stop_at_the_end(void)
{
	int error = slab_pblock_trace_stop();

	if (error && error != -EINVAL)
		fprintf(stderr, "libslab_dirsrv: the trace of pblocks was not written: %s: %s\n",
			trace, strerror(-error));
}
