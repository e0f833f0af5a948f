/* SPDX-License-Identifier: MIT */
/*
 * Checking debug slabs: counts, freelist, and every byte that must hold a value.
 *
 * A check stops at the first thing that is wrong, puts it right as SLUB does,
 * and gives up the lock for the report; then it goes on from there. `at` says
 * where: 0 the slab itself, 1 its freelist, 2 their count, then the objects.
 */
#include <pthread.h>
#include <slab/debug.h>
#include <slab/slab.h>

#include "core/debug_record.h"
#include "core/slab.h"
#include "debug/bug_info.h"
#include "debug/debug_cache.h"
#include "debug/guard.h"
#include "debug/layout.h"

enum { AT_SLAB, AT_FREELIST, AT_COUNT, AT_OBJECTS };

void damage_begin_finding(const struct damage *damage, const char *cache, struct finding *finding)
{
	finding_begin(finding, damage->region.problem, cache, "%s overwritten",
		      damage->region.what);
	finding_damage(finding, damage->first, damage->last, damage_expected(damage));
}

void damage_repair(const struct damage *damage, struct finding *finding)
{
	if (damage->region.copy)
		finding_fix(finding, "Restoring %s %p-%p", damage->region.what,
			    (void *)damage->first, (void *)damage->last);
	else
		finding_fix(finding, "Restoring %s %p-%p=0x%x", damage->region.what,
			    (void *)damage->first, (void *)damage->last, damage->region.value);
	debug_restore(damage);
}

void debug_describe_damage(struct slab_cache *cache, struct slab *slab, unsigned index,
			   const struct damage *damage, struct finding *finding)
{
	damage_begin_finding(damage, cache->name, finding);
	finding_slab(finding, slab);
	finding_object(finding, slab, index);
	damage_repair(damage, finding);
}

bool debug_check_object(struct slab_cache *cache, struct slab *slab, unsigned index,
			struct finding *finding)
{
	struct damage damage;

	if (!debug_find_damage(slab, index, &damage))
		return true;
	debug_describe_damage(cache, slab, index, &damage, finding);
	return false;
}

static void describe_count(const struct slab *slab, struct finding *finding, const char *fix)
{
	finding_slab(finding, slab);
	finding_fix(finding, "%s", fix);
}

/* The descriptor, and the memory behind the last object. */
static bool check_slab(struct slab_cache *cache, struct slab *slab, struct finding *finding)
{
	unsigned max = (unsigned)(slab_bytes(slab) / slab_size(slab));
	struct damage damage;

	if (slab->objects != max) {
		finding_begin(finding, SLAB_PROBLEM_COUNT, cache->name,
			      "Wrong number of objects. Found %u but should be %u", slab->objects,
			      max);
		describe_count(slab, finding, "Number of objects adjusted");
		__atomic_store_n(&slab->objects, (uint16_t)max, __ATOMIC_RELAXED);
		return false;
	}
	if (slab->carved > max || slab->debug->used > max) {
		finding_begin(finding, SLAB_PROBLEM_COUNT, cache->name, "inuse %u > max %u",
			      slab->carved > max ? slab->carved : slab->debug->used, max);
		describe_count(slab, finding, "Object count adjusted");
		if (slab->carved > max)
			slab_set_carved(slab, max);
		if (slab->debug->used > max)
			debug_set_used(slab, slab->carved);
		return false;
	}
	if (!debug_find_slab_damage(slab, &damage))
		return true;
	damage_begin_finding(&damage, cache->name, finding);
	finding_slab(finding, slab);
	damage_repair(&damage, finding);
	return false;
}

/*
 * Follow the freelist: how many objects it has. -1: it led to something that is
 * no free object, or in circles; *ret_last is the last good one, or -1.
 */
static int count_freelist(const struct slab *slab, int *ret_last)
{
	unsigned next = slab->debug->first;
	int n = 0;

	*ret_last = -1;
	while (next) {
		unsigned index = next - 1;

		if (index >= slab->carved || n >= slab->carved ||
		    debug_record(slab, index)->state != OBJECT_FREE)
			return -1;
		*ret_last = (int)index;
		next = debug_record(slab, index)->next;
		n++;
	}
	return n;
}

