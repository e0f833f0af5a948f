/* SPDX-License-Identifier: MIT */
/*
 * Work that may hang, in a child process that can be killed; the child writes its result to a
 * pipe. The process that it reads may be stopped, unresponsive, huge or hostile; whatever it
 * does to the child, the exporter continues.
 *
 * The exporter has one thread, so the child of its fork may call any function.
 */
#pragma once

#include "posix.h"

/* Milliseconds of a clock that only goes forward. */
int64_t now_ms(void);

struct job {
	pid_t child; /* 0: no job here */
	int fd;
	char *data; /* the bytes read so far */
	size_t length, capacity, most;
};

/* job_start: fork a child that runs work(arg, fd), writes to fd and exits. `most`: the most
 * bytes that are read. False: no process, pipe or memory. */
bool job_start(struct job *job, void (*work)(const void *arg, int fd), const void *arg,
	       size_t most);

/* job_read: read the available bytes. False: the end, or an error. */
bool job_read(struct job *job);

/* job_end: end the job; kill its child if it still runs. */
void job_end(struct job *job);

/* job_write: write all bytes, in work(). False: the reader closed the pipe. */
bool job_write(int fd, const void *data, size_t size);

/* job_reap: wait for the children that have ended; call it while no job runs. */
void job_reap(void);
