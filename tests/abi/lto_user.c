/* SPDX-License-Identifier: MIT */
/* A program's calls of the fast paths, for lto.sh. */
#include <slab/slab.h>

void lto_pair(struct slab_cache *cache);

void lto_pair(struct slab_cache *cache)
{
	void *obj = slab_alloc(cache);

	slab_free(cache, obj);
}
