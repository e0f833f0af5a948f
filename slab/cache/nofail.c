/* SPDX-License-Identifier: MIT */
/* Allocations that never fail, and the handler for a process without memory. */
#include "cache/nofail.h"

#include <errno.h>
#include <slab/nofail.h>
#include <stdio.h>
#include <string.h>

#include "rseq.h"
#include "alloc/alloc.h"
#include "base/cancel.h"
#include "base/compiler.h"
#include "base/note.h"
#include "base/publish.h"
#include "core/cache.h"
#include "pages/account.h"

typedef bool (*oom_fn)(const struct slab_oom *oom, void *arg);
static struct handler_ring oom_handler;
static __thread bool in_handler;

void slab_set_oom_handler(oom_fn handler, void *arg)
{
	handler_set(&oom_handler, (handler_fn)handler, arg);
}

/* false: no object is as large, so there is nothing to try again. */
static bool is_possible(const struct need *need)
{
	size_t bytes;

	return !__builtin_mul_overflow(need->n ? need->n : 1, need->size, &bytes) &&
	       bytes <= PTRDIFF_MAX;
}

/* Why the last attempt of this thread failed. */
static const char *reason(const struct need *need)
{
	if (errno != ENOMEM)
		return strerror(errno);
	if (!is_possible(need))
		return "out of memory"; /* nothing was attempted */
	if (alloc_failure_cause() == ALLOC_FAILURE_CACHE)
		return "the cache has reached its limit";
	if (alloc_failure_cause() == ALLOC_FAILURE_PROCESS)
		return "the process has reached its limit";
	return "out of memory";
}

bool need_handler(struct need *need)
{
	struct slab_oom oom = {
		.struct_size = sizeof(oom),
		.function = need->function,
		.cache = need->cache,
		.reason = reason(need),
		.size = need->size * (need->n ? need->n : 1),
		.tries = need->tries++,
	};
	struct handler handler;
	bool again;
	int cancel;

	if (in_handler || errno != ENOMEM || !is_possible(need) ||
	    !handler_get(&oom_handler, &handler))
		return false;
	cancel = cancel_disable();
	in_handler = true;
	again = ((oom_fn)handler.fn)(&oom, handler.arg);
	in_handler = false;
	cancel_restore(cancel);
	if (again)
		errno = need->errno_before;
	return again;
}

SLAB_SLOWPATH void need_again(struct need *need)
{
	const char *why = reason(need);
	char count[32] = "";

	if (need_handler(need))
		return;
	if (need->n)
		snprintf(count, sizeof(count), "%zu x ", need->n);
	slab_fatal("%s(%s%s%s%zu bytes) failed: %s", need->function, need->cache ? need->cache : "",
		   need->cache ? ", " : "", count, need->size, why);
}

static __attribute__((noinline)) void *alloc_nofail(struct slab_cache *cache, const void *caller)
{
	struct need need = {
		.function = "slab_alloc_nofail",
		.cache = cache->name,
		.size = cache->object_size,
		.errno_before = errno,
	};
	void *obj;

	while (!(obj = slab_alloc_slow(cache, cache->object_size, caller)))
		need_again(&need);
	return obj;
}

void *slab_alloc_nofail(struct slab_cache *cache)
{
	void *obj;

	if (SLAB_LIKELY(rseq_pop(&cache->alloc_arrays, cpu_rseq_offset, &obj)))
		return obj;
	return alloc_nofail(cache, __builtin_return_address(0));
}
