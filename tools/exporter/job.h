/* SPDX-License-Identifier: MIT */
/*
 * Work that may hang, in a child process that can be ended: what it finds comes
 * back through a pipe. A process that is looked at may be stopped, deaf, huge or
 * hostile; whatever it does to the child, the exporter goes on.
 *
 * The exporter has one thread, so a child may do what any process may.
 */
#ifndef EXPORTER_JOB_H
#define EXPORTER_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Milliseconds of a clock that only goes forward. */
int64_t now_ms(void);

struct job {
	pid_t child; /* 0: no job here */
	int fd;
	char *data; /* what has come so far */
	size_t length, capacity, most;
};

/* job_start: fork a child that runs work(arg, fd), writes to fd and ends. `most`:
 * more bytes are not taken. False when there are not the means. */
bool job_start(struct job *job, void (*work)(const void *arg, int fd), const void *arg,
	       size_t most);

/* job_read: take what has come. False at the end: all has come, or nothing more will. */
bool job_read(struct job *job);

/* job_end: forget the job; a child that still works is killed. */
void job_end(struct job *job);

/* job_write: all of it, for work(). False: the reader has gone. */
bool job_write(int fd, const void *data, size_t size);

/* job_reap: bury the children that have ended; while no job is at work. */
void job_reap(void);

#endif /* EXPORTER_JOB_H */
