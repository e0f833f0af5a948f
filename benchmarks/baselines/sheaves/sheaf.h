/* SPDX-License-Identifier: MIT */
/* Sheaves: SLUB's slabs behind arrays of objects for each CPU, and a barn of such arrays for each
 * node. ../baseline.h describes the functions without a comment. */
#ifndef BASELINES_SHEAVES_SHEAF_H
#define BASELINES_SHEAVES_SHEAF_H

#include "baseline.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sheaf_cache;
struct sheaf;

BASELINE_API struct sheaf_cache *sheaf_create(const struct baseline_args *args);
BASELINE_API void sheaf_destroy(struct sheaf_cache *cache);
BASELINE_API void *sheaf_alloc(struct sheaf_cache *cache);
BASELINE_API void sheaf_free(struct sheaf_cache *cache, void *obj);
BASELINE_API size_t sheaf_alloc_bulk(struct sheaf_cache *cache, unsigned mode, size_t n,
				     void **objs);
BASELINE_API void sheaf_free_bulk(struct sheaf_cache *cache, size_t n, void *const *objs);
BASELINE_API void sheaf_shrink(struct sheaf_cache *cache);
BASELINE_API void sheaf_reap(struct sheaf_cache *cache);
BASELINE_API void sheaf_stats(struct sheaf_cache *cache, struct baseline_stats *stats);

/*
 * sheaf_prefill: a sheaf of the caller's own, with n objects at least. NULL: there is no memory.
 * sheaf_pop: take one object out of it. NULL: it is empty. The caller serialises calls for a sheaf.
 * sheaf_return: give the sheaf and what is left in it back.
 */
BASELINE_API struct sheaf *sheaf_prefill(struct sheaf_cache *cache, size_t n);
BASELINE_API void *sheaf_pop(struct sheaf *sheaf);
BASELINE_API void sheaf_return(struct sheaf_cache *cache, struct sheaf *sheaf);

extern BASELINE_API const struct baseline sheaf_baseline;

#ifdef __cplusplus
}
#endif

#endif /* BASELINES_SHEAVES_SHEAF_H */
