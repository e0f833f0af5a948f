/* SPDX-License-Identifier: MIT */
/*
 * Memory by size, on caches named size-16 … size-32k.
 *
 * Classes are multiples of 16 up to 128, then eight to each doubling, so that a
 * class is at most 12.5 % larger than the one below. A class's cache is made
 * when it is first asked for. Larger sizes are large.c's.
 */
#include <errno.h>
#include <slab/malloc.h>
#include <stdio.h>
#include <string.h>

#include "large.h"
#include "report.h"
#include "slab_internal.h"

#define CLASSES 72u
#define SMALL_CLASSES 8u /* 16, 32, … 128 */

static struct slab_cache *classes[CLASSES];
static pthread_mutex_t classes_lock = PTHREAD_MUTEX_INITIALIZER;

static unsigned class_of(size_t size)
{
	unsigned log2;

	if (size <= 128)
		return size ? (unsigned)((size - 1) / 16) : 0;
	/* The class above 2^log2 in steps of an eighth of it. */
	log2 = 63 - (unsigned)__builtin_clzl(size - 1);
	return SMALL_CLASSES + (log2 - 7) * 8 + (unsigned)(((size - 1) >> (log2 - 3)) & 7);
}

static size_t class_size(unsigned class)
{
	unsigned step = class - SMALL_CLASSES, log2 = 7 + step / 8;

	if (class < SMALL_CLASSES)
		return ((size_t)class + 1) * 16;
	return ((size_t)1 << log2) + ((size_t)(step % 8 + 1) << (log2 - 3));
}

static SLAB_SLOWPATH struct slab_cache *class_create(unsigned class)
{
	size_t size = class_size(class);
	struct slab_cache *cache;
	char name[32];

	snprintf(name, sizeof(name), size % 1024 ? "size-%zu" : "size-%zuk",
		 size % 1024 ? size : size / 1024);
	pthread_mutex_lock(&classes_lock);
	cache = classes[class];
	if (!cache) {
		cache = cache_create_by_size(name, size);
		__atomic_store_n(&classes[class], cache, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&classes_lock);
	return cache;
}

static struct slab_cache *class_cache(unsigned class)
{
	struct slab_cache *cache = __atomic_load_n(&classes[class], __ATOMIC_ACQUIRE);

	return SLAB_LIKELY(cache) ? cache : class_create(class);
}

void sizes_lock(void)
{
	pthread_mutex_lock(&classes_lock);
}

void sizes_unlock(void)
{
	pthread_mutex_unlock(&classes_lock);
}

void *slab_malloc(size_t size)
{
	struct slab_cache *cache;

	if (SLAB_UNLIKELY(size > SLAB_MALLOC_MAX_CACHED))
		return large_alloc(size, 1);
	cache = class_cache(class_of(size));
	return SLAB_LIKELY(cache) ? slab_alloc(cache) : NULL;
}

void *slab_calloc(size_t n, size_t size)
{
	size_t bytes;
	void *ptr;

	if (__builtin_mul_overflow(n, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	ptr = slab_malloc(bytes);
	return ptr ? memset(ptr, 0, bytes) : NULL;
}

/* The cache of a pointer of ours; NULL, reported, when it is of none. */
static struct slab_cache *size_cache(struct slab *slab, void *ptr)
{
	struct slab_cache *cache = (struct slab_cache *)slab->cpu.user;
	struct slab_report report;

	if (SLAB_LIKELY(cache && cache->by_size))
		return cache;
	slab_report_begin(&report, "slab_malloc", "Invalid object pointer %p", ptr);
	if (cache)
		slab_report_line(&report, "It is of cache %s: slab_free() frees it", cache->name);
	slab_report_line(&report, "FIX slab_malloc: Object at %p not freed", ptr);
	slab_report_emit(&report);
	return NULL;
}

void slab_mfree(void *ptr)
{
	struct slab *slab;
	struct slab_cache *cache;

	if (!ptr)
		return;
	slab = slab_of(ptr);
	if (slab->large) {
		large_free(slab, ptr);
		return;
	}
	cache = size_cache(slab, ptr);
	if (cache)
		slab_free(cache, ptr);
}

size_t slab_usable_size(const void *ptr)
{
	const struct slab *slab;

	if (!ptr)
		return 0;
	slab = slab_of(ptr);
	return slab->large ? large_usable(slab) : (size_t)slab->cpu.size8 * 8;
}

static void *move(void *ptr, size_t old, size_t size)
{
	void *to = slab_malloc(size);

	if (!to)
		return NULL;
	memcpy(to, ptr, old < size ? old : size);
	slab_mfree(ptr);
	return to;
}

void *slab_realloc(void *ptr, size_t size)
{
	struct slab *slab;

	if (!ptr)
		return slab_malloc(size);
	if (!size) {
		slab_mfree(ptr);
		return NULL;
	}
	slab = slab_of(ptr);
	if (slab->large) {
		if (size > SLAB_MALLOC_MAX_CACHED && large_resize(slab, size))
			return ptr;
		return move(ptr, large_usable(slab), size);
	}
	if (!size_cache(slab, ptr)) {
		errno = EINVAL;
		return NULL;
	}
	if (size <= SLAB_MALLOC_MAX_CACHED &&
	    class_size(class_of(size)) == (size_t)slab->cpu.size8 * 8)
		return ptr;
	return move(ptr, (size_t)slab->cpu.size8 * 8, size);
}

void *slab_memalign(size_t align, size_t size)
{
	if (!align || align & (align - 1) || align > LARGE_ALIGN_MAX) {
		errno = EINVAL;
		return NULL;
	}
	if (size > SLAB_MALLOC_MAX_CACHED || align > SLAB_MALLOC_MAX_CACHED)
		return large_alloc(size ? size : 1, align);
	/* Slabs are aligned further than that, so an object is aligned as its
	 * size is; a power of two comes along soon. */
	for (unsigned class = class_of(size > align ? size : align); class < CLASSES; class ++)
		if (class_size(class) % align == 0) {
			struct slab_cache *cache = class_cache(class);

			return cache ? slab_alloc(cache) : NULL;
		}
	return large_alloc(size, align);
}

void slab_free_sized(void *ptr, size_t size)
{
	struct slab_report report;

	if (ptr && size > slab_usable_size(ptr)) {
		slab_report_begin(&report, "slab_malloc", "Wrong size %zu freed, object has %zu",
				  size, slab_usable_size(ptr));
		slab_report_line(&report, "FIX slab_malloc: Object at %p not freed", ptr);
		slab_report_emit(&report);
		return;
	}
	slab_mfree(ptr);
}
