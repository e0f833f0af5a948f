/* SPDX-License-Identifier: MIT */
/* The machine: NUMA nodes. */
#ifndef SLAB_PAGES_TOPOLOGY_H
#define SLAB_PAGES_TOPOLOGY_H

#include <stdbool.h>
#include <stdint.h>

unsigned topology_nodes(void);
/* What that returns, once it was called. */
extern unsigned topology_node_count __attribute__((visibility("hidden")));

#define TOPOLOGY_CPUS_MAX 8192
extern uint8_t topology_cpu_node[TOPOLOGY_CPUS_MAX] __attribute__((visibility("hidden")));

static inline unsigned topology_node_of_cpu(int cpu)
{
	return (unsigned)cpu < TOPOLOGY_CPUS_MAX ? topology_cpu_node[cpu] : 0;
}

bool topology_is_real(void); /* false: SLAB_FAKE_NODES */

#endif /* SLAB_PAGES_TOPOLOGY_H */
