/* SPDX-License-Identifier: MIT */
/*
 * The fast paths, alone. Each is one restartable sequence (rseq.h of cpu_cache). What
 * it cannot do is done out of line, by a tail call.
 *
 * There is one test for everything unusual: a CPU without a current slab. A
 * cache that is new, closed, zeroing, or served by another engine looks just
 * like that.
 */
#include "rseq.h"
#include "alloc/alloc.h"
#include "base/compiler.h"
#include "core/cache.h"
#include "core/user_pointer.h"
#include "pages/segment.h"

void *slab_alloc(struct slab_cache *cache)
{
	void *obj;

	if (SLAB_LIKELY(rseq_pop(&cache->slots, cpu_rseq_offset, &obj)))
		return obj;
	return slab_alloc_slow(cache);
}

void slab_free(struct slab_cache *cache, void *obj)
{
	if (SLAB_UNLIKELY(!obj))
		return;

	bool other;
	struct slab *slab = slab_of_user(obj, cache, &other);

	if (SLAB_LIKELY(!other) &&
	    SLAB_LIKELY(rseq_push(&cache->cpu_slots, &slab->cpu, obj, cpu_rseq_offset)))
		return;
	slab_free_slow(cache, obj, slab);
}
