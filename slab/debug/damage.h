/* SPDX-License-Identifier: MIT */
/* Damage: bytes of an object's place in a debug slab that changed and should not have. */
#pragma once

#include <stdbool.h>

#include "core/cache.h"
#include "debug/bug_info.h"
#include "debug/layout.h"

/* Check one object. false: it was damaged, and the function has described and repaired the
 * damage. */
bool debug_check_object(struct slab_cache *cache, struct slab *slab, unsigned index,
			struct bug_info *bug);
/* Describe damage; repair it. */
void damage_begin_bug_info(const struct damage *damage, const char *cache, struct bug_info *bug);
void damage_repair(const struct damage *damage, struct bug_info *bug);
/* Describe and repair damage of an object. The caller holds the slab's lock. */
void debug_describe_damage(struct slab_cache *cache, struct slab *slab, unsigned index,
			   const struct damage *damage, struct bug_info *bug);
