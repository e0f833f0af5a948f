/* SPDX-License-Identifier: MIT */
/*
 * Bulk allocation and free.
 *
 * An allocation takes as many objects as possible from the current slab in one section. A free
 * looks for runs of objects of one slab; it pushes each run in one section, or delivers it to the
 * slab in one exchange.
 */
#include <errno.h>
#include <slab/slab.h>
#include <slab/stats.h>
#include <string.h>

#include "alloc/alloc.h"
#include "base/maintenance.h"
#include "core/node.h"
#include "percpu/refill.h"
#include "core/slab.h"
#include "core/user_pointer.h"
#include "debug/debug_cache.h"
#include "debug/guard.h"
#include "memory/limit.h"
#include "pages/account.h"
#include "pages/topology.h"
#include "registry/count_window.h"
#include "registry/gate.h"
#include "registry/reserve.h"
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

/* Allocate from the slabs that this CPU has or gets by refills. The function returns early when
 * only alloc_singly() can continue. */
static size_t alloc_from_cpu(struct slab_cache *cache, unsigned mode, size_t n, void **objs)
{
	size_t done = 0;

	while (done < n && !goes_singly(cache)) {
		size_t got = cpu_engine->pop_bulk(cache->cpu_slots, n - done, objs + done);
		int result;

		done += got;
		if (got)
			continue;
		/* The current slab is exhausted. The LIFO may be left, and may be all that a CPU
		 * without a current slab holds. */
		objs[done] = cpu_pop(cache);
		if (objs[done]) {
			done++;
			continue;
		}
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
	done = alloc_from_cpu(cache, mode, n, objs);
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
static void free_run(struct slab_cache *cache, struct slab *slab, unsigned n,
		     const uint16_t *offset8, const void *caller)
{
	for (;;) {
		int cpu = cpu_engine->cpu();
		enum cpu_result result;

		if (cpu < 0)
			break;
		result = cpu_engine->push_bulk(cache->cpu_slots, cpu, &slab->cpu, n, offset8);
		if (result == CPU_DONE)
			return;
		if (result == CPU_FULL) {
			debug_report_full(cache, slab, cpu_slab_object(&slab->cpu, offset8[0]),
					  caller);
			return;
		}
		if (result == CPU_MISS)
			break;
	}
	/* One object is not worth an exchange: it may go to the LIFO. */
	if (n == 1) {
		slab_free_from(cache, cpu_slab_object(&slab->cpu, offset8[0]), slab, caller);
		return;
	}
	cache_event(cache, cpu_engine->cpu(), SLAB_EVENT_FREE_SLOWPATH);
	slab_free_remote(cache, slab, n, offset8);
	maintenance_resume();
	maintenance_poll();
}

/* Find how many objects at the start of objs[] lie in this slab, and store their offsets. For NULL
 * and for an address below the slab, the unsigned offset is huge and ends the run. */
static unsigned find_run(const struct slab *slab, size_t n, void *const *objs, uint16_t *offset8)
{
	size_t size8 = slab->cpu.size8, span = slab_initialized(slab) * size8 * 8;
	unsigned run = 0;

	while (run < n && run < CPU_BATCH_MAX) {
		size_t offset = (size_t)((char *)objs[run] - slab->cpu.base);

		if (offset >= span)
			break;
		offset8[run] = (uint16_t)(offset / 8);
		if (cpu_slab_index(&slab->cpu, offset8[run]) * size8 * 8 != offset)
			break;
		run++;
	}
	return run;
}

void slab_free_bulk(struct slab_cache *cache, size_t n, void *const *objs)
{
	const void *caller = __builtin_return_address(0);
	uint16_t offset8[CPU_BATCH_MAX];
	size_t i = 0;

	while (i < n) {
		struct slab *slab;
		unsigned run;
		bool other;

		if (!objs[i]) {
			i++;
			continue;
		}
		slab = slab_of_user(objs[i], cache, &other);
		run = other ? 0 : find_run(slab, n - i, objs + i, offset8);
		if (run) {
			free_run(cache, slab, run, offset8, caller);
			i += run;
		} else {
			slab_free_from(cache, objs[i++], slab, caller);
		}
	}
}
