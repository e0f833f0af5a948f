/* SPDX-License-Identifier: MIT */
/*
 * The interface of the object caches in this folder: slob/, queued/, sheaves/.
 *
 * Each allocator has functions of its own, which are called directly (slob/slob.h and so on), and a
 * struct baseline of pointers to them, for the tests, which run over all allocators. The functions
 * take the arguments of libslab's (<slab/slab.h>), and the modes of a bulk allocation have the same
 * names and values.
 *
 * All functions are MT-safe. A thread must not use a cache during or after its destruction. Errors
 * are NULL and ENOMEM. A program that misuses an object, as far as that is found out, aborts.
 */
#ifndef BASELINES_BASELINE_H
#define BASELINES_BASELINE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BASELINE_API __attribute__((visibility("default")))

/* Bytes: the largest object and the greatest alignment. */
#define BASELINE_MAX_OBJECT ((size_t)32768)
#define BASELINE_MAX_ALIGN ((size_t)4096)

/* Sources of a bulk allocation, as SLAB_ALLOC_LOCAL and so on of <slab/slab.h>. */
#define BASELINE_LOCAL 1u
#define BASELINE_PARTIAL 2u
#define BASELINE_NEW 4u
#define BASELINE_FULL 8u

struct baseline_args {
	size_t size;  /* bytes, 1 to BASELINE_MAX_OBJECT */
	size_t align; /* a power of two up to BASELINE_MAX_ALIGN; 0: 8 */
	/* Called once for each object, before its first allocation from a new slab (SLOB, whose pages
	 * have objects of all caches: at each allocation); NULL: none. */
	void (*ctor)(void *obj, void *arg);
	void *arg;
};

struct baseline_stats {
	size_t bytes; /* of the slabs that the cache has */
	size_t queued; /* free objects in queues: not allocated, and in use to their slabs */
};

/*
 * An allocator. A cache is what create() returned.
 *
 *   create      a cache; NULL: there is no memory, or an argument is outside its bounds
 *   destroy     all objects of the cache have been freed
 *   alloc       an object with undefined or constructed contents; NULL: there is no memory
 *   alloc_bulk  up to n objects from the sources of `mode`; returns their number
 *   free_bulk   n objects
 *   shrink      empty all queues, and return the memory of empty slabs to the system
 *   reap        one pass of the periodic work that returns unused objects to their slabs
 *   stats       exact while no other thread uses the cache
 */
struct baseline {
	const char *name;
	void *(*create)(const struct baseline_args *args);
	void (*destroy)(void *cache);
	void *(*alloc)(void *cache);
	void (*free)(void *cache, void *obj);
	size_t (*alloc_bulk)(void *cache, unsigned mode, size_t n, void **objs);
	void (*free_bulk)(void *cache, size_t n, void *const *objs);
	void (*shrink)(void *cache);
	void (*reap)(void *cache);
	void (*stats)(void *cache, struct baseline_stats *stats);
};

#ifdef __cplusplus
}
#endif

#endif /* BASELINES_BASELINE_H */
