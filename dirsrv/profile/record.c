/* SPDX-License-Identifier: MIT */
/*
 * Recording what is done with pblocks: when it begins and ends, and what of it survives
 * a fork. lives.h has what is recorded, profile_write.c how it is written.
 *
 * pblock_recording is looked at without a lock, so that a pblock's functions pay one
 * load when nothing is recorded. Whoever has seen it set looks again under the lock of
 * a shard; recording ends by clearing it and then taking all of them.
 *
 * A forked child goes on with nothing recorded, and writes to FILE.PID: servers fork to
 * go into the background, and the two ends of the fork must not write the same file.
 *
 * Lock order: `control`, then those of lives.h.
 */
#include "record.h"
#include "lives.h"
#include "profile_write.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <slab/dirsrv/profile.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

uint32_t pblock_recording;

static pthread_mutex_t control = PTHREAD_MUTEX_INITIALIZER; /* protects the following */
static char file_name[PATH_MAX];
static bool open_now; /* between start and stop */

/* Events */

void pblock_record_new(const struct slapi_pblock *pb)
{
	lives_begin(pb);
}

void pblock_record_access(const struct slapi_pblock *pb, int parameter, bool set)
{
	if (parameter >= 0 && parameter < PARAMETER_NUMBERS)
		lives_access(pb, (uint32_t)parameter, set);
}

void pblock_record_end(const struct slapi_pblock *pb)
{
	lives_finish(pb);
}

/* Fork */

static void before_fork(void)
{
	pthread_mutex_lock(&control);
	lives_lock();
}

static void after_fork_in_parent(void)
{
	lives_unlock();
	pthread_mutex_unlock(&control);
}

static void switch_recording(bool on)
{
	__atomic_store_n(&pblock_recording, on, __ATOMIC_RELEASE);
}

static void after_fork_in_child(void)
{
	size_t len = strlen(file_name);
	int room = (int)(sizeof(file_name) - len);

	if (open_now) {
		lives_forget();
		/* Rather nothing than over the file of another process. */
		if (snprintf(file_name + len, (size_t)room, ".%d", (int)getpid()) >= room) {
			switch_recording(false);
			open_now = false;
		}
	}
	lives_unlock();
	pthread_mutex_unlock(&control);
}

static void prepare(void)
{
	lives_prepare();
	pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

/* Start and stop */

static int start_locked(const char *file)
{
	if (open_now)
		return -EBUSY;
	if (!lives_open())
		return -ENOMEM;
	memcpy(file_name, file, strlen(file) + 1);
	open_now = true;
	switch_recording(true);
	return 0;
}

int slab_pblock_profile_start(const char *file)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	int error;

	if (!file || !*file) {
		error = -EINVAL;
	} else if (strlen(file) >= sizeof(file_name)) {
		error = -ENAMETOOLONG;
	} else {
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
	struct lives_counts counts;
	int error;

	switch_recording(false);
	lives_lock();
	counts = lives_finish_all();
	error = profile_write(file_name, &counts);
	lives_forget();
	lives_unlock();
	lives_close();
	open_now = false;
	return error;
}

int slab_pblock_profile_stop(void)
{
	int error = -EINVAL;

	pthread_mutex_lock(&control);
	if (open_now)
		error = stop_locked();
	pthread_mutex_unlock(&control);
	if (error)
		errno = -error;
	return error;
}

/* The environment */

__attribute__((constructor)) static void start_by_environment(void)
{
	const char *file = secure_getenv("SLAB_PBLOCK_PROFILE");

	if (file && slab_pblock_profile_start(file) != 0)
		fprintf(stderr, "libslab_dirsrv: SLAB_PBLOCK_PROFILE=%s: nothing is recorded: %s\n",
			file, strerror(errno));
}

__attribute__((destructor)) static void stop_at_the_end(void)
{
	int error = slab_pblock_profile_stop();

	if (error && error != -EINVAL)
		fprintf(stderr, "libslab_dirsrv: the profile of pblocks was not written: %s: %s\n",
			file_name, strerror(-error));
}
