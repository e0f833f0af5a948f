/* SPDX-License-Identifier: MIT */
/*
 * Fault injection as in the kernel's failslab: the same three numbers, for allocations of
 * pages and of objects. The library calls these functions before it allocates; if one
 * returns true, the allocation fails as if there were no memory.
 */
#pragma once

#include <stdbool.h>

#include "base/options.h"

/* fail_parse: parse the value of SLAB_FAIL or slab_set_fail(); false: invalid, and *fail is
 * unchanged. */
bool fail_parse(struct slab_fail *fail, const char *spec);

/* fail_set: replace the settings of SLAB_FAIL by these. */
void fail_set(const struct slab_fail *settings);

/* fail_pages: must this allocation of memory from the system fail? Never if the settings name
 * caches. */
bool fail_pages(void);

/* fail_concerns_pages: do the settings make some of these fail? */
bool fail_concerns_pages(void);

/*
 * fail_object: must this allocation of an object fail? `flagged`: the cache has the flag A,
 * which decides unless the settings name caches.
 */
bool fail_object(const char *cache_name, bool flagged);

/* fail_wants: do the settings name this cache? If so, it needs the flag A, which sends its
 * allocations off the fast path. */
bool fail_wants(const char *cache_name);
