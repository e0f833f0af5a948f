/* SPDX-License-Identifier: MIT */
/*
 * Bulk allocation and free.
 *
 * An allocation takes as many objects as possible from the CPU's array in one section. What is
 * missing comes from slabs straight into the caller's array. A free gives the CPU's array as many
 * objects as it has room for, in one section. Of many objects the rest goes straight to the slabs.
 */
#include <errno.h>
#include <slab/slab.h>
#include <slab/stats.h>

#include "rseq.h"
#include "alloc/alloc.h"
#include "base/maintenance.h"
#include "base/probe.h"
#include "core/count.h"
#include "core/gate.h"
#include "core/reserve.h"
#include "core/shard.h"
#include "core/slab.h"
#include "core/user_pointer.h"
#include "debug/debug_cache.h"
#include "debug/guard.h"
#include "memory/limit.h"
#include "pages/account.h"
#include "pages/topology.h"
#include "report/profile.h"

#define MODES (SLAB_ALLOC_LOCAL | SLAB_ALLOC_PARTIAL | SLAB_ALLOC_NEW | SLAB_ALLOC_FULL)

/*
 * Allocate one object at a time. Caches whose allocations take the slow path need this: those
 * with debug flags (CPUs hold nothing of them), while a sample is due, or while the reserve is
 * short. An allocation for which the thread has to make room needs it, too.
 */
static size_t alloc_singly(struct slab_cache *cache, unsigned mode, size_t n, void **objs,
			   const void *caller)
{
	size_t done = 0;

	if (!(mode & (SLAB_ALLOC_NEW | SLAB_ALLOC_FULL)))
		return 0;
	for (; done < n; done++) {
		objs[done] = slab_alloc_slow(cache, cache->object_size, caller);
		if (!objs[done])
			break;
	}
	return done;
}

static bool goes_singly(const struct slab_cache *cache)
{
	return cache_debug_flags(cache) || sample_gate_open(cache) || reserve_is_short(cache);
}

/* Where objects_take() may look; 0: nowhere. */
static unsigned places(unsigned mode)
{
	unsigned where = 0;

	if (mode & (SLAB_ALLOC_PARTIAL | SLAB_ALLOC_FULL))
		where |= TAKE_PARTIAL | TAKE_OTHERS;
	if (mode & (SLAB_ALLOC_NEW | SLAB_ALLOC_FULL))
		where |= TAKE_NEW;
	return where;
}

/* Take objects of slabs; returns their number. */
static size_t take_some(struct slab_cache *cache, unsigned where, size_t n, void **objs)
{
	const int cpu = cpu_engine->cpu();
	struct shard *shard = shard_at(cache, topology_node_of_cpu(cpu), cpu);
	const unsigned want = n < OBJECTS_MAX ? (unsigned)n : OBJECTS_MAX;
	const unsigned got = objects_take(cache, shard, want, objs, where);

	if (got < want)
		memmove(objs, objs + want - got, got * sizeof(*objs));
	return got;
}

/* Allocate from the CPU's array and from slabs. The function returns early when only alloc_singly()
 * can continue. */
static size_t alloc_many(struct slab_cache *cache, unsigned mode, size_t n, void **objs,
			 const void *caller)
{
	const unsigned where = places(mode);
	size_t done = cpu_engine->take(&cache->arrays, n, objs);
	size_t got = 1;

	if (done < n)
		SLAB_PROBE(bulk_miss, cache->name, cache, caller, n - done, mode);
	while (where && got && done < n && !goes_singly(cache)) {
		got = take_some(cache, where, n - done, objs + done);
		done += got;
	}
	count_slow(cache, done);
	return done;
}

/* The heap profile: replace the objects that are due by samples. */
static void sample_some(struct slab_cache *cache, size_t n, void **objs, const void *caller)
{
	for (size_t i = 0; i < n; i++) {
		void *sample;

		if (SLAB_LIKELY(!profile_is_due(cache->object_size)))
			continue;
		sample = debug_alloc_sampled(cache, -1, cache->object_size, caller);
		if (!sample)
			continue;
		slab_free_slow(cache, objs[i], caller);
		objs[i] = sample;
	}
}

