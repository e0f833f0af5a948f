/* SPDX-License-Identifier: MIT */
/* Do CPUs use a cache? */
#include "percpu/magazines.h"
#include "percpu/refill.h"
#include "core/slab.h"

static uint64_t mix(uint64_t trace, uint64_t value)
{
	return (trace ^ value) * UINT64_C(0x9e3779b97f4a7c15) + 1;
}

/* The newest object, too: a thread that allocates and frees in turn leaves the count as it was. */
static uint64_t mix_lifo(uint64_t trace, const struct cpu_lifo *lifo)
{
	const uint64_t n = __atomic_load_n(&lifo->count, __ATOMIC_RELAXED);

	trace = mix(trace, n);
	return n ? mix(trace, (uintptr_t)__atomic_load_n(&lifo->obj[n - 1], __ATOMIC_RELAXED))
		 : trace;
}

uint64_t cpu_use_trace(const struct slab_cache *cache, bool *ret_holds)
{
	uint64_t trace = magazine_objects(cache);

	*ret_holds = trace || cache_has_taken(cache);
	for (unsigned cpu = 0; cpu < cpu_possible(); cpu++) {
		const struct cpu_slot *slot = cpu_slot(cache->cpu_slots, cpu);
		const struct cpu_slab *current;

		if (!cpu_holds(cache, cpu))
			continue;
		*ret_holds = true;
		current = __atomic_load_n(&slot->current, __ATOMIC_RELAXED);
		trace = mix(trace, cpu);
		trace = mix_lifo(trace, cpu_lifo(cache->cpu_lifos, cpu));
		trace = mix(trace, (uintptr_t)current);
		trace = mix(trace, current ? cpu_slab_free_count(current) : 0);
		trace = mix(trace, __atomic_load_n(&slot->partial, __ATOMIC_RELAXED));
		trace = mix(trace, __atomic_load_n(&slot->remote_batch, __ATOMIC_RELAXED));
		for (unsigned event = 0; event < CPU_EVENTS; event++)
			trace = mix(trace, __atomic_load_n(&slot->event[event], __ATOMIC_RELAXED));
	}
	return trace;
}
