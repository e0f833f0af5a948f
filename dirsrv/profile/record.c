/* SPDX-License-Identifier: MIT */
/*
 * Recording the use of pblocks: start, stop, and fork. There are two recorders, which start and
 * stop independently: one records lives, for a profile (lives.h, profile_write.c), the other
 * records calls, for a trace (calls.h).
 *
 * Pblock functions read pblock_recording without a lock, so they cost one load while nothing is
 * recorded. A thread that finds it set reads it again under a lock of the recorder. Recording ends
 * when a thread has cleared it and then taken all the locks.
 *
 * The child of a fork drops the recorded data, and writes to FILE.PID: servers fork to go into the
 * background, and parent and child must not write to the same file.
 *
 * Lock order: `control`, then the locks of lives.h, then those of calls.h.
 */
#include "record.h"
#include "calls.h"
#include "file.h"
#include "lives.h"
#include "profile_write.h"
#include "switch.h"

#include <errno.h>
#include <pthread.h>
#include <slab/dirsrv/profile.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct recorder {
	uint32_t bit; /* of pblock_recording */
	const char *variable, *what;
	int (*open)(void);
	void (*close)(void);
	void (*lock)(void);
	void (*unlock)(void);
	int (*write)(const char *file); /* the caller holds the locks */
	void (*forget)(void);  /* the caller holds the locks */
	char file[PATH_MAX];
	bool is_open; /* between start and stop */
};

static int open_lives(void)
{
	return lives_open() ? 0 : -ENOMEM;
}

static int write_lives(const char *file)
{
	struct lives_counts counts = lives_finish_all();

	return profile_write(file, &counts);
}

static pthread_mutex_t control = PTHREAD_MUTEX_INITIALIZER; /* protects the following */
static struct recorder profile = {
	.bit = RECORD_LIVES,
	.variable = "SLAB_PBLOCK_PROFILE",
	.what = "profile",
	.open = open_lives,
	.close = lives_close,
	.lock = lives_lock,
	.unlock = lives_unlock,
	.write = write_lives,
	.forget = lives_forget,
};
static struct recorder trace = {
	.bit = RECORD_CALLS,
	.variable = "SLAB_PBLOCK_TRACE",
	.what = "trace",
	.open = calls_open,
	.close = calls_close,
	.lock = calls_lock,
	.unlock = calls_unlock,
	.write = calls_write,
	.forget = calls_forget,
};

/* Events */

static uint32_t recording(void)
{
	return __atomic_load_n(&pblock_recording, __ATOMIC_RELAXED);
}

void pblock_record_new(const struct slapi_pblock *pb)
{
	if (recording() & RECORD_LIVES)
		lives_begin(pb);
	if (recording() & RECORD_CALLS)
		calls_add(CALL_NEW, pb, 0);
}

void pblock_record_clone(const struct slapi_pblock *pb, const struct slapi_pblock *clone)
{
	if (recording() & RECORD_LIVES)
		lives_begin(clone);
	if (recording() & RECORD_CALLS)
		calls_add(CALL_CLONE, pb, (uintptr_t)clone);
}

void pblock_record_init(const struct slapi_pblock *pb)
{
	if (recording() & RECORD_LIVES) {
		lives_finish(pb);
		lives_begin(pb);
	}
	if (recording() & RECORD_CALLS)
		calls_add(CALL_INIT, pb, 0);
}

void pblock_record_access(const struct slapi_pblock *pb, int parameter, bool set)
{
	if (parameter < 0 || parameter >= SLAB_PBLOCK_NUMBERS)
		return;
	if (recording() & RECORD_LIVES)
		lives_access(pb, (uint32_t)parameter, set);
	if (recording() & RECORD_CALLS)
		calls_add(set ? CALL_SET : CALL_GET, pb, (uintptr_t)parameter);
}

void pblock_record_end(const struct slapi_pblock *pb)
{
	if (recording() & RECORD_LIVES)
		lives_finish(pb);
	if (recording() & RECORD_CALLS)
		calls_add(CALL_DESTROY, pb, 0);
}

/* Fork */

static void before_fork(void)
{
	pthread_mutex_lock(&control);
	lives_lock();
	calls_lock();
}

static void after_fork_in_parent(void)
{
	calls_unlock();
	lives_unlock();
	pthread_mutex_unlock(&control);
}

static void begin_anew(struct recorder *recorder)
{
	size_t len = strlen(recorder->file);
	int room = (int)(sizeof(recorder->file) - len);

	if (!recorder->is_open)
		return;
	recorder->forget();
	/* Write nothing rather than overwrite the file of another process. */
	if (snprintf(recorder->file + len, (size_t)room, ".%d", (int)getpid()) >= room) {
		recording_end(recorder->bit);
		recorder->is_open = false;
	}
}

static void after_fork_in_child(void)
{
	begin_anew(&profile);
	begin_anew(&trace);
	after_fork_in_parent();
}

static void prepare(void)
{
	lives_prepare();
	calls_prepare();
	pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

/* Start and stop */

static int start_locked(struct recorder *recorder, const char *file)
{
	int error;

	if (recorder->is_open)
		return -EBUSY;
	error = file_name(recorder->file, file);
	if (!error)
		error = recorder->open();
	if (error)
		return error;
	recorder->is_open = true;
	recording_begin(recorder->bit);
	return 0;
}

static int start(struct recorder *recorder, const char *file)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	int error = -EINVAL;

	if (file && *file) {
		pthread_once(&once, prepare);
		pthread_mutex_lock(&control);
		error = start_locked(recorder, file);
		pthread_mutex_unlock(&control);
	}
	if (error)
		errno = -error;
	return error;
}

static int stop_locked(struct recorder *recorder)
{
	int error;

	recording_end(recorder->bit);
	recorder->lock();
	error = recorder->write(recorder->file);
	recorder->forget();
	recorder->unlock();
	recorder->close();
	recorder->is_open = false;
	return error;
}

/* Cancellation is disabled: a thread that was cancelled while it writes a file would leave the
 * locks locked. */
static int stop(struct recorder *recorder)
{
	int error = -EINVAL, cancel;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	pthread_mutex_lock(&control);
	if (recorder->is_open)
		error = stop_locked(recorder);
	pthread_mutex_unlock(&control);
	pthread_setcancelstate(cancel, NULL);
	if (error)
		errno = -error;
	return error;
}

int slab_pblock_profile_start(const char *file)
{
	return start(&profile, file);
}

int slab_pblock_profile_stop(void)
{
	return stop(&profile);
}

int slab_pblock_trace_start(const char *file)
{
	return start(&trace, file);
}

int slab_pblock_trace_stop(void)
{
	return stop(&trace);
}

/* The environment */

static void start_recorders(struct recorder *recorder)
{
	const char *file = secure_getenv(recorder->variable);

	if (file && start(recorder, file) != 0)
		fprintf(stderr, "libslab_dirsrv: %s=%s: nothing is recorded: %s\n",
			recorder->variable, file, strerror(errno));
}

__attribute__((constructor)) static void start_by_environment(void)
{
	start_recorders(&profile);
	start_recorders(&trace);
}

static void stop_at_last(struct recorder *recorder)
{
	int error = stop(recorder);

	if (error && error != -EINVAL)
		fprintf(stderr, "libslab_dirsrv: the %s of pblocks was not written: %s: %s\n",
			recorder->what, recorder->file, strerror(-error));
}

__attribute__((destructor)) static void stop_at_the_end(void)
{
	stop_at_last(&profile);
	stop_at_last(&trace);
}
