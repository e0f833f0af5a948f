/* SPDX-License-Identifier: MIT */
/* SLAB: queues of free objects for each CPU and node. ../baseline.h describes the functions. */
#ifndef BASELINES_QUEUED_H
#define BASELINES_QUEUED_H

#include "baseline.h"

#ifdef __cplusplus
extern "C" {
#endif

struct queued_cache;

BASELINE_API struct queued_cache *queued_create(const struct baseline_args *args);
BASELINE_API void queued_destroy(struct queued_cache *cache);
BASELINE_API void *queued_alloc(struct queued_cache *cache);
BASELINE_API void queued_free(struct queued_cache *cache, void *obj);
BASELINE_API size_t queued_alloc_bulk(struct queued_cache *cache, unsigned mode, size_t n,
				      void **objs);
BASELINE_API void queued_free_bulk(struct queued_cache *cache, size_t n, void *const *objs);
BASELINE_API void queued_shrink(struct queued_cache *cache);
/* A thread calls it every two seconds for each cache. */
BASELINE_API void queued_reap(struct queued_cache *cache);
BASELINE_API void queued_stats(struct queued_cache *cache, struct baseline_stats *stats);

extern BASELINE_API const struct baseline queued_baseline;

#ifdef __cplusplus
}
#endif

#endif /* BASELINES_QUEUED_H */
