/* SPDX-License-Identifier: MIT */
/* Shrinking a cache: free objects go from CPUs to their slabs, and empty slabs to the page
 * layer. */
#include <errno.h>
#include <slab/stats.h>

#include "memory/shrink.h"
#include "base/cancel.h"
#include "base/error.h"
#include "base/probe.h"
#include "core/shard.h"
#include "core/slab.h"
#include "debug/debug_cache.h"
#include "pages/free_slabs.h"
#include "pages/topology.h"
#include "percpu/closing.h"

unsigned cache_release_empty(struct slab_cache *cache)
{
	unsigned released = cache_release(cache, 0);

	for (unsigned n = 0; n < topology_nodes(); n++)
		released += debug_node_shrink(cache, n);
	return released;
}

unsigned cache_shrink(struct slab_cache *cache)
{
	unsigned released;

	SLAB_PROBE(shrink_begin, cache->name, cache);
	cache_drain(cache, NULL, NULL);
	released = legacy_finish(cache) + cache_release_empty(cache);
	SLAB_PROBE(shrink_end, cache->name, cache, released);
	return released;
}

int slab_cache_shrink(struct slab_cache *cache)
{
	unsigned released;
	int cancel;

	if (!cache || cache->magic != CACHE_MAGIC)
		return with_errno(-EINVAL);
	cancel = cancel_disable();
	released = cache_shrink(cache);
	segment_trim();
	cancel_restore(cancel);
	return (int)released;
}
