/* SPDX-License-Identifier: MIT */
/* Large allocations by type: the cache of the type counts them, and their descriptors have it. */
#include "cache/large.h"
#include "cache/token.h"
#include "pages/os.h"
#include "report/profile.h"

/* Words of a large allocation's map; the first one has its birth. */
enum { TYPE = 1, BYTES = 2 };

static struct slab_cache *type_of(const struct slab *slab)
{
	return (struct slab_cache *)slab->map[TYPE];
}

static void count(struct slab *slab, struct slab_cache *cache)
{
	slab->map[TYPE] = (uintptr_t)cache;
	if (!cache)
		return;
	slab->map[BYTES] = os_pages(slab->large);
	__atomic_fetch_add(&cache->above.objects, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&cache->above.bytes, slab->map[BYTES], __ATOMIC_RELAXED);
	profile_set_token(slab->profiled, token_of(cache));
}

void large_type_end(struct slab *slab)
{
	struct slab_cache *cache = type_of(slab);

	if (!cache)
		return;
	__atomic_fetch_sub(&cache->above.objects, 1, __ATOMIC_RELAXED);
	__atomic_fetch_sub(&cache->above.bytes, slab->map[BYTES], __ATOMIC_RELAXED);
}

void large_type_none(struct slab *slab)
{
	slab->map[TYPE] = 0;
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
	return type_of(slab) ? token_of(type_of(slab)) : 0;
}
