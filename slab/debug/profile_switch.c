/* SPDX-License-Identifier: MIT */
/*
 * Switching the heap profile on and off (report/profile.h).
 *
 * GATE_PROFILE is set for all caches. A cache that another thread creates meanwhile is covered: the
 * period is set under registry_lock, under which caches are created. Allocations that have passed
 * the gate already are not counted; they belong to the time before. When the profile is off,
 * sampled objects stay where they are, and their frees are still counted.
 */
#include <errno.h>
#include <pthread.h>
#include <slab/debug.h>

#include "base/cancel.h"
#include "base/error.h"
#include "core/cache.h"
#include "core/gate.h"
#include "core/init.h"
#include "core/registry.h"
#include "debug/debug_cache.h"
#include "report/profile.h"

/* Under registry_lock. */
static void set_gates(bool on)
{
	for (struct slab_cache *cache = registry_first; cache; cache = cache->next) {
		pthread_mutex_lock(&cache->flush_lock);
		cache_gate_set(cache, GATE_PROFILE, on);
		pthread_mutex_unlock(&cache->flush_lock);
	}
}

/* Release the slabs that were kept for further samples. */
static void release_unused(void)
{
	struct pin pin = {0};

	while (registry_next_pinned(&pin))
		legacy_finish(pin.cache);
}

int slab_set_profile(size_t period)
{
	int cancel, saved = errno;
	bool done;

	if (!slab_init())
		return with_errno(-ENOMEM);
	cancel = cancel_disable();
	pthread_mutex_lock(&registry_lock);
	done = profile_set_period(period);
	if (done)
		set_gates(period);
	pthread_mutex_unlock(&registry_lock);
	if (done && !period)
		release_unused();
	cancel_restore(cancel);
	errno = saved;
	return done ? 0 : with_errno(-ENOMEM);
}
