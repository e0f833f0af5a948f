/* SPDX-License-Identifier: MIT */
/* Setting gates. The gates decide which slots the fast path of allocations finds. */
#include "core/gate.h"

#include <errno.h>

#include "base/fail.h"

/* reserve_update_gate() needs the gates and the reserve's count in one total order. */
void cache_gate_set(struct slab_cache *cache, enum cache_gate gate, bool on)
{
	unsigned gates = on ? cache->gates | gate : cache->gates & ~(unsigned)gate;

	__atomic_store_n(&cache->gates, gates, __ATOMIC_SEQ_CST);
	__atomic_store_n(&cache->slots, gates ? cpu_slots_none() : cache->cpu_slots,
			 __ATOMIC_RELEASE);
	__atomic_store_n(&cache->lifos, gates ? cpu_slots_none() : cache->cpu_lifos,
			 __ATOMIC_RELEASE);
}

char *slots_create(void)
{
	if (!fail_pages())
		return cpu_slots_create();
	errno = ENOMEM;
	return NULL;
}
