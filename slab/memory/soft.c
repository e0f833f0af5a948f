/* SPDX-License-Identifier: MIT */
#include "memory/soft.h"

#include <errno.h>
#include <slab/memory.h>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/options.h"
#include "core/flush_lock.h"
#include "core/slab.h"
#include "memory/limit.h"
#include "memory/machine.h"
#include "memory/turn.h"

/* What is done above the limit is done again when the process has grown by 1/STEP_PART, or by STEP
 * if that is more. The handler hears of it once a second at most. */
#define STEP_PART 64u
#define STEP ((uint64_t)256 << 10)
#define TELL_US UINT64_C(1000000)

static uint64_t told; /* µs: of the thread whose turn it is */

static uint64_t limit(void)
{
	return __atomic_load_n(&slab_pages.soft_limit, __ATOMIC_RELAXED);
}

static void tell(void)
{
	const uint64_t now = clock_us();

	if (told && now - told < TELL_US)
		return;
	told = now;
	limit_tell(limit());
}

/* The bytes at which there is something to do again. */
static uint64_t next_from(void)
{
	const uint64_t used = account_used();

	if (!limit())
		return UINT64_MAX;
	return used < limit() ? limit() : growth_next(used, STEP_PART, STEP);
}

static void set_from(uint64_t from)
{
	__atomic_store_n(&slab_pages.soft_from, from, __ATOMIC_RELAXED);
}

static void act(void)
{
	const uint64_t used = account_used();

	if (!limit() || used < limit())
		return;
	tell();
	slab_reclaim(used - limit());
}

void soft_reached(void)
{
	int saved = errno, cancel;

	if (flush_lock_is_held() || debug_is_destroying() || !turn_take(TURN_SOFT))
		return;
	cancel = cancel_disable();
	machine_look();
	act();
	set_from(next_from());
	turn_end(TURN_SOFT);
	cancel_restore(cancel);
	errno = saved;
}

void soft_after_decay(void)
{
	const uint64_t from = next_from();

	if (from < __atomic_load_n(&slab_pages.soft_from, __ATOMIC_RELAXED))
		set_from(from);
}
