/* SPDX-License-Identifier: MIT */
/*
 * Frees that name what is freed: its size, or the kind of function that allocated it. What the
 * program says of a good pointer may be wrong. libslab reports that and frees the object all the
 * same.
 */
#include "base/options.h"
#include "core/debug_record.h"
#include "core/slab.h"
#include "debug/bug_info.h"
#include "debug/debug_cache.h"
#include "pages/os.h"

#include <slab/debug.h>
#include <slab/malloc.h>

__thread uint8_t debug_pair __attribute__((tls_model("initial-exec")));

/* The record of the object that starts at obj, or NULL. */
static struct debug_object *record_of(const struct slab *slab, const void *obj)
{
	unsigned index;
	size_t into;

	return slab->debug && debug_find_object(slab, obj, &index, &into) && !into
		       ? debug_record(slab, index)
		       : NULL;
}

void debug_set_pair(const struct slab *slab, const void *obj, unsigned pair)
{
	struct debug_object *record = record_of(slab, obj);

	if (record)
		record->pair = (uint8_t)pair;
}

static const char *const allocates[] = {"malloc()", "new", "new[]"};
static const char *const frees[] = {"free()", "delete", "delete[]"};

static void report(struct slab_cache *cache, const struct slab *slab, void *obj,
		   struct bug_info *bug, const void *caller)
{
	unsigned index;
	size_t into;

	if (cache) {
		debug_find_object(slab, obj, &index, &into);
		bug_info_slab(bug, slab);
		bug_info_object(bug, slab, index);
	}
	bug_info_detected(bug, caller);
	debug_report(cache, bug);
}

static void report_size(struct slab_cache *cache, const struct slab *slab, void *obj, size_t size,
			size_t requested, const void *caller)
{
	struct bug_info bug;

	bug_info_begin(&bug, SLAB_PROBLEM_WRONG_SIZE, cache ? cache->name : "slab_malloc",
		       "Freed as %zu bytes, allocated as %zu", size, requested);
	report(cache, slab, obj, &bug, caller);
}

void debug_report_size_of_class(struct slab_cache *cache, const struct slab *slab, void *obj,
				size_t least, const struct debug_end *end)
{
	struct bug_info bug;

	if (!slab_is_object(cache, slab, obj))
		return;
	bug_info_begin(&bug, SLAB_PROBLEM_WRONG_SIZE, cache->name,
		       "Freed as %zu bytes, allocated as %zu to %zu", end->size, least,
		       (size_t)cache->object_size);
	report(cache, slab, obj, &bug, end->caller);
}

static void check_size(struct slab_cache *cache, const struct slab *slab, void *obj,
		       size_t requested, const struct debug_end *end)
{
	/* The program may have asked for the usable size, and pass that. */
	if (end->size < requested || end->size > debug_usable_size(slab, obj))
		report_size(cache, slab, obj, end->size, requested, end->caller);
}

static void check_pair(struct slab_cache *cache, const struct slab *slab, void *obj, uint8_t pair,
		       const struct debug_end *end)
{
	struct bug_info bug;

	if (pair == end->pair)
		return;
	bug_info_begin(&bug, SLAB_PROBLEM_WRONG_PAIR, cache->name, "Freed by %s, allocated by %s",
		       frees[end->pair], allocates[pair]);
	report(cache, slab, obj, &bug, end->caller);
}

static bool names_size(const struct debug_end *end)
{
	return end->size != SLAB_ANY_SIZE;
}

void debug_check_end(struct slab_cache *cache, const struct slab *slab, void *obj,
		     const struct debug_end *end)
{
	const struct debug_object *record = record_of(slab, obj);

	if (!record || record->state != OBJECT_ALLOCATED)
		return;
	if (names_size(end) && cache_debug_flags(cache) & SLAB_CONSISTENCY_CHECKS)
		check_size(cache, slab, obj, record->requested, end);
	if (slab->debug->debug_flags & SLAB_STORE_USER && !debug_is_profiled(slab))
		check_pair(cache, slab, obj, record->pair, end);
}

void debug_check_end_of_large(const struct slab *slab, void *obj, const struct debug_end *end)
{
	const size_t size = __atomic_load_n(&slab->large, __ATOMIC_RELAXED);

	if (names_size(end) && slab_options()->harden && size && obj == slab->base &&
	    (end->size < size || end->size > os_pages(size)))
		report_size(NULL, slab, obj, end->size, size, end->caller);
}
