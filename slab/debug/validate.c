/* SPDX-License-Identifier: MIT */
/*
 * Validation of a cache (slab_cache_validate()).
 *
 * First all arrays and magazines are drained: an object that was twice in them, or is none, shows
 * when its bit is set. Then check.c checks each slab: with the slab's lock, one at a time.
 */
#include <slab/debug.h>

#include "base/cancel.h"
#include "base/error.h"
#include "core/shard.h"
#include "debug/debug_cache.h"
#include "percpu/closing.h"

/* Return the number of bad objects in arrays and magazines. */
static long drain(struct slab_cache *cache)
{
	struct put_bad bad;

	caches_drain(&cache, 1, &bad, NULL, NULL);
	return bad.n;
}

struct check_arg {
	struct slab_cache *cache;
	long problems;
};

static void check(struct slab *slab, void *arg)
{
	struct check_arg *check = arg;

	check->problems += debug_check(check->cache, slab);
}

long (*validate_large)(void);

long slab_cache_validate(struct slab_cache *cache)
{
	struct check_arg arg = {.cache = cache};
	long (*large)(void);
	int cancel;

	if (!cache || cache->magic != CACHE_MAGIC)
		return with_errno(-EINVAL);
	cancel = cancel_disable();
	arg.problems = drain(cache);
	cache_each_slab(cache, check, &arg);
	large = __atomic_load_n(&validate_large, __ATOMIC_ACQUIRE);
	if (cache->by_size && large)
		arg.problems += large();
	cancel_restore(cancel);
	return arg.problems;
}