static size_t alloc_some(struct slab_cache *cache, unsigned mode, size_t n, void **objs,
			 const void *caller)
{
	size_t done = 0;

	alloc_failure_clear();
	if (!goes_singly(cache))
		done = alloc_many(cache, mode, n, objs, caller);
	if (cache_gate_has(cache, GATE_PROFILE))
		sample_some(cache, done, objs, caller);
	if (done < n && (mode & SLAB_ALLOC_FULL || goes_singly(cache)))
		done += alloc_singly(cache, mode, n - done, objs + done, caller);
	else if (done < n && mode & SLAB_ALLOC_NEW)
		limit_failed(cache, cache_least_bytes(cache));
	return done;
}

size_t slab_alloc_bulk(struct slab_cache *cache, unsigned mode, size_t n, void **objs)
{
	const void *caller = __builtin_return_address(0);
	size_t done;
	int saved = errno;

	if (!alloc_is_cache(cache, caller))
		return 0;
	if (!mode || mode & ~MODES) {
		errno = EINVAL;
		return 0;
	}
	done = alloc_some(cache, mode, n, objs, caller);
	if (done == n)
		errno = saved;
	if (cache->flags & SLAB_ZERO)
		for (size_t i = 0; i < done; i++)
			memset(objs[i], 0, cache->object_size);
	return done;
}

/* --- free ------------------------------------------------------------------------------------ */

/* The most objects that go to slabs in one step. */
#define PIECE 128u
/* Fewer objects make room in the CPU's array instead, so that magazines get them. */
#define PIECE_LEAST 32u

/* The number of objects at the start of objs[] that the CPU's array may hold: of untagged slabs of
 * this cache, on this CPU's node. An object that stands there twice in a row ends them: a push of
 * the second finds out. */
static size_t count_run(const struct slab_cache *cache, size_t n, void *const *objs)
{
	const int cpu = topology_node_count == 1 ? 0 : cpu_engine->cpu();
	const void *before = NULL;
	size_t run = 0;

	while (run < n && objs[run] && objs[run] != before && slab_has_user(objs[run], cache) &&
	       slab_is_near(objs[run], cpu))
		before = objs[run++];
	return run;
}

static void free_to_slabs(struct slab_cache *cache, unsigned n, void *const *objs,
			  const void *caller)
{
	void *piece[PIECE + 1];

	memcpy(piece, objs, n * sizeof(*objs));
	cache_event(cache, cpu_engine->cpu(), SLAB_EVENT_FREE_SLOWPATH);
	objects_free(cache, n, piece, caller);
	maintenance_resume();
	maintenance_poll();
}

/* Free objects of a run; returns their number, 1 at least. */
static size_t free_some(struct slab_cache *cache, size_t run, void *const *objs, const void *caller)
{
	size_t done = 1;

	/* The first one alone: that finds a double free, and makes room if there is none. */
	if (!slab_push(cache, objs[0]))
		slab_free_slow(cache, objs[0], caller);
	done += cpu_engine->put(&cache->arrays, run - done, objs + done);
	while (run - done >= PIECE_LEAST) {
		const unsigned n = run - done < PIECE ? (unsigned)(run - done) : PIECE;

		free_to_slabs(cache, n, objs + done, caller);
		done += n;
	}
	return done;
}

void slab_free_bulk(struct slab_cache *cache, size_t n, void *const *objs)
{
	const void *caller = __builtin_return_address(0);
	size_t i = 0;

	while (i < n) {
		const size_t run = count_run(cache, n - i, objs + i);

		if (run)
			i += free_some(cache, run, objs + i, caller);
		else
			slab_free_slow(cache, objs[i++], caller);
	}
}
