/* SPDX-License-Identifier: MIT */
/* Statistics by name: what the control socket needs besides <slab/stats.h>. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct slab_cache;
/* Is there an attribute or event with this name? */
bool attribute_is_known(const char *name);
/* The values that slab_stat_write() accepts for this name, as text for messages: "0 to 65535
 * slabs". NULL: the attribute can only be read, or does not exist. */
const char *attribute_accepted(const char *name);
/* The least value except 0 that slab_stat_write() accepts for this cache; 0: no such limit. */
uint64_t attribute_least(const struct slab_cache *cache, const char *name);
