/* SPDX-License-Identifier: MIT */
/*
 * The code around each call of a callback: constructor, destructor, reclaim, isolate, migrate.
 *
 * The caller holds no lock. During the callback the thread cannot be cancelled, and the cache's RCU
 * flavour knows it. Allocations in the callback do not change alloc_failure, the cause of the
 * failure that the thread is handling.
 */
#pragma once

#include <stddef.h>

#include "base/cancel.h"
#include "core/cache.h"
#include "core/upcalls.h"
#include "pages/account.h"

struct callback {
	int cancel;
	enum alloc_failure cause;
	const struct cache_deferral *deferral;
	const struct rcu_flavor_struct *entered;
};

static inline struct callback callback_begin(const struct slab_cache *cache)
{
	const struct cache_deferral *deferral = cache->deferral;

	return (struct callback){
		.cancel = cancel_disable(),
		.cause = alloc_failure,
		.deferral = deferral,
		.entered = deferral ? deferral->enter(cache) : NULL,
	};
}

static inline void callback_end(const struct callback *callback)
{
	if (callback->deferral)
		callback->deferral->leave(callback->entered);
	alloc_failure = callback->cause;
	cancel_restore(callback->cancel);
}
