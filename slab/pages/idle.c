/* SPDX-License-Identifier: MIT */
/*
 * When decay passes run. A thread that frees memory sets a flag and starts the passes; they end by
 * themselves when the flag stays clear. memory/decay.c explains what a pass does and why this
 * suffices.
 */
#include "pages/idle.h"

#include "base/clock.h"
#include "base/options.h"

/* More than DECAY_EPOCHS, because a pass looks at a busy cache only once in that time. */
#define QUIET_EPOCHS (2 * DECAY_EPOCHS)
/* Milliseconds between passes with SLAB_DECAY_MS=0. These passes are for what CPUs hold. */
#define AT_ONCE_PERIOD 25L

SLAB_EARLY uint32_t idle_active;
static SLAB_EARLY uint32_t asleep = 1; /* no passes run, because nothing was freed for long */
static SLAB_EARLY uint32_t epoch; /* number of the running pass, or of the last one; 0: none yet */
static SLAB_EARLY uint32_t active_epoch; /* the last pass that found the flag set */
static SLAB_EARLY uint64_t next_pass; /* when the next pass is due, in µs; 0: not known yet */

/* The decay time; -1: never. */
static long decay_ms(void)
{
	return slab_options()->decay_ms;
}

bool decay_at_once(void)
{
	return decay_ms() == 0;
}

uint32_t decay_epoch(void)
{
	return __atomic_load_n(&epoch, __ATOMIC_RELAXED);
}

/* Milliseconds between passes. */
static long period(void)
{
	long quarter = decay_ms() / (long)DECAY_EPOCHS;

	return decay_at_once() ? AT_ONCE_PERIOD : quarter ? quarter : 1;
}

/* --- waking and falling asleep ---------------------------------------------------- */

bool decay_is_asleep(void)
{
	return __atomic_load_n(&asleep, __ATOMIC_SEQ_CST);
}

/* Set the flag first: fall_asleep() checks it after it has set `asleep`. */
void idle_kick_slow(void)
{
	__atomic_store_n(&idle_active, 1, __ATOMIC_SEQ_CST);
	if (decay_ms() < 0 || !decay_is_asleep() ||
	    !__atomic_exchange_n(&asleep, 0, __ATOMIC_SEQ_CST))
		return;
	__atomic_store_n(&next_pass, clock_us() + (uint64_t)period() * 1000, __ATOMIC_RELAXED);
	maintenance_start_ticks();
}

SLAB_SLOWPATH void idle_begin_slow(void)
{
	idle_kick();
	maintenance_resume();
}

static void fall_asleep(void)
{
	__atomic_store_n(&next_pass, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&asleep, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&idle_active, __ATOMIC_SEQ_CST))
		__atomic_store_n(&asleep, 0, __ATOMIC_SEQ_CST);
}

/* --- passes --------------------------------------------------------------------------- */

uint32_t decay_begin_pass(void)
{
	uint32_t now = epoch + 1;

	if (!now) /* which stands for "not idle" */
		now = 1;
	__atomic_store_n(&epoch, now, __ATOMIC_RELAXED);
	if (__atomic_exchange_n(&idle_active, 0, __ATOMIC_SEQ_CST))
		active_epoch = now;
	return now;
}

void decay_end_pass(void)
{
	if (epoch - active_epoch > QUIET_EPOCHS)
		fall_asleep();
}

/* Passes stay on a grid, as long as the timer's delay is less than a step. */
bool decay_take_due(uint64_t now)
{
	const uint64_t step = (uint64_t)period() * 1000;
	uint64_t due = __atomic_load_n(&next_pass, __ATOMIC_RELAXED);

	if (decay_is_asleep() || now < due)
		return false;
	due = due + step > now ? due + step : now + step;
	__atomic_store_n(&next_pass, due, __ATOMIC_RELAXED);
	return true;
}

/* Round up. */
long decay_wait_from(uint64_t now)
{
	uint64_t due = __atomic_load_n(&next_pass, __ATOMIC_RELAXED);

	return due > now ? (long)((due - now + 999) / 1000) : 1;
}

void decay_clear_after_fork(void)
{
	/* A thread of the parent may have set the flag and not started the passes yet. */
	if (decay_is_asleep())
		__atomic_store_n(&idle_active, 0, __ATOMIC_SEQ_CST);
}
