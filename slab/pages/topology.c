/* SPDX-License-Identifier: MIT */
/*
 * NUMA nodes: how many there are, and the node of each CPU. A process that gets memory of node 0
 * alone (one node, no nodes, or a cpuset) has one, which a system call tells without any file.
 * Other processes read sysfs once. SLAB_FAKE_NODES=n distributes the CPUs over n nodes round-robin,
 * for tests of everything except the binding of pages.
 */
#include <slab/stats.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "pages/os.h"
#include "pages/topology.h"
#include "base/compiler.h"
#include "base/options.h"
#include "sys_file.h"

#define MPOL_OF_CPUSET 4 /* MPOL_F_MEMS_ALLOWED: the nodes that the cpuset allows */

uint8_t topology_cpu_node[TOPOLOGY_CPUS_MAX];
SLAB_EARLY unsigned topology_node_count;

bool topology_is_real(void)
{
	return slab_options()->fake_nodes == 0;
}

/* Call fn for each range of a list, such as "0-3,8,10-11". */
static void each_range(const char *p, void (*fn)(unsigned long, unsigned long, unsigned *),
		       unsigned *arg)
{
	while (*p >= '0' && *p <= '9') {
		char *end;
		unsigned long first = strtoul(p, &end, 10), last = first;

		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		fn(first, last, arg);
		p = *end == ',' ? end + 1 : end;
	}
}

static void set_node(unsigned long first, unsigned long last, unsigned *node)
{
	for (unsigned long cpu = first; cpu <= last && cpu < TOPOLOGY_CPUS_MAX; cpu++)
		topology_cpu_node[cpu] = (uint8_t)*node;
}

/* Not on the stack: the thread may have called malloc() with little of it. */
static void read_cpus(unsigned node)
{
	const size_t bytes = 4096;
	char path[64], *text = os_map(bytes, 1);

	if (!text)
		return;
	snprintf(path, sizeof(path), "/sys/devices/system/node/node%u/cpulist", node);
	if (sys_file_read(path, text, bytes))
		each_range(text, set_node, &node);
	os_unmap(text, bytes);
}

/* CPUs belong to node 0 if no other node has them, so its file is not read. */
static void add_nodes(unsigned long first, unsigned long last, unsigned *count)
{
	for (unsigned long node = first; node <= last && node < SLAB_STATS_MAX_NODES; node++) {
		if (node)
			read_cpus((unsigned)node);
		*count = (unsigned)node + 1;
	}
}

/* false also if a system call filter forbids the question. */
static bool is_node_0_alone(void)
{
	unsigned long nodes[16] = {0}, others = 0;

	if (syscall(SYS_get_mempolicy, NULL, nodes, 8 * sizeof(nodes), NULL, MPOL_OF_CPUSET) != 0)
		return false;
	for (size_t i = 1; i < sizeof(nodes) / sizeof(nodes[0]); i++)
		others |= nodes[i];
	return nodes[0] == 1 && !others;
}

static unsigned read_nodes(void)
{
	unsigned fake = slab_options()->fake_nodes, count = 0;
	char text[256];

	if (fake) {
		for (unsigned cpu = 0; cpu < TOPOLOGY_CPUS_MAX; cpu++)
			topology_cpu_node[cpu] = (uint8_t)(cpu % fake);
		return fake;
	}
	if (is_node_0_alone())
		return 1;
	if (sys_file_read("/sys/devices/system/node/online", text, sizeof(text)))
		each_range(text, add_nodes, &count);
	return count ? count : 1;
}

unsigned topology_nodes(void)
{
	if (!topology_node_count)
		topology_node_count = read_nodes();
	return topology_node_count;
}
