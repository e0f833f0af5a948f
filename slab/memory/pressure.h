/* SPDX-License-Identifier: MIT */
/*
 * Memory pressure of the machine and of the process's control group. The kernel reports it
 * through two kinds of files:
 *
 *   /proc/pressure/memory, and the group's memory.pressure (PSI): how long threads were
 *       stalled by a lack of memory. A trigger written into the file wakes poll(2) when
 *       threads were stalled for 150 ms of two seconds. The file also holds averages.
 *   the group's memory.events: how often the group was throttled at memory.high or reached
 *       memory.max. inotify reports a change.
 *
 * Under pressure, libslab calls slab_reclaim(): free memory is returned first, then caches
 * are asked to free objects. The goal is the excess over memory.high, but at least a sixteenth
 * of the bytes of slabs and large allocations. libslab does so at most once a second, and
 * ignores a file for a second after it reported pressure: pressure may last although no cache
 * can free anything, or other processes may cause it, and the watching thread must not spin.
 *
 * libslab opens no file before a cache with args.reclaim exists: without such a cache, decay
 * alone returns free memory. The server of the control socket watches the files with epoll.
 * Without a server, slab_maintain() reads them; without descriptors, the control thread does. Files
 * that do not exist or cannot be opened are skipped.
 */
#pragma once

#include <stdint.h>

#include "base/descriptors.h"

/* The first cache with args.reclaim was created: begin to watch pressure. Any thread may call
 * this. */
void pressure_start(void);

/* --- for the thread of the control socket ------------------------------------------- */

/* The most files that are watched; their epoll tags are tag, tag + 1, … */
#define PRESSURE_FILES 3u

/* Milliseconds between calls of pressure_tick(); 0: no calls are needed now. */
long pressure_period(void);
/* The same for pressure_poll(), of a thread without descriptors. */
long pressure_poll_period(void);
/* Begin to watch, or watch a file again that reported pressure. */
void pressure_tick(const struct watch *watch, unsigned tag);
/* epoll reports that file number `which` is ready. */
void pressure_event(const struct watch *watch, unsigned which, uint32_t events);
/* The server is about to close the watch. */
void pressure_close(const struct watch *watch);

/* --- for slab_maintain() -------------------------------------------------------------- */

/* Read the files and reclaim under pressure. Returns the milliseconds until the next call is
 * due, or -1: the server watches the files, or pressure_start() was not called. Any thread may
 * call this, with no lock held. */
long pressure_poll(void);

/* For tests: read these files instead of /proc/pressure/memory and the group's directory. NULL:
 * the system's. Resets the state of the earlier files. */
void pressure_set_paths(const char *psi, const char *group);
