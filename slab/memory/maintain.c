/* SPDX-License-Identifier: MIT */
/*
 * The periodic work without a control thread: slab_maintain(), for an application that calls it,
 * and the slow paths of a process that does not know libslab.
 *
 * A slow path looks at the clock and does what is due; so does a library that defines malloc(),
 * once in some frees, since threads may stay on fast paths for long. So memory returns while the
 * process allocates and frees. Before it sleeps, its frees return most of what is free
 * (surplus.h).
 */
#include "memory/maintain.h"

#include <errno.h>
#include <slab/malloc.h>
#include <slab/memory.h>
#include <stdint.h>
#include <time.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/maintenance.h"
#include "base/own_work.h"
#include "core/init.h"
#include "debug/guard.h"
#include "memory/decay.h"
#include "memory/pressure.h"
#include "memory/surplus.h"

#define SAMPLE_TICK_MS 100L

long slab_maintain(void)
{
	int cancel;
	long decay, pressure;

	if (!own_work_begin())
		return -1;
	cancel = cancel_disable();
	slab_init();
	decay = decay_maintain(clock_us());
	pressure = pressure_poll();
	cancel_restore(cancel);
	own_work_end();
	return decay < 0 || (pressure >= 0 && pressure < decay) ? pressure : decay;
}

/* --- in slow paths --------------------------------------------------------------------- */

/* Atomic: when something is due, in µs of the coarse clock, which is read without a look at the
 * processor's. */
static SLAB_EARLY uint64_t next_poll;

static uint64_t coarse_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* The next slow path finds out when the first pass is due. */
static void start_polls(void)
{
	__atomic_store_n(&next_poll, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&maintenance_polls, true, __ATOMIC_SEQ_CST);
}

/* Milliseconds until something is due; -1: nothing is before start_polls() is called. */
static long do_due_work(void)
{
	long decay = decay_maintain(clock_us());

	if (!sample_wants_ticks())
		return decay;
	sample_tick();
	return decay < 0 || decay > SAMPLE_TICK_MS ? SAMPLE_TICK_MS : decay;
}

/* Another thread may have called start_polls() before the flag was cleared here, so look again. */
static void stop_polls(void)
{
	__atomic_store_n(&maintenance_polls, false, __ATOMIC_SEQ_CST);
	if (decay_wait() || sample_wants_ticks())
		start_polls();
}

static void poll_due_work(uint64_t now)
{
	const long wait = do_due_work();

	if (wait < 0)
		stop_polls();
	else
		__atomic_store_n(&next_poll, now + (uint64_t)wait * 1000, __ATOMIC_RELAXED);
}

static void poll_work(void)
{
	const uint64_t now = coarse_us();
	const bool due = now >= __atomic_load_n(&next_poll, __ATOMIC_RELAXED),
		   surplus = surplus_is_due(now);
	int saved, cancel;

	if ((!due && !surplus) || !own_work_begin())
		return;
	saved = errno;
	cancel = cancel_disable();
	if (due)
		poll_due_work(now);
	if (surplus)
		surplus_return(now);
	cancel_restore(cancel);
	own_work_end();
	errno = saved;
}

void slab_maintain_due(void)
{
	maintenance_poll();
}

void maintain_in_slow_paths(void)
{
	static const struct maintenance_driver driver = {start_polls, poll_work};

	maintenance_set_driver(&driver);
	if (decay_wait())
		start_polls();
}
