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

/* What is done above the limit is done again when the process has grown by 1/STEP_PART, or by STEP if
 * that is more. The handler hears of it once a second at most. */
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

/* Returns the bytes at which there is something to do again. */
static uint64_t act(void)
{
	uint64_t used = account_used();

	if (used < limit())
		return limit();
	tell();
	slab_reclaim(used - limit());
	used = account_used();
	if (used < limit())
		return limit();
	return growth_next(used, STEP_PART, STEP);
}

void soft_reached(void)
{
	int saved = errno, cancel;

	if (flush_lock_is_held() || debug_is_destroying() || !turn_take(TURN_SOFT))
		return;
	cancel = cancel_disable();
	machine_look();
	__atomic_store_n(&slab_pages.soft_from, limit() ? act() : UINT64_MAX, __ATOMIC_RELAXED);
	turn_end(TURN_SOFT);
	cancel_restore(cancel);
	errno = saved;
}
