/* SPDX-License-Identifier: MIT */
/* Allocation by size and type (<slab/token.h>), from the caches of token.c. */
#include <errno.h>
#include <slab/malloc.h>
#include <slab/token.h>
#include <string.h>

#include "rseq.h"
#include "alloc/alloc.h"
#include "base/compiler.h"
#include "cache/large.h"
#include "cache/token.h"
#include "debug/debug_cache.h"

static inline bool pop(size_t size, uint64_t token, void **ret_obj)
{
	struct slab_cache *cache = token ? token_cache_find(token, size) : NULL;

	return SLAB_LIKELY(cache) &&
	       SLAB_LIKELY(rseq_pop(&cache->alloc_arrays, cpu_rseq_offset, ret_obj));
}

static inline void *malloc_for(size_t size, uint64_t token, const void *caller)
{
	void *obj;

	return SLAB_LIKELY(pop(size, token, &obj)) ? obj : token_malloc_slow(size, token, caller);
}

void *slab_token_malloc(size_t size, uint64_t token, const void *caller)
{
	return malloc_for(size, token, caller);
}

void *slab_token_calloc(size_t n, size_t size, uint64_t token, const void *caller)
{
	size_t bytes;
	void *ptr;

	if (__builtin_mul_overflow(n, size, &bytes) || bytes > SLAB_MALLOC_MAX_CACHED)
		return large_type_set(slab_calloc(n, size), token);
	ptr = malloc_for(bytes, token, caller);
	return ptr ? memset(ptr, 0, bytes) : NULL;
}

/* Objects are aligned to the largest power of two that divides the size of their cache. */
void *slab_token_memalign(size_t align, size_t size, uint64_t token, const void *caller)
{
	struct slab_cache *cache;
	void *ptr;

	if (!align || align & (align - 1) || align > SLAB_MALLOC_MAX_CACHED ||
	    size > SLAB_MALLOC_MAX_CACHED)
		return large_type_set(slab_memalign_from(align, size, caller), token);
	if (align <= 16)
		return malloc_for(size, token, caller);
	cache = token_cache_get(token, (size + align - 1) & ~(align - 1));
	if (!cache || cache->object_size % align)
		return slab_memalign_from(align, size, caller);
	ptr = slab_alloc_slow(cache, size, caller);
	if (!ptr || (uintptr_t)ptr % align == 0)
		return ptr;
	/* With red zones, objects are aligned to a page at most. */
	slab_mfree(ptr);
	return slab_memalign_from(align, size, caller);
}

static SLAB_SLOWPATH void *new_slow(enum slab_pair pair, size_t align, size_t size, uint64_t token,
				    const void *caller)
{
	void *ptr;

	debug_pair = (uint8_t)pair;
	ptr = align ? slab_token_memalign(align, size, token, caller)
		    : token_malloc_slow(size, token, caller);
	debug_pair = SLAB_PAIR_MALLOC;
	return ptr;
}

void *slab_token_new(enum slab_pair pair, size_t align, size_t size, uint64_t token,
		     const void *caller)
{
	void *obj;

	return !align && SLAB_LIKELY(pop(size, token, &obj))
		       ? obj
		       : new_slow(pair, align, size, token, caller);
}
