/* SPDX-License-Identifier: MIT */
#pragma once

#include "rooms.h"

/* While this object lives, no thread takes objects that wait for a grace period out of a CPU's
 * array. */
class no_collection
{
public:
	explicit no_collection(struct slab_cache *cache)
	{
		rcu_fork_lock();
		rcu_fork_wait(cache);
	}

	~no_collection() { rcu_fork_unlock(); }

	no_collection(const no_collection &) = delete;
	no_collection &operator=(const no_collection &) = delete;
};
