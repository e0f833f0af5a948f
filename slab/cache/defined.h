/* SPDX-License-Identifier: MIT */
/* The caches of SLAB_DEFINE_CACHE() (<slab/define.h>): one for each name, however many libraries
 * define it. */
#ifndef SLAB_CACHE_DEFINED_H
#define SLAB_CACHE_DEFINED_H

#include <slab/slab.h>
#include <stdbool.h>

/* Was the cache created with these callbacks and this RCU flavour? */
bool defined_has_args(const struct slab_cache *cache, const struct slab_cache_args *args);

#endif /* SLAB_CACHE_DEFINED_H */
