/* SPDX-License-Identifier: MIT */
/*
 * Around a cache's callbacks: constructor, destructor, reclaim, isolate and migrate. No
 * lock is held. The thread is not cancelled within, is known to the cache's RCU flavour,
 * and what it allocates there does not change why its own allocation failed.
 */
#ifndef SLAB_CALLBACK_H
#define SLAB_CALLBACK_H

#include "rcu/free_rcu.h"
#include "base/cancel.h"
#include "memory/limit.h"

struct callback {
	int cancel;
	enum limit_cause cause;
	const struct rcu_flavor_struct *entered;
};

static inline struct callback callback_begin(const struct slab_cache *cache)
{
	return (struct callback){cancel_disable(), limit_noted, rcu_enter(cache)};
}

static inline void callback_end(const struct callback *callback)
{
	rcu_leave(callback->entered);
	limit_noted = callback->cause;
	cancel_restore(callback->cancel);
}

#endif /* SLAB_CALLBACK_H */
