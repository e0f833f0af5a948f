/* SPDX-License-Identifier: MIT */
/*
 * Allocation by size (<slab/malloc.h>), from caches named size-16 … size-32k.
 *
 * The cache of a size class (size_class.h) is created when it is first needed. For small sizes, a
 * table in steps of 16 bytes leads to the cache, which avoids computing the class. large.c serves
 * larger sizes.
 */
#include <errno.h>
#include <slab/debug.h>
#include <slab/malloc.h>
#include <slab/token.h>
#include <string.h>

#include "rseq.h"
#include "alloc/alloc.h"
#include "base/compiler.h"
#include "base/maintenance.h"
#include "cache/create.h"
#include "cache/large.h"
#include "cache/size_class.h"
#include "cache/token.h"
#include "core/slab.h"
#include "core/user_pointer.h"
#include "debug/bug_info.h"
#include "debug/debug_cache.h"

#define SMALL_SIZE 1024u
#define SMALL_STEP(size) (((size) + 15) / 16)

static SLAB_EARLY struct slab_cache *small[SMALL_STEP(SMALL_SIZE) + 1];
/* Of each class from 1 on. registry_lock protects it; readers are atomic. */
static SLAB_EARLY struct slab_cache *class_caches[CLASSES + 1];

static void set_small(unsigned class, struct slab_cache *cache)
{
	for (unsigned i = 0; i < sizeof(small) / sizeof(small[0]); i++)
		if (class_of((size_t)i * 16) == class)
			__atomic_store_n(&small[i], cache, __ATOMIC_RELEASE);
}

/* "size-96" or "size-2k". Many processes use nothing else of snprintf(), whose pages take page
 * faults. */
static void write_name(char *name, size_t size)
{
	const bool is_kib = size % 1024 == 0;
	size_t n = is_kib ? size / 1024 : size;
	unsigned digits = 1;

	for (size_t rest = n; rest >= 10; rest /= 10)
		digits++;
	memcpy(name, "size-", sizeof("size-"));
	name += 5 + digits;
	memcpy(name, is_kib ? "k" : "", is_kib ? 2 : 1);
	for (; digits; digits--, n /= 10)
		*--name = (char)('0' + n % 10);
}

static SLAB_SLOWPATH struct slab_cache *class_create(unsigned class)
{
	size_t size = class_size(class);
	char name[16];
	struct slab_cache *cache;

	write_name(name, size);
	cache = cache_create_by_size(name, size, &class_caches[class]);
	if (cache)
		set_small(class, cache);
	return cache;
}

static struct slab_cache *class_cache(unsigned class)
{
	return __atomic_load_n(&class_caches[class], __ATOMIC_ACQUIRE);
}

/* Allocate off the fast path, where debugging uses the requested size and the caller. */
static SLAB_SLOWPATH void *class_alloc_slow(unsigned class, size_t size, const void *caller)
{
	struct slab_cache *cache = class_cache(class);

	if (!cache)
		cache = class_create(class);
	return cache ? slab_alloc_slow(cache, size, caller) : NULL;
}

static SLAB_SLOWPATH void *malloc_slow(size_t size, const void *caller)
{
	if (size > SLAB_MALLOC_MAX_CACHED)
		return large_profile_begin(large_alloc(size, 1), size, caller);
	return class_alloc_slow(class_of(size), size, caller);
}

/* The cache for `size` bytes; NULL: it does not exist yet, or the allocation is large. */
static inline struct slab_cache *size_cache(size_t size)
{
	if (SLAB_LIKELY(size <= SMALL_SIZE))
		return __atomic_load_n(&small[SMALL_STEP(size)], __ATOMIC_ACQUIRE);
	return size <= SLAB_MALLOC_MAX_CACHED ? class_cache(class_of(size)) : NULL;
}

static inline void *malloc_for(size_t size, const void *caller)
{
	struct slab_cache *cache = size_cache(size);
	void *obj;

	if (SLAB_LIKELY(cache) &&
	    SLAB_LIKELY(rseq_pop(&cache->alloc_arrays, cpu_rseq_offset, &obj)))
		return obj;
	return malloc_slow(size, caller);
}

void *slab_malloc(size_t size)
{
	return malloc_for(size, __builtin_return_address(0));
}

