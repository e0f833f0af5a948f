/* SPDX-License-Identifier: MIT */
/*
 * Requests of lower rooms to the maintenance thread, which runs decay passes, sampling, counting
 * windows and pressure checks. The thread belongs to the control server (control/server.c), a
 * higher room. So the server registers a driver, and lower rooms reach it only by the functions
 * here.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"

struct maintenance_driver {
	void (*start_ticks)(void);
	void (*resume)(void);
};

/* The server sets its driver before the thread starts, possibly several times and in several
 * threads. It replaces the driver of a process whose slow paths do the work (memory/maintain.c),
 * which is set again if the thread cannot start. maintenance_polls becomes false. */
void maintenance_set_driver(const struct maintenance_driver *driver);

/*
 * maintenance_start_ticks: call this when sample_wants_ticks(), count_period() or decay_wait()
 * begins to want ticks. The thread then ticks at their periods, as long as one of them wants ticks.
 * Any thread may call it, with any lock held. It keeps errno, and does nothing if there is no
 * maintenance thread.
 */
void maintenance_start_ticks(void);

/*
 * maintenance_resume: start the thread if the driver finds it due: in the child of a fork whose
 * parent had the thread, and in a process that has grown (maintenance_note_bytes()). Slow paths
 * call it where they hold no lock; if the thread is not due, it costs one load. It keeps errno.
 */
void maintenance_resume_slow(void);
extern bool maintenance_resumes;

static inline void maintenance_resume(void)
{
	if (SLAB_UNLIKELY(__atomic_load_n(&maintenance_resumes, __ATOMIC_RELAXED)))
		maintenance_resume_slow();
}

/*
 * maintenance_poll: in a process without the thread, do the periodic work that is due (the driver's
 * `resume`). It may take long, and run destructors. Slow paths that are rare enough for a look at
 * the clock call it, before or after their work: with no lock held and no slab off the lists. It
 * keeps errno.
 */
extern bool maintenance_polls;

static inline void maintenance_poll(void)
{
	if (SLAB_UNLIKELY(__atomic_load_n(&maintenance_polls, __ATOMIC_RELAXED)))
		maintenance_resume_slow();
}

/* From this number of bytes on, the process is large enough for the thread. UINT64_MAX: its size
 * does not matter. */
extern uint64_t maintenance_from_bytes;

/* maintenance_note_bytes: the process has `bytes` of slabs and large allocations. Any thread may
 * call it, with any lock held. */
static inline void maintenance_note_bytes(uint64_t bytes)
{
	if (SLAB_UNLIKELY(bytes >= __atomic_load_n(&maintenance_from_bytes, __ATOMIC_RELAXED)))
		__atomic_store_n(&maintenance_resumes, true, __ATOMIC_RELAXED);
}
