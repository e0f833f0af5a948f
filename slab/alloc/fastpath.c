/* SPDX-License-Identifier: MIT */
/*
 * The fast paths, and nothing else.
 *
 * Each is one restartable sequence on the CPU's array (cpu_cache/rseq.h). If it misses, a tail call
 * leads to the slow path.
 *
 * One test covers everything unusual. Allocations find an empty array if a gate is set
 * (core/gate.h) or the cache is closed, and with engines other than rseq. Frees find a full one in
 * the last two cases; a tag in the slab's user keeps them off if they need more than a push.
 */
#include "rseq.h"
#include "alloc/alloc.h"
#include "base/compiler.h"
#include "core/slab.h"
#include "core/user_pointer.h"

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

	if (SLAB_LIKELY(rseq_pop(&cache->alloc_arrays, cpu_rseq_offset, &obj)))
		return obj;
	return slab_alloc_slow(cache, cache->object_size, __builtin_return_address(0));
}

FASTPATH void slab_free(struct slab_cache *cache, void *obj)
{
	if (SLAB_LIKELY(obj != NULL) && slab_has_user(obj, cache) && slab_push(cache, obj))
		return;
	slab_free_slow(cache, obj, __builtin_return_address(0));
}
