/* SPDX-License-Identifier: MIT */
/*
 * Object caches of other designs: SLOB (slob.c), SLAB (queued.c), sheaves (sheaf.c). README.md
 * describes them.
 *
 * Functions of each begin with its prefix. They are MT-safe. An allocation returns NULL if there is
 * no memory. An object that is freed twice in a row ends the process.
 */
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BASELINE_MAX_OBJECT ((size_t)32768)
#define BASELINE_API __attribute__((visibility("default")))

/*
 *   create      objects of 1 to BASELINE_MAX_OBJECT bytes, aligned to 8; NULL: no memory, or no
 *               such size
 *   destroy     all objects of the cache have been freed
 *   alloc_bulk  up to n objects; returns their number
 *   shrink      empty all queues, and return the memory of empty slabs to the system
 *   bytes       of the slabs that the cache has (SLOB: of all caches)
 */
#define BASELINE_DECLARE(prefix)                                                                   \
	struct prefix##_cache;                                                                     \
	BASELINE_API struct prefix##_cache *prefix##_create(size_t size);                          \
	BASELINE_API void prefix##_destroy(struct prefix##_cache *cache);                          \
	BASELINE_API void *prefix##_alloc(struct prefix##_cache *cache);                           \
	BASELINE_API void prefix##_free(struct prefix##_cache *cache, void *obj);                  \
	BASELINE_API size_t prefix##_alloc_bulk(struct prefix##_cache *cache, size_t n,            \
						void **objs);                                      \
	BASELINE_API void prefix##_free_bulk(struct prefix##_cache *cache, size_t n,               \
					     void *const *objs);                                   \
	BASELINE_API void prefix##_shrink(struct prefix##_cache *cache);                           \
	BASELINE_API size_t prefix##_bytes(const struct prefix##_cache *cache)

BASELINE_DECLARE(slob);
BASELINE_DECLARE(queued);
BASELINE_DECLARE(sheaf);

#ifdef __cplusplus
}
#endif
