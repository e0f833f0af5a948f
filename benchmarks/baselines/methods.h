/* SPDX-License-Identifier: MIT */
/* BASELINE_METHODS(prefix, title): prefix_baseline, the struct baseline of an allocator whose
 * functions begin with this prefix. */
#ifndef BASELINES_METHODS_H
#define BASELINES_METHODS_H

#include "baseline.h"

#define BASELINE_METHODS(prefix, title)                                                            \
	static void *method_create(const struct baseline_args *args)                               \
	{                                                                                          \
		return prefix##_create(args);                                                      \
	}                                                                                          \
	static void method_destroy(void *cache)                                                    \
	{                                                                                          \
		prefix##_destroy(cache);                                                           \
	}                                                                                          \
	static void *method_alloc(void *cache)                                                     \
	{                                                                                          \
		return prefix##_alloc(cache);                                                      \
	}                                                                                          \
	static void method_free(void *cache, void *obj)                                            \
	{                                                                                          \
		prefix##_free(cache, obj);                                                         \
	}                                                                                          \
	static size_t method_alloc_bulk(void *cache, unsigned mode, size_t n, void **objs)         \
	{                                                                                          \
		return prefix##_alloc_bulk(cache, mode, n, objs);                                  \
	}                                                                                          \
	static void method_free_bulk(void *cache, size_t n, void *const *objs)                     \
	{                                                                                          \
		prefix##_free_bulk(cache, n, objs);                                                \
	}                                                                                          \
	static void method_shrink(void *cache)                                                     \
	{                                                                                          \
		prefix##_shrink(cache);                                                            \
	}                                                                                          \
	static void method_reap(void *cache)                                                       \
	{                                                                                          \
		prefix##_reap(cache);                                                              \
	}                                                                                          \
	static void method_stats(void *cache, struct baseline_stats *stats)                        \
	{                                                                                          \
		prefix##_stats(cache, stats);                                                      \
	}                                                                                          \
	const struct baseline prefix##_baseline = {                                                \
		.name = (title),                                                                   \
		.create = method_create,                                                           \
		.destroy = method_destroy,                                                         \
		.alloc = method_alloc,                                                             \
		.free = method_free,                                                               \
		.alloc_bulk = method_alloc_bulk,                                                   \
		.free_bulk = method_free_bulk,                                                     \
		.shrink = method_shrink,                                                           \
		.reap = method_reap,                                                               \
		.stats = method_stats,                                                             \
	}

#endif /* BASELINES_METHODS_H */
