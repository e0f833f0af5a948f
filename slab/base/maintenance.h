/* SPDX-License-Identifier: MIT */
/*
 * Periodic work, which one thread does: decay passes, sampling, counting windows, memory
 * pressure. The thread belongs to the control server (control/server.c). The code that
 * needs it lies in lower rooms, and reaches it by these two functions only.
 */
#ifndef SLAB_BASE_MAINTENANCE_H
#define SLAB_BASE_MAINTENANCE_H

#include <stdbool.h>

struct maintenance_driver {
	void (*start_ticks)(void);
	void (*resume)(void);
};

/* Set once, before the thread starts. */
void maintenance_set_driver(const struct maintenance_driver *driver);

/*
 * maintenance_start_ticks: sample_wants_ticks(), count_period() or decay_wait() from now
 * on: the thread does their ticks as often as they want, as long as they do. Any thread,
 * with any lock held; errno is untouched. Does nothing while there is no such thread.
 */
void maintenance_start_ticks(void);

/*
 * maintenance_resume: in the child of a fork whose parent had the thread: start it, as
 * soon as there are ticks to be had. At the end of slow paths; costs one load otherwise.
 * Not with locks behind registry_lock. errno is untouched.
 */
void maintenance_resume_slow(void);
extern bool maintenance_resumes;

static inline void maintenance_resume(void)
{
	if (__builtin_expect(__atomic_load_n(&maintenance_resumes, __ATOMIC_RELAXED), 0))
		maintenance_resume_slow();
}

#endif /* SLAB_BASE_MAINTENANCE_H */