static bool check_freelist(struct slab_cache *cache, struct slab *slab, struct finding *finding)
{
	struct slab_debug *debug = slab->debug;
	int last;

	if (count_freelist(slab, &last) >= 0) {
		debug->last = (uint16_t)(last + 1);
		return true;
	}
	finding_begin(finding, SLAB_PROBLEM_FREELIST, cache->name,
		      last < 0 ? "Freepointer corrupt" : "Freechain corrupt");
	finding_slab(finding, slab);
	if (last >= 0) {
		finding_object(finding, slab, (unsigned)last);
		debug_record(slab, (unsigned)last)->next = 0;
		debug->last = (uint16_t)(last + 1);
		return false;
	}
	debug->first = debug->last = 0;
	debug_set_used(slab, slab->carved);
	finding_fix(finding, "Freelist cleared");
	return false;
}

static bool check_count(struct slab_cache *cache, struct slab *slab, struct finding *finding)
{
	int last, counted = slab->carved - count_freelist(slab, &last);

	if (slab->debug->used == (unsigned)counted)
		return true;
	finding_begin(finding, SLAB_PROBLEM_COUNT, cache->name,
		      "Wrong object count. Counter is %u but counted were %d", slab->debug->used,
		      counted);
	describe_count(slab, finding, "Object count adjusted");
	debug_set_used(slab, (unsigned)counted);
	return false;
}

/* The next thing that is wrong: put right and described. false: nothing more. */
static bool check_next(struct slab_cache *cache, struct slab *slab, unsigned *at,
		       struct finding *finding)
{
	for (; *at < (unsigned)AT_OBJECTS + slab->carved; ++*at) {
		bool good;

		if (*at == AT_SLAB)
			good = check_slab(cache, slab, finding);
		else if (*at >= AT_OBJECTS)
			good = debug_check_object(cache, slab, *at - AT_OBJECTS, finding);
		else if (slab->debug->disabled)
			good = true;
		else if (*at == AT_FREELIST)
			good = check_freelist(cache, slab, finding);
		else
			good = check_count(cache, slab, finding);
		if (!good)
			return true;
	}
	return false;
}

/* A slab that drains has nothing but the states of its objects. */
static bool check_drained(struct slab_cache *cache, struct slab *slab, struct finding *finding)
{
	unsigned counted = 0;

	drain_collect(slab);
	for (unsigned i = 0; i < slab->carved; i++)
		counted += debug_is_allocated(slab, i);
	if (slab->drained == counted)
		return false;
	finding_begin(finding, SLAB_PROBLEM_COUNT, cache->name,
		      "Wrong object count. Counter is %u but counted were %u", slab->drained,
		      counted);
	describe_count(slab, finding, "Object count adjusted");
	__atomic_store_n(&slab->drained, counted, __ATOMIC_RELAXED);
	return true;
}

static bool check_step(struct slab_cache *cache, struct slab *slab, unsigned *at,
		       struct finding *finding)
{
	struct cache_node *node = &cache->node[slab->node];
	bool found = false;

	pthread_mutex_lock(&node->lock);
	/* It may have gone back, or changed its kind. */
	if (slab_user(slab) == cache && slab_is_tagged(slab, SLAB_TAG_DEBUG)) {
		found = slab_drains(slab) ? check_drained(cache, slab, finding)
					  : check_next(cache, slab, at, finding);
		if (found && slab->debug && slab->debug->used)
			debug_slab_place(cache, slab);
	}
	pthread_mutex_unlock(&node->lock);
	return found;
}

void debug_check_leaving(struct slab_cache *cache, struct slab *slab)
{
	struct finding finding;

	for (unsigned i = 0; i < slab->carved; i++) {
		if (debug_record(slab, i)->state != OBJECT_FREE ||
		    debug_check_object(cache, slab, i, &finding))
			continue;
		/* The slab does not lead to its cache any more. */
		finding.letters |= cache_letters(cache) & (SLAB_CONSISTENCY_CHECKS | SLAB_TRACE);
		finding_detected(&finding, NULL);
		debug_report(cache, &finding);
	}
}

long debug_check(struct slab_cache *cache, struct slab *slab)
{
	struct finding finding;
	unsigned at = AT_SLAB;
	long problems = 0;

	if (debug_is_guarded(slab))
		return guard_check(cache, slab);
	while (check_step(cache, slab, &at, &finding)) {
		finding_detected(&finding, NULL);
		debug_report(cache, &finding);
		problems++;
	}
	return problems;
}
