/* SPDX-License-Identifier: MIT */
/* The machine: NUMA nodes. */
#ifndef SLAB_PAGES_TOPOLOGY_H
#define SLAB_PAGES_TOPOLOGY_H

#include <stdbool.h>

unsigned topology_nodes(void);
unsigned topology_node_of_cpu(int cpu);
bool topology_is_real(void); /* false: SLAB_FAKE_NODES */

#endif /* SLAB_PAGES_TOPOLOGY_H */
