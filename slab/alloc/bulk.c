/* SPDX-License-Identifier: MIT */
/*
 * Bulk allocation and free.
 *
 * An allocation takes as many objects as possible from the LIFO in one section, and then from the
 * current slab. A free gives the LIFO as many objects as it has room for, in one section. It looks for
 * runs of one slab among the others; it pushes each run in one section, or delivers it to the slab in
 * one exchange.
 */
#include <errno.h>
#include <slab/slab.h>
#include <slab/stats.h>
#include <string.h>

#include "rseq.h"
#include "alloc/alloc.h"
#include "base/maintenance.h"
#include "base/probe.h"
#include "core/node.h"
#include "pages/idle.h"
#include "percpu/lifo_length.h"
#include "percpu/refill.h"
#include "core/slab.h"
#include "core/user_pointer.h"
#include "debug/debug_cache.h"
#include "debug/guard.h"
#include "memory/limit.h"
#include "pages/account.h"
#include "pages/topology.h"
#include "core/count.h"
#include "core/gate.h"
#include "core/reserve.h"
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
		objs[done] = slab_alloc_requested(cache, cache->object_size, caller);
		if (!objs[done])
			break;
	}
	return done;
}

static bool goes_singly(const struct slab_cache *cache)
{
	return cache_debug_flags(cache) || sample_gate_open(cache) || reserve_is_short(cache);
}

/* Take objects of the CPU's LIFO, which may be all that a CPU without a current slab holds. */
static size_t take_held(struct slab_cache *cache, size_t n, void **objs)
{
	const int cpu = cpu_rseq_number(); /* < 0 also with the engines that have no LIFO */
	size_t held;

	if (cpu < 0)
		return 0;
	held = __atomic_load_n(&cpu_lifo(cache->cpu_lifos, cpu)->count, __ATOMIC_RELAXED);
	if (held > n)
		held = n;
	if (!held || cpu_engine->lifo_take(cache->cpu_slots, cpu, held, objs) != CPU_DONE)
		return 0;
	return held;
}

/* Allocate from the LIFO and from the slabs that this CPU has or gets by refills. The function returns
 * early when only alloc_singly() can continue. */
static size_t alloc_from_cpu(struct slab_cache *cache, unsigned mode, size_t n, void **objs,
			     const void *caller)
{
	size_t done = 0;

	while (done < n && !goes_singly(cache)) {
		size_t got = take_held(cache, n - done, objs + done);
		int result;

		if (!got)
			got = cpu_engine->pop_bulk(cache->cpu_slots, n - done, objs + done);
		done += got;
		if (got)
			continue;
		SLAB_PROBE(bulk_miss, cache->name, cache, caller, n - done, mode);
		result = cache_refill(cache, mode);
		if (result == REFILL_NO_CPU && mode & (SLAB_ALLOC_NEW | SLAB_ALLOC_FULL)) {
			objs[done] =
				node_alloc(cache, topology_node_of_cpu(cpu_engine->cpu()), false);
			if (!objs[done])
				break;
			done++;
		} else if (result != REFILL_OK) {
			break;
		}
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
		slab_free_from(cache, objs[i], slab_of(objs[i]), caller);
		objs[i] = sample;
	}
}

static size_t alloc_some(struct slab_cache *cache, unsigned mode, size_t n, void **objs,
			 const void *caller)
{
	size_t done;

	alloc_failure_clear();
	done = alloc_from_cpu(cache, mode, n, objs, caller);
	if (cache_gate_has(cache, GATE_PROFILE))
		sample_some(cache, done, objs, caller);
	if (done < n && (mode & SLAB_ALLOC_FULL || goes_singly(cache)))
		done += alloc_singly(cache, mode, n - done, objs + done, caller);
	else if (done < n && mode & SLAB_ALLOC_NEW)
		limit_failed(cache);
	return done;
}

