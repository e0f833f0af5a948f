/* SPDX-License-Identifier: MIT */
/* The caches of this library, at most SLAB_389DS_CACHES. They are never destroyed. */
#ifndef PRELOAD_CACHES_H
#define PRELOAD_CACHES_H

#include <slab/slab.h>

#include "names.h"

/* The cache of this name and size, perhaps a new one. NULL: there are as many as allowed, or it
 * cannot be created. */
struct slab_cache *caches_get(const struct cache_name *name);

/* For the summary: the i-th cache's name; NULL: there are no more. */
const char *caches_name(unsigned i, bool *is_type);

#endif /* PRELOAD_CACHES_H */
