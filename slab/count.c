/* SPDX-License-Identifier: MIT */
#include "count.h"

bool count_is_open(const struct slab_cache *cache)
{
	(void)cache;
	return false;
}

void count_open(struct slab_cache *cache, unsigned us)
{
	(void)cache;
	(void)us;
}

void count_allocation(struct slab_cache *cache)
{
	(void)cache;
}
