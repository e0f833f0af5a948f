/* SPDX-License-Identifier: MIT */
/* Damaged bytes of an object and its surroundings. */
#ifndef SLAB_BUG_DAMAGE_H
#define SLAB_BUG_DAMAGE_H

#include <stdbool.h>

#include "bug/bug_info.h"
#include "bug/layout.h"
#include "core/cache.h"

/* Check one object. false: it was damaged; the damage is repaired and described. */
bool debug_check_object(struct slab_cache *cache, struct slab *slab, unsigned index,
			struct bug_info *bug);
/* Describe damage: what and where; and repair it. */
void damage_begin_bug_info(const struct damage *damage, const char *cache, struct bug_info *bug);
void damage_repair(const struct damage *damage, struct bug_info *bug);
/* Both, of an object. Under the lock of the slab. */
void debug_describe_damage(struct slab_cache *cache, struct slab *slab, unsigned index,
			   const struct damage *damage, struct bug_info *bug);

#endif /* SLAB_BUG_DAMAGE_H */
