/* SPDX-License-Identifier: MIT */
/* What CPUs and magazines hold, and whether CPUs use a cache. */
#include "core/slab.h"
#include "percpu/closing.h"

static size_t objects_in(const char *arrays)
{
	size_t n = 0;

	for (unsigned cpu = 0; cpu < cpu_possible(); cpu++)
		n += cpu_array_count(cpu_array(arrays, cpu));
	return n;
}

size_t arrays_objects(const struct slab_cache *cache)
{
	return objects_in(cache_own_arrays(cache));
}

size_t waiting_objects(const struct slab_cache *cache)
{
	return objects_in(__atomic_load_n(&cache->rcu_arrays, __ATOMIC_ACQUIRE));
}

size_t magazines_objects(const struct slab_cache *cache)
{
	size_t n = 0;

	for (unsigned i = 0; i < topology_nodes(); i++)
		n += __atomic_load_n(&cache->node[i].depot.objects, __ATOMIC_RELAXED);
	return n;
}

static uint64_t mix(uint64_t trace, uint64_t value)
{
	return (trace ^ value) * UINT64_C(0x9e3779b97f4a7c15) + 1;
}

/* The newest object, too: a thread that allocates and frees in turn leaves the count as it was. */
uint64_t cpu_use_trace(const struct slab_cache *cache, bool *ret_holds)
{
	uint64_t trace = magazines_objects(cache);

	*ret_holds = trace;
	for (unsigned cpu = 0; cpu < cpu_possible(); cpu++) {
		const struct cpu_array *array = cpu_array(cache_own_arrays(cache), cpu);
		const unsigned n = cpu_array_count(array);

		if (!n)
			continue;
		*ret_holds = true;
		trace = mix(trace, (uint64_t)cpu << 32 | n);
		trace = mix(trace, (uintptr_t)cpu_array_object(array, n - 1));
	}
	shard_each (shard, cache)
		for (unsigned event = 0; event < SLAB_EVENT_COUNT; event++)
			trace = mix(trace, __atomic_load_n(&shard->event[event], __ATOMIC_RELAXED));
	return trace;
}
