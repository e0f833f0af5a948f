/* SPDX-License-Identifier: MIT */
/* SLOB: lists of free units in page frames, one lock. ../baseline.h describes the functions. */
#ifndef BASELINES_SLOB_H
#define BASELINES_SLOB_H

#include "baseline.h"

#ifdef __cplusplus
extern "C" {
#endif

struct slob_cache;

BASELINE_API struct slob_cache *slob_create(const struct baseline_args *args);
BASELINE_API void slob_destroy(struct slob_cache *cache);
BASELINE_API void *slob_alloc(struct slob_cache *cache);
BASELINE_API void slob_free(struct slob_cache *cache, void *obj);
/* A loop of single calls: the fallback of the batch interface. */
BASELINE_API size_t slob_alloc_bulk(struct slob_cache *cache, unsigned mode, size_t n, void **objs);
BASELINE_API void slob_free_bulk(struct slob_cache *cache, size_t n, void *const *objs);
BASELINE_API void slob_shrink(struct slob_cache *cache);
BASELINE_API void slob_reap(struct slob_cache *cache);
/* Bytes of all caches: they share pages. */
BASELINE_API void slob_stats(struct slob_cache *cache, struct baseline_stats *stats);

extern BASELINE_API const struct baseline slob_baseline;

#ifdef __cplusplus
}
#endif

#endif /* BASELINES_SLOB_H */
