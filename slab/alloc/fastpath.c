/* SPDX-License-Identifier: MIT */
/*
 * The fast paths, alone. Each is one restartable sequence (rseq.h of cpu_cache). What
 * it cannot do is done out of line, by a tail call: at first by a second sequence, on the
 * LIFO of the CPU.
 *
 * There is one test for everything unusual: a CPU without a current slab. A
 * cache that is new, closed, zeroing, or served by another engine looks just
 * like that.
 */
#include "rseq.h"
#include "alloc/alloc.h"
#include "base/compiler.h"
#include "core/slab.h"
#include "core/user_pointer.h"
#include "pages/segment.h"

/* Inline, for gcc's link-time optimization: it takes so much assembly for too large otherwise.
 * (clang has no use for it, and warns.) */
#ifdef __clang__
#define FASTPATH __attribute__((aligned(CPU_CACHELINE)))
#else
#define FASTPATH __attribute__((aligned(CPU_CACHELINE))) inline
#endif

FASTPATH void *slab_alloc(struct slab_cache *cache)
{
	void *obj;

	if (SLAB_LIKELY(rseq_pop(&cache->slots, cpu_rseq_offset, &obj)))
		return obj;
	return slab_alloc_second(cache, cache->object_size, __builtin_return_address(0));
}

FASTPATH void slab_free(struct slab_cache *cache, void *obj)
{
	if (SLAB_UNLIKELY(!obj))
		return;

	bool other;
	struct slab *slab = slab_of_user(obj, cache, &other);

	if (SLAB_UNLIKELY(other)) {
		slab_free_slow(cache, obj, slab);
		return;
	}
	if (SLAB_LIKELY(rseq_push(&cache->cpu_slots, &slab->cpu, obj, cpu_rseq_offset)))
		return;
	slab_free_second(cache, obj, slab, __builtin_return_address(0));
}
