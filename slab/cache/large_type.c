/* SPDX-License-Identifier: MIT */
/* Large allocations by type: the cache of the type counts them, and their descriptors have it. */
#include "cache/large.h"
#include "cache/token.h"
#include "pages/os.h"
#include "report/profile.h"

static void count(struct slab *slab, struct slab_cache *cache)
{
	slab->map[LARGE_TYPE] = (uintptr_t)cache;
	if (!cache)
		return;
	slab->map[LARGE_BYTES] = os_pages(slab->large);
	__atomic_fetch_add(&cache->above.objects, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&cache->above.bytes, slab->map[LARGE_BYTES], __ATOMIC_RELAXED);
	profile_set_token(slab->profiled, token_of(cache));
}

void *large_type_set(void *ptr, uint64_t token)
{
	struct slab *slab = ptr && token ? large_slab_of(ptr) : NULL;

	/* Memory with an alignment may be an object of a cache. */
	if (slab && slab_large(slab)) {
		large_type_end(slab);
		count(slab, token_cache_of_large(token));
	}
	return ptr;
}

uint64_t large_type_token(const struct slab *slab)
{
	return large_type(slab) ? token_of(large_type(slab)) : 0;
}
