/* SPDX-License-Identifier: MIT */
/* Setting gates. The gates decide which arrays the fast path of allocations finds. */
#include "core/gate.h"

/* reserve_update_gate() needs what these functions store and the reserve's count in one total
 * order. */

void cache_arrays_set(struct slab_cache *cache, char *arrays)
{
	const unsigned gates = __atomic_load_n(&cache->gates, __ATOMIC_SEQ_CST);

	__atomic_store_n(&cache->arrays, arrays, __ATOMIC_SEQ_CST);
	__atomic_store_n(&cache->alloc_arrays, gates ? cpu_arrays_none() : arrays,
			 __ATOMIC_SEQ_CST);
}

void cache_gate_set(struct slab_cache *cache, enum cache_gate gate, bool on)
{
	unsigned gates = on ? cache->gates | gate : cache->gates & ~(unsigned)gate;

	__atomic_store_n(&cache->gates, gates, __ATOMIC_SEQ_CST);
	cache_arrays_set(cache, cache->arrays);
}
