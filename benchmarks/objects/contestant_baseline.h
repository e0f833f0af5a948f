/* SPDX-License-Identifier: MIT */
/*
 * A cache of another design (benchmarks/baselines): BASELINE is the prefix of its functions.
 */
#pragma once

#include <baseline.h>

#include "bench.h"

#define CONTESTANT_HAS_BULK true
#define CONTESTANT_HAS_MEMORY true

#define BASELINE_JOIN_(prefix, name) prefix##_##name
#define BASELINE_JOIN(prefix, name) BASELINE_JOIN_(prefix, name)
#define BASELINE_CALL(name) BASELINE_JOIN(BASELINE, name)

static struct BASELINE_CALL(cache) * contestant_cache;

#define OBJ_ALLOC() BASELINE_CALL(alloc)(contestant_cache)
#define OBJ_FREE(obj) BASELINE_CALL(free)(contestant_cache, (obj))
#define OBJ_ALLOC_BULK(n, objs) BASELINE_CALL(alloc_bulk)(contestant_cache, (n), (objs))
#define OBJ_FREE_BULK(n, objs) BASELINE_CALL(free_bulk)(contestant_cache, (n), (objs))

static const char *contestant_open(size_t size)
{
	static char why[64];

	contestant_cache = BASELINE_CALL(create)(size);
	if (contestant_cache)
		return NULL;
	snprintf(why, sizeof(why), "no cache of %zu bytes", size);
	return why;
}

static const char *contestant_allocator(void)
{
	return BASELINE_TITLE " of benchmarks/baselines";
}
