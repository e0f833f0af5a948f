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

/* The handler hears of the limit once a second at most. */
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
	__atomic_store_n(&slab_pages.soft_from, growth_soft_next(), __ATOMIC_RELAXED);
	turn_end(TURN_SOFT);
	cancel_restore(cancel);
	errno = saved;
}
