/* SPDX-License-Identifier: MIT */
/* Describing damaged bytes, and restoring them as SLUB does. */
#include <slab/debug.h>
#include <slab/slab.h>

#include "debug/bug_info.h"
#include "debug/damage.h"
#include "debug/layout.h"

void damage_begin_bug_info(const struct damage *damage, const char *cache, struct bug_info *bug)
{
	bug_info_begin(bug, damage->region.problem, cache, "%s overwritten", damage->region.what);
	bug_info_damage(bug, damage->first, damage->last, damage_expected(damage));
}

void damage_repair(const struct damage *damage, struct bug_info *bug)
{
	if (damage->region.copy)
		bug_info_fix(bug, "Restoring %s %p-%p", damage->region.what, (void *)damage->first,
			     (void *)damage->last);
	else
		bug_info_fix(bug, "Restoring %s %p-%p=0x%x", damage->region.what,
			     (void *)damage->first, (void *)damage->last, damage->region.value);
	debug_restore(damage);
}

/* Guarded objects stand at this end from now on: the next such write faults. */
static void remember_end(struct slab_cache *cache, const struct damage *damage)
{
	const bool left = damage->region.problem == SLAB_PROBLEM_LEFT_REDZONE;

	if (left || damage->region.problem == SLAB_PROBLEM_RIGHT_REDZONE ||
	    damage->region.problem == SLAB_PROBLEM_MALLOC_REDZONE)
		__atomic_store_n(&cache->sample.damaged_end, left ? GUARD_LEFT : GUARD_RIGHT,
				 __ATOMIC_RELAXED);
}

void debug_describe_damage(struct slab_cache *cache, struct slab *slab, unsigned index,
			   const struct damage *damage, struct bug_info *bug)
{
	damage_begin_bug_info(damage, cache->name, bug);
	bug_info_slab(bug, slab);
	bug_info_object(bug, slab, index);
	damage_repair(damage, bug);
	remember_end(cache, damage);
}

bool debug_check_object(struct slab_cache *cache, struct slab *slab, unsigned index,
			struct bug_info *bug)
{
	struct damage damage;

	if (!debug_find_damage(slab, index, &damage))
		return true;
	debug_describe_damage(cache, slab, index, &damage, bug);
	return false;
}