size_t slab_alloc_bulk(struct slab_cache *cache, unsigned mode, size_t n, void **objs)
{
	const void *caller = __builtin_return_address(0);
	size_t done;
	int saved = errno;

	if (!mode || mode & ~MODES || cache->magic != CACHE_MAGIC) {
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

/* Free a run of objects of one slab. */
static void free_run(struct slab_cache *cache, struct slab *slab, unsigned n, void *const *objs,
		     const void *caller)
{
	uint16_t offset8[CPU_BATCH_MAX];

	for (unsigned i = 0; i < n; i++)
		offset8[i] = cpu_slab_offset8(&slab->cpu, objs[i]);
	for (;;) {
		int cpu = cpu_engine->cpu();
		enum cpu_result result;

		if (cpu < 0)
			break;
		result = cpu_engine->push_bulk(cache->cpu_slots, cpu, &slab->cpu, n, offset8);
		if (result == CPU_DONE)
			return;
		if (result == CPU_FULL) {
			debug_report_full(cache, slab, objs[0], caller);
			return;
		}
		if (result == CPU_MISS)
			break;
	}
	SLAB_PROBE(free_slow, cache->name, cache, caller, objs[0], cpu_rseq_number());
	cache_event(cache, cpu_engine->cpu(), SLAB_EVENT_FREE_SLOWPATH);
	slab_free_remote(cache, slab, n, offset8);
	maintenance_resume();
	maintenance_poll();
}

/* The number of pointers at the start of objs[] that are objects of this slab. It ends before a pointer
 * that stands there twice in a row: the second is a double free, which a push of its own finds. */
static size_t count_run(const struct slab *slab, size_t n, void *const *objs)
{
	const uint64_t reciprocal = slab->cpu.reciprocal;
	const size_t span8 = (size_t)slab_initialized(slab) * slab->cpu.size8;
	size_t run = 0;

	for (const char *before = NULL; run < n && objs[run] != before; before = objs[run++]) {
		const size_t offset = (size_t)((const char *)objs[run] - slab->cpu.base);
		const uint64_t offset8 =
			offset >> 3 | offset << 61; /* huge if there is a remainder */

		if (offset8 >= span8 || (uint32_t)(offset8 * reciprocal) >= reciprocal)
			break;
	}
	return run;
}

/* The number of objects at the start of objs[] that the LIFO may hold: of slabs without debug flags
 * of this cache, on this CPU's node. */
static size_t count_holdable(struct slab_cache *cache, int cpu, size_t n, void *const *objs)
{
	size_t done = 0, run = 1;

	while (done < n && objs[done] && run) {
		bool other;
		const struct slab *slab = slab_of_user(objs[done], cache, &other);

		if (other || !slab_is_near(slab, cpu))
			break;
		run = count_run(slab, n - done, objs + done);
		done += run;
		if (done < n && run && objs[done] == objs[done - 1])
			break;
	}
	return done;
}

/* Free objects at the start of objs[] into the LIFO. Returns their number; 0: the LIFO is full, or
 * may not hold the first one. */
static size_t hold_some(struct slab_cache *cache, size_t n, void *const *objs, const void *caller)
{
	const int cpu = cpu_rseq_number(); /* < 0 also with the engines that have no LIFO */
	const uint64_t max = lifo_length(cache);
	uint64_t count;

	if (cpu < 0)
		return 0;
	count = __atomic_load_n(&cpu_lifo(cache->cpu_lifos, cpu)->count, __ATOMIC_RELAXED);
	if (count >= max)
		return 0;
	n = count_holdable(cache, cpu, n < max - count ? n : max - count, objs);
	if (!n)
		return 0;
	switch (cpu_engine->lifo_push_bulk(cache->cpu_slots, cpu, n, objs, max)) {
	case CPU_DONE:
		idle_begin(cpu);
		return n;
	case CPU_DOUBLE:
		debug_report_double_free(cache, slab_of(objs[0]), objs[0], caller);
		return 1;
	default:
		return 0;
	}
}

void slab_free_bulk(struct slab_cache *cache, size_t n, void *const *objs)
{
	const void *caller = __builtin_return_address(0);
	size_t i = 0;

	while (i < n) {
		size_t held = hold_some(cache, n - i, objs + i, caller);
		struct slab *slab;
		size_t run;
		bool other;

		if (held || !objs[i]) {
			i += held ? held : 1;
			continue;
		}
		slab = slab_of_user(objs[i], cache, &other);
		run = n - i < CPU_BATCH_MAX ? n - i : CPU_BATCH_MAX;
		run = other ? 0 : count_run(slab, run, objs + i);
		if (run > 1) { /* one object is not worth an exchange: a magazine may take it */
			free_run(cache, slab, (unsigned)run, objs + i, caller);
			i += run;
		} else {
			slab_free_from(cache, objs[i++], slab, caller);
		}
	}
}
