/* SPDX-License-Identifier: MIT */
#include "core/numbers.h"

#include "base/compiler.h"

SLAB_EARLY struct numbered_cache numbered_caches[CACHE_UNNUMBERED];

void number_give(struct slab_cache *cache, unsigned number)
{
	cache->number = (uint16_t)number;
	numbered_caches[number].lifos = cache->cpu_lifos;
	__atomic_store_n(&numbered_caches[number].cache, cache, __ATOMIC_RELEASE);
}

void number_give_any(struct slab_cache *cache)
{
	for (unsigned n = SIZE_NUMBERS + 1; n < CACHE_UNNUMBERED; n++)
		if (!numbered_caches[n].cache) {
			number_give(cache, n);
			return;
		}
}

void number_take(struct slab_cache *cache)
{
	if (cache->number != CACHE_UNNUMBERED)
		numbered_caches[cache->number] = (struct numbered_cache){0};
	cache->number = CACHE_UNNUMBERED;
}
