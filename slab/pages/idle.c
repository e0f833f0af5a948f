/* SPDX-License-Identifier: MIT */
/*
 * When passes of maintenance run. A thread that frees memory sets a flag and starts them; they
 * end by themselves. memory/decay.c has what a pass does, and why that is enough.
 */
#include "pages/idle.h"

#include "base/clock.h"
#include "base/maintenance.h"
#include "config/options.h"

/* More than DECAY_EPOCHS, as a busy cache is looked at only once in that time. */
#define QUIET_EPOCHS (2 * DECAY_EPOCHS)
/* Between passes, in ms, where free slabs keep no memory: what CPUs hold. */
#define AT_ONCE_PERIOD 25L

uint32_t idle_active;
static uint32_t asleep = 1;   /* no passes, since nothing was freed for long */
static uint32_t epoch; /* the pass that runs, or the last one: never 0 once there was one */
static uint32_t active_epoch; /* the last one that found the flag */
static uint64_t next_pass; /* µs; 0: not known yet */

/* -1: never. */
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

/* In ms. */
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

/* The flag first: a pass that is about to fall asleep looks at it afterwards. */
void idle_kick_slow(void)
{
	__atomic_store_n(&idle_active, 1, __ATOMIC_SEQ_CST);
	if (decay_ms() < 0 || !decay_is_asleep() ||
	    !__atomic_exchange_n(&asleep, 0, __ATOMIC_SEQ_CST))
		return;
	__atomic_store_n(&next_pass, clock_us() + (uint64_t)period() * 1000, __ATOMIC_RELAXED);
	maintenance_start_ticks();
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

	if (now == IDLE_PURGED)
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

/* On a grid, as far as they are in time: a timer is always a little late. */
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

/* Rounded up. */
long decay_wait_from(uint64_t now)
{
	uint64_t due = __atomic_load_n(&next_pass, __ATOMIC_RELAXED);

	return due > now ? (long)((due - now + 999) / 1000) : 1;
}

void decay_clear_after_fork(void)
{
	/* A thread that set the flag may have been about to wake them. */
	if (decay_is_asleep())
		__atomic_store_n(&idle_active, 0, __ATOMIC_SEQ_CST);
}
