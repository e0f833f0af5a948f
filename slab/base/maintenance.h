/* SPDX-License-Identifier: MIT */
/*
 * Requests of lower rooms to the maintenance thread, which runs decay passes, sampling, counting
 * windows and pressure checks. The thread belongs to the control server (control/server.c), a
 * higher room. So the server registers a driver, and lower rooms reach it only by the functions
 * here.
 */
#ifndef SLAB_BASE_MAINTENANCE_H
#define SLAB_BASE_MAINTENANCE_H

#include <stdbool.h>

struct maintenance_driver {
	void (*start_ticks)(void);
	void (*resume)(void);
};

/* Called once, before the thread starts. */
void maintenance_set_driver(const struct maintenance_driver *driver);

/*
 * maintenance_start_ticks: call this when sample_wants_ticks(), count_period() or decay_wait()
 * begins to want ticks. The thread then ticks at their periods, as long as one of them wants ticks.
 * Any thread may call it, with any lock held. It keeps errno, and does nothing if there is no
 * maintenance thread.
 */
void maintenance_start_ticks(void);

/*
 * maintenance_resume: in the child of a fork whose parent had the maintenance thread, start one as
 * soon as ticks are wanted. Slow paths call it at their end; otherwise it costs one load. The
 * caller holds no lock. It keeps errno.
 */
void maintenance_resume_slow(void);
extern bool maintenance_resumes;

static inline void maintenance_resume(void)
{
	if (__builtin_expect(__atomic_load_n(&maintenance_resumes, __ATOMIC_RELAXED), 0))
		maintenance_resume_slow();
}

#endif /* SLAB_BASE_MAINTENANCE_H */
