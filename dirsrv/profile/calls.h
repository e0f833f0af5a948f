/* SPDX-License-Identifier: MIT */
/*
 * The recorded calls of pblock functions.
 *
 * There are slots for a fixed number of calls. One counter assigns them, so calls are ordered
 * across threads: a call that happens before another one has the lower number. Calls without a
 * slot are only counted. A thread writes a call to its slot under one of 64 locks, chosen by the
 * pblock. So a thread that holds all locks finds no call half written.
 *
 * Every trace can be replayed: it omits pblocks that began before the trace, and destroys those
 * that are alive at its end or when it has no slots left.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

/* --- files ---------------------------------------------------------------------------------- */

/*
 * The files of a recording. A file appears under its name only when it is complete, and a relative
 * name is resolved when recording starts, not when the file is written.
 */

/* file_name: `name` as an absolute path. Returns 0 or -errno. */
int file_name(char ret[PATH_MAX], const char *name);

/*
 * file_write: write the output of `print` to this file, replacing an older one after success.
 * print returns 0 or -errno. Returns 0 or -errno.
 */
int file_write(const char *name, int (*print)(FILE *out, const void *arg), const void *arg);

/* --- calls ---------------------------------------------------------------------------------- */

#define CALLS_MAX 1000000 /* of 24 bytes */

/* calls_prepare: initialize the locks. Called once, before all other functions. */
void calls_prepare(void);

/* calls_open, calls_close: map and unmap the slots. Returns 0 or -ENOMEM. */
int calls_open(void);
void calls_close(void);

/* calls_record: begin or end recording. It has ended when the caller has then taken all locks. */
void calls_record(bool on);

/* Take and release all locks. The caller of the functions below holds them. */
void calls_lock(void);
void calls_unlock(void);

/* calls_write: write the trace to this file. Returns 0 or -errno. */
int calls_write(const char *file);

/* calls_forget: drop all recorded calls. */
void calls_forget(void);
