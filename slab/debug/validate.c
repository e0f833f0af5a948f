/* SPDX-License-Identifier: MIT */
/*
 * Validation of a cache (slab_cache_validate()).
 *
 * Slabs without debug flags are isolated for the check: the thread revokes the slabs of CPUs,
 * and takes listed slabs off their node's list, a few at a time (isolated.h). Each freelist must
 * contain each free object once and nothing else. Full slabs have no freelist to check.
 * Validations are numbered, and a slab has the number of the last validation that checked it. A
 * validation skips slabs that a later one, running at the same time, has checked. check.c checks
 * debug slabs.
 */
#include <errno.h>
#include <pthread.h>
#include <slab/debug.h>
#include <string.h>

#include "base/cancel.h"
#include "base/error.h"
#include "core/free_map.h"
#include "core/isolated.h"
#include "core/node.h"
#include "percpu/refill.h"
#include "core/slab.h"
#include "debug/bug_info.h"
#include "debug/debug_cache.h"
#include "pages/topology.h"

/* Drop a damaged freelist: its objects are never allocated again. */
static void isolate(struct slab *slab)
{
	cpu_slab_init(&slab->cpu, slab->cpu.base, slab_size(slab), slab->objects, slab->cpu.user);
	slab_set_initialized(slab, slab->objects);
}

static void report_slab(struct slab_cache *cache, struct slab *slab, long bad)
{
	struct bug_info bug;

	bug_info_begin(&bug, SLAB_PROBLEM_FREELIST, cache->name, "Freechain corrupt");
	bug_info_slab(&bug, slab);
	bug_info_note(&bug, "%ld of its entries lead to no object, or to one twice", bad);
	bug_info_fix(&bug, "Isolate corrupted freechain");
	debug_report(cache, &bug);
}

/* The number of wrong freelist entries of an isolated slab without debug flags. */
static long bad_entries(struct slab *slab)
{
	unsigned count = cpu_slab_free_count(&slab->cpu);
	long bad = count;

	if (count > slab->initialized || slab->initialized > slab->objects)
		return bad ? bad : 1;
	bad = slab_map_free(slab, free_map_lock());
	free_map_unlock();
	return bad;
}

/* The check of one node's slabs without debug flags. */
struct check_node {
	struct slab_cache *cache;
	unsigned node;
	uint64_t number;  /* of this validation */
	struct slab *bad; /* damaged slabs: isolated until they are reported */
};

static bool is_unvalidated(struct slab *slab, void *arg)
{
	const struct check_node *check = arg;

	if (slab->validated_seq >= check->number)
		return false;
	slab->validated_seq = check->number;
	return true;
}

static void look(struct slab *isolated, void *arg)
{
	struct check_node *check = arg;
	struct slab *good = NULL, **end = &good, *next;

	for (; isolated; isolated = next) {
		next = isolated->next;
		slab_collect(isolated);
		if (bad_entries(isolated)) {
			isolated->next = check->bad;
			check->bad = isolated;
			continue;
		}
		isolated->next = NULL;
		*end = isolated;
		end = &isolated->next;
	}
	node_put_last(check->cache, check->node, good);
}

static long check_node(struct slab_cache *cache, unsigned n)
{
	static uint64_t last;
	struct check_node check = {
		.cache = cache,
		.node = n,
		.number = __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED),
	};
	long problems = 0;

	list_walk(&(struct list_walk){.cache = cache,
				      .node = n,
				      .sparse = true,
				      .wants = is_unvalidated,
				      .look = look,
				      .arg = &check});
	for (struct slab *slab = check.bad; slab; slab = slab->next, problems++) {
		report_slab(cache, slab, bad_entries(slab));
		isolate(slab);
	}
	slab_put_back(cache, check.bad);
	return problems;
}

struct check_arg {
	struct slab_cache *cache;
	long problems;
};

static void check_tagged(struct slab *slab, void *arg)
{
	struct check_arg *check = arg;

	if (slab_is_tagged(slab, SLAB_TAG_DEBUG))
		check->problems += debug_check(check->cache, slab);
}

/* Does the count of a node's partial list equal the number of slabs on it? */
static long check_counts(struct slab_cache *cache, unsigned n)
{
	struct bug_info bug;
	unsigned partial, counter;

	if (node_check_count(cache, n, &partial, &counter))
		return 0;
	bug_info_begin(&bug, SLAB_PROBLEM_COUNT, cache->name,
		       "%u partial slabs counted but counter=%u", partial, counter);
	bug_info_fix(&bug, "Counter of node %u adjusted", n);
	debug_report(cache, &bug);
	return 1;
}

long (*validate_large)(void);

long slab_cache_validate(struct slab_cache *cache)
{
	struct check_arg check = {.cache = cache};
	long (*large)(void);
	int cancel;

	if (!cache || cache->magic != CACHE_MAGIC)
		return with_errno(-EINVAL);
	cancel = cancel_disable();
	cache_flush(cache);
	for (unsigned n = 0; n < topology_nodes(); n++)
		check.problems += check_node(cache, n) + check_counts(cache, n);
	cache_each_slab(cache, check_tagged, &check);
	large = __atomic_load_n(&validate_large, __ATOMIC_ACQUIRE);
	if (cache->by_size && large)
		check.problems += large();
	cancel_restore(cancel);
	return check.problems;
}
