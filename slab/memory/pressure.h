/* SPDX-License-Identifier: MIT */
/*
 * Memory pressure: of the machine, and of the control group that the process is in.
 *
 * Two kinds of files of the system report it:
 *
 *   /proc/pressure/memory, and the group's memory.pressure (PSI): how long threads stood
 *       still for want of memory. A trigger written into it wakes poll(2) when that
 *       was 150 ms of two seconds; an average can be read.
 *   the group's memory.events: how often it was held up at memory.high, and at
 *       memory.max. inotify reports a change.
 *
 * Under pressure, slab_reclaim() is for what is above memory.high, and for at least a
 * sixteenth of what slabs and large allocations have: free memory first, then what caches
 * can free. That happens at most once a second, and for as long libslab does not listen to a
 * file that reported pressure: pressure may go on while no cache can free anything, or be
 * caused by other processes, and the watching thread must not spin.
 *
 * Nothing is opened before there is a cache with args.reclaim: until then decay alone
 * returns free memory, and there is no cache to call. The control socket's server watches
 * the files in its epoll; without a server slab_maintain() reads them. Files that do not
 * exist, or are not permitted, are left out.
 */
#ifndef SLAB_MEMORY_PRESSURE_H
#define SLAB_MEMORY_PRESSURE_H

#include <stdint.h>

#include "base/descriptors.h"

/* There is a cache to reclaim from: pressure is watched from now on. Any thread. */
void pressure_start(void);

/* --- for the thread of the control socket ------------------------------------------- */

/* How many files may be watched, with tag, tag + 1, … */
#define PRESSURE_FILES 3u

/* How often pressure_tick() is to be called, in ms; 0: not before pressure_start(). */
long pressure_period(void);
/* Begin to watch, or listen again to a file that reported pressure. */
void pressure_tick(const struct watch *watch, unsigned tag);
/* epoll reports that file number `which` is ready. */
void pressure_event(const struct watch *watch, unsigned which, uint32_t events);
/* The watch is being closed. */
void pressure_close(const struct watch *watch);

/* --- for slab_maintain() -------------------------------------------------------------- */

/* Look at the files, unless they are watched: after how many milliseconds again, or -1:
 * not before pressure_start(). Any thread, with no lock held. */
long pressure_poll(void);

/* In the child of a fork: the thread that watched is gone. */
void pressure_after_fork_child(void);

/* Other files, for tests: instead of /proc/pressure/memory, and the group's folder. NULL:
 * these. Forgets what was seen in those before. */
void pressure_set_paths(const char *psi, const char *group);

#endif /* SLAB_MEMORY_PRESSURE_H */
