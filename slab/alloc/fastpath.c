/* SPDX-License-Identifier: MIT */
/*
 * The fast paths, and nothing else.
 *
 * Each is one restartable sequence on the CPU's LIFO (cpu_cache/rseq.h). If it fails, a tail call
 * leads out of line: first to a second sequence, on a slab, then to the slow path.
 *
 * One test covers everything unusual: the LIFO has the limit 0. This is so for a new cache, a cache
 * with a gate set (core/gate.h), a slot under revocation, and engines other than rseq.
 */
#include "rseq.h"
#include "alloc/alloc.h"
#include "base/compiler.h"
#include "core/slab.h"
#include "core/user_pointer.h"
#include "pages/segment.h"

/* `inline` lets gcc's link-time optimization inline these functions; without it gcc estimates their
 * assembly as too large. (clang does not need it, and warns.) */
#ifdef __clang__
#define FASTPATH __attribute__((aligned(CPU_CACHELINE)))
#else
#define FASTPATH __attribute__((aligned(CPU_CACHELINE))) inline
#endif

FASTPATH void *slab_alloc(struct slab_cache *cache)
{
	void *obj;

	if (SLAB_LIKELY(rseq_pop(&cache->lifos, cpu_rseq_offset, &obj)))
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
	if (SLAB_LIKELY(slab_push(cache, slab, obj)))
		return;
	slab_free_second(cache, obj, slab, __builtin_return_address(0));
}
