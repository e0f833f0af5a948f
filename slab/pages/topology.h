/* SPDX-License-Identifier: MIT */
/* NUMA nodes of the machine, or the simulated ones of SLAB_FAKE_NODES. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

unsigned topology_nodes(void);
/* The result of topology_nodes(); 0 before its first call. */
extern unsigned topology_node_count __attribute__((visibility("hidden")));

#define TOPOLOGY_CPUS_MAX 8192
extern uint8_t topology_cpu_node[TOPOLOGY_CPUS_MAX] __attribute__((visibility("hidden")));

/* For a caller that knows that there are several nodes. */
static inline unsigned topology_table_node(int cpu)
{
	return (unsigned)cpu < TOPOLOGY_CPUS_MAX ? topology_cpu_node[cpu] : 0;
}

/* With one node the table is never read, so it takes no memory. */
static inline unsigned topology_node_of_cpu(int cpu)
{
	return topology_node_count == 1 ? 0 : topology_table_node(cpu);
}

bool topology_is_real(void); /* false: SLAB_FAKE_NODES simulates nodes */
