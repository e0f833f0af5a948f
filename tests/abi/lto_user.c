/* SPDX-License-Identifier: MIT */
/* A program's calls of the fast paths, for lto.sh. */
#include <slab/slab.h>

void lto_pair(struct slab_cache *cache);

void lto_cold(struct slab_cache *cache);

void lto_pair(struct slab_cache *cache)
{
	void *obj = slab_alloc(cache);

	slab_free(cache, obj);
}

/* A section that gcc names as it likes: the handlers of aborted sequences must not be in it. */
__attribute__((cold)) void lto_cold(struct slab_cache *cache)
{
	void *obj = slab_alloc(cache);

	slab_free(cache, obj);
}
