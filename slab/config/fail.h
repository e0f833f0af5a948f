/* SPDX-License-Identifier: MIT */
/*
 * Fault injection, after the kernel's failslab: the same three numbers, for
 * pages and for objects. The rest of the library calls this before it allocates,
 * and then fails as if there were no memory.
 */
#ifndef SLAB_CONFIG_FAIL_H
#define SLAB_CONFIG_FAIL_H

#include <stdbool.h>

#include "config/options.h"

/* fail_parse: the value of SLAB_FAIL and slab_set_fail(); false: not good, and
 * *fail is untouched. */
bool fail_parse(struct slab_fail *fail, const char *spec);

/* fail_set: these settings from now on, in place of SLAB_FAIL's. */
void fail_set(const struct slab_fail *settings);

/* fail_pages: whether this allocation of memory from the system is to fail.
 * Never, once caches are named. */
bool fail_pages(void);

/*
 * fail_object: whether this allocation of an object is to fail. `flagged`: the
 * cache has the flag A, which decides unless caches are named.
 */
bool fail_object(const char *cache_name, bool flagged);

/* fail_wants: caches are named, and this is one of them: it needs the flag A,
 * which sends its allocations off the fast path. */
bool fail_wants(const char *cache_name);

#endif /* SLAB_CONFIG_FAIL_H */