void *slab_malloc_from(size_t size, const void *caller)
{
	return malloc_for(size, caller);
}

void *slab_calloc(size_t n, size_t size)
{
	const void *caller = __builtin_return_address(0);
	size_t bytes;
	void *ptr;

	if (__builtin_mul_overflow(n, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	if (bytes > SLAB_MALLOC_MAX_CACHED)
		return large_profile_begin(large_calloc(bytes), bytes, caller);
	ptr = malloc_for(bytes, caller);
	return ptr ? memset(ptr, 0, bytes) : NULL;
}

/* Report the free of a pointer that does not come from an allocation by size. */
static SLAB_SLOWPATH void report_foreign(struct slab_cache *cache, const void *ptr,
					 const void *caller)
{
	struct bug_info bug;

	if (!segment_known(ptr))
		bug_info_begin(&bug, SLAB_PROBLEM_NOT_A_SLAB, "slab_malloc",
			       "Attempt to free object %p outside of slab", ptr);
	else
		bug_info_begin(&bug, SLAB_PROBLEM_INVALID_POINTER, "slab_malloc",
			       "Invalid object pointer %p", ptr);
	if (cache)
		bug_info_note(&bug, "It is of cache %s: slab_free() frees it", cache->name);
	report_bad_free(cache, &bug, ptr, caller);
}

/* The slab of an allocation by size, and its cache; *ret_cache == NULL: it is a large one. NULL:
 * ptr is neither, which was reported. Callers keep the cache, because the slab loses it when
 * another thread frees the allocation at the same time. */
static struct slab *size_slab(const void *ptr, struct slab_cache **ret_cache, const void *caller)
{
	struct slab *slab = large_slab_of(ptr);
	struct slab_cache *cache = slab_user(slab);

	*ret_cache = cache;
	if (SLAB_LIKELY(cache && cache->by_size) || (!cache && slab_large(slab)))
		return slab;
	report_foreign(cache, ptr, caller);
	return NULL;
}

/* A slab starts at a multiple of its size, so the objects of a class whose size is a multiple of
 * `align` are aligned. Any eight consecutive classes contain a power of two, so the search is
 * short. */
static unsigned aligned_class(size_t align, size_t size)
{
	unsigned class = class_of(size > align ? size : align);

	while (align && class_size(class) % align)
		class ++;
	return class;
}

/* Does an allocation of this size get an object of this cache? */
static bool is_served_by(const struct slab_cache *cache, const struct debug_end *end)
{
	return end->size <= SLAB_MALLOC_MAX_CACHED && end->align <= SLAB_MALLOC_MAX_CACHED &&
	       class_size(aligned_class(end->align, end->size)) == cache->object_size;
}

/* Check what a free names, if debug flags or hardening ask for it. */
static void check_end(struct slab_cache *cache, const struct slab *slab, void *ptr,
		      struct debug_end *end)
{
	if (!cache) {
		debug_check_end_of_large(slab, ptr, end);
	} else if (slab_is_tagged(slab, SLAB_TAG_DEBUG)) {
		debug_check_end(cache, slab, ptr, end);
	} else if (cache->tag & SLAB_TAG_HARDEN && end->size != SLAB_ANY_SIZE &&
		   !is_served_by(cache, end)) {
		const unsigned class = class_of(cache->object_size);

		debug_report_size_of_class(cache, slab, ptr,
					   class > 1 ? class_size(class - 1) + 1 : 0, end);
	}
}

static SLAB_SLOWPATH void free_slow_for(void *ptr, enum slab_pair pair, size_t align, size_t size,
					const void *caller)
{
	struct slab_cache *cache;
	struct slab *slab = size_slab(ptr, &cache, caller);
	struct debug_end end = {.size = size, .align = align, .pair = pair, .caller = caller};

	if (!slab)
		return;
	check_end(cache, slab, ptr, &end);
	if (cache)
		slab_free_slow(cache, ptr, caller);
	else
		large_free(slab, ptr, caller);
}

/* Free memory of this size, or SLAB_ANY_SIZE. */
static inline void free_as(void *ptr, enum slab_pair pair, size_t align, size_t size,
			   const void *caller)
{
	/* Every object of a cache by size starts at a multiple of 16. */
	if (SLAB_LIKELY(segment_near_mark(ptr) == SEGMENT_MARK_SLABS) &&
	    SLAB_LIKELY(!((uintptr_t)ptr % 16))) {
		struct slab_cache *cache = segment_plain_user(ptr);

		if (SLAB_LIKELY(cache != NULL) && SLAB_LIKELY(cache->by_size)) {
			if (SLAB_UNLIKELY(!slab_push(cache, ptr)))
				slab_free_slow(cache, ptr, caller);
			return;
		}
	}
	free_slow_for(ptr, pair, align, size, caller);
}

static inline void free_for(void *ptr, const void *caller)
{
	free_as(ptr, SLAB_PAIR_MALLOC, 0, SLAB_ANY_SIZE, caller);
}

void slab_delete(void *ptr, enum slab_pair pair, size_t align, size_t size)
{
	if (ptr)
		free_as(ptr, pair, align, size, __builtin_return_address(0));
}

void slab_set_pair(void *ptr, enum slab_pair pair)
{
	struct slab_cache *cache;
	const struct slab *slab = ptr ? size_slab(ptr, &cache, __builtin_return_address(0)) : NULL;

	if (slab && slab_is_tagged(slab, SLAB_TAG_DEBUG))
		debug_set_pair(slab, ptr, pair);
}

void slab_mfree(void *ptr)
{
	if (ptr)
		free_for(ptr, __builtin_return_address(0));
}

/* 0: another thread has just freed it. */
static size_t usable(const struct slab_cache *cache, const struct slab *slab, const void *ptr)
{
	if (!cache)
		return large_usable(slab);
	if (SLAB_UNLIKELY(slab_is_tagged(slab, SLAB_TAG_DEBUG)))
		return debug_usable_size(slab, ptr);
	return cache->size;
}

/* As size_slab(), of an allocation that starts at ptr. */
static struct slab *start_slab(void *ptr, struct slab_cache **ret_cache, const void *caller)
{
	struct slab *slab = size_slab(ptr, ret_cache, caller);

	if (!slab)
		return NULL;
	if (!*ret_cache)
		return large_starts_at(slab, ptr, caller) ? slab : NULL;
	if (SLAB_LIKELY(slab_is_tagged(slab, SLAB_TAG_DEBUG)
				? debug_is_object(slab, ptr)
				: slab_is_object(*ret_cache, slab, ptr)))
		return slab;
	debug_report_interior(*ret_cache, slab, ptr, caller);
	return NULL;
}

size_t slab_usable_size(const void *ptr)
{
	const void *caller = __builtin_return_address(0);
	struct slab_cache *cache;
	const struct slab *slab = ptr ? start_slab((void *)ptr, &cache, caller) : NULL;

	return slab ? usable(cache, slab, ptr) : 0;
}

SLAB_SLOWPATH void *token_malloc_slow(size_t size, uint64_t token, const void *caller)
{
	struct slab_cache *cache = token_cache_get(token, size);

	return cache ? slab_alloc_slow(cache, size, caller)
		     : large_type_set(slab_malloc_from(size, caller),
				      size > SLAB_MALLOC_MAX_CACHED ? token : 0);
}

static void *move(void *ptr, size_t old, size_t size, uint64_t token, const void *caller)
{
	void *to;

	if (old > SLAB_MALLOC_MAX_CACHED && size > old)
		to = large_type_set(large_profile_begin(large_alloc_growing(size), size, caller),
				    token);
	else
		to = token_malloc_slow(size, token, caller);
	if (!to)
		return NULL;
	memcpy(to, ptr, old < size ? old : size);
	free_for(ptr, caller);
	return to;
}

/* Would an allocation of this size and token come from this cache? An untyped one stays where it
 * is. */
static bool serves(const struct slab_cache *cache, uint64_t token, size_t size)
{
	const uint64_t has = token_of(cache);

	if (size > SLAB_MALLOC_MAX_CACHED || (has && (has != token || size > cache->object_size)))
		return false;
	return class_of(size) == class_of(cache->object_size);
}

/* Try to change the size without a copy. NULL: that is impossible. */
static void *resize(struct slab_cache *cache, struct slab *slab, void *ptr, size_t size,
		    uint64_t token, const void *caller)
{
	if (!cache)
		return size > SLAB_MALLOC_MAX_CACHED ? large_resize(slab, size) : NULL;
	if (!serves(cache, token, size))
		return NULL;
	if (slab_is_tagged(slab, SLAB_TAG_DEBUG) && !debug_resize(cache, slab, ptr, size, caller))
		return NULL;
	return ptr;
}

/* Token 0: the allocation keeps its own. */
static void *realloc_for(void *ptr, size_t size, uint64_t token, const void *caller)
{
	const int saved = errno;
	struct slab_cache *cache;
	struct slab *slab;
	void *resized;

	if (!ptr)
		return token_malloc_slow(size, token, caller);
	if (!size) {
		free_for(ptr, caller);
		return NULL;
	}
	slab = start_slab(ptr, &cache, caller);
	if (!slab) {
		errno = EINVAL;
		return NULL;
	}
	if (!token)
		token = cache ? token_of(cache) : large_type_token(slab);
	resized = resize(cache, slab, ptr, size, token, caller);
	if (resized) {
		large_profile_again(resized, size, caller);
		return cache ? resized : large_type_set(resized, token);
	}
	errno = saved;
	return move(ptr, usable(cache, slab, ptr), size, token, caller);
}

void *slab_realloc(void *ptr, size_t size)
{
	return realloc_for(ptr, size, 0, __builtin_return_address(0));
}

void *slab_token_realloc(void *ptr, size_t size, uint64_t token, const void *caller)
{
	return realloc_for(ptr, size, token, caller);
}

/* NULL: no cache can serve the request. */
static void *class_memalign(size_t align, size_t size, const void *caller)
{
	void *obj = class_alloc_slow(aligned_class(align, size), size, caller);

	if (!obj || (uintptr_t)obj % align == 0)
		return obj;
	/* With red zones, objects are aligned to a page at most. */
	free_for(obj, caller);
	return NULL;
}

static void *large_memalign(size_t align, size_t size, const void *caller)
{
	size = size ? size : 1;
	return large_profile_begin(large_alloc(size, align), size, caller);
}

static void *memalign_for(size_t align, size_t size, const void *caller)
{
	void *ptr;

	if (!align || align & (align - 1)) {
		errno = EINVAL;
		return NULL;
	}
	if (size > SLAB_MALLOC_MAX_CACHED || align > SLAB_MALLOC_MAX_CACHED)
		return large_memalign(align, size, caller);
	ptr = class_memalign(align, size, caller);
	return ptr ? ptr : large_memalign(align, size, caller);
}

void *slab_memalign(size_t align, size_t size)
{
	return memalign_for(align, size, __builtin_return_address(0));
}

void *slab_memalign_from(size_t align, size_t size, const void *caller)
{
	return memalign_for(align, size, caller);
}

static SLAB_SLOWPATH void *new_slow(enum slab_pair pair, size_t align, size_t size,
				    const void *caller)
{
	void *ptr;

	debug_pair = (uint8_t)pair;
	ptr = align ? memalign_for(align, size, caller) : malloc_slow(size, caller);
	debug_pair = SLAB_PAIR_MALLOC;
	return ptr;
}

void *slab_new_from(enum slab_pair pair, size_t align, size_t size, const void *caller)
{
	struct slab_cache *cache = align ? NULL : size_cache(size);
	void *obj;

	if (SLAB_LIKELY(cache) &&
	    SLAB_LIKELY(rseq_pop(&cache->alloc_arrays, cpu_rseq_offset, &obj)))
		return obj;
	return new_slow(pair, align, size, caller);
}

/* Aligned memory may be of a larger cache than its size says, so a cache with hardened frees cannot
 * tell. */
static size_t size_to_check(const struct slab *slab, size_t size)
{
	return slab_is_tagged(slab, SLAB_TAG_DEBUG) ? size : SLAB_ANY_SIZE;
}

void slab_free_sized(void *ptr, size_t size)
{
	const void *caller = __builtin_return_address(0);
	struct slab_cache *cache;
	const struct slab *slab = ptr ? start_slab(ptr, &cache, caller) : NULL;
	size_t has = slab ? usable(cache, slab, ptr) : 0;

	if (!slab)
		return;
	if (SLAB_UNLIKELY(has && size > has))
		debug_report_wrong_size(slab, ptr, size, has, caller);
	else
		free_as(ptr, SLAB_PAIR_MALLOC, 0, size_to_check(slab, size), caller);
}
