/* SPDX-License-Identifier: MIT */
/*
 * NUMA nodes: how many there are, and the node of each CPU. Read once from sysfs; a machine without
 * nodes has one. SLAB_FAKE_NODES=n distributes the CPUs over n nodes round-robin, for tests of
 * everything except the binding of pages.
 */
#include <fcntl.h>
#include <slab/stats.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "pages/topology.h"
#include "config/options.h"

uint8_t topology_cpu_node[TOPOLOGY_CPUS_MAX];
unsigned topology_node_count;

bool topology_is_real(void)
{
	return slab_options()->fake_nodes == 0;
}

static void set_range(unsigned long first, unsigned long last, unsigned node)
{
	for (unsigned long cpu = first; cpu <= last && cpu < TOPOLOGY_CPUS_MAX; cpu++)
		topology_cpu_node[cpu] = (uint8_t)node;
}

/* Parse a list of ranges, such as "0-3,8,10-11". */
static void read_list(const char *p, unsigned node)
{
	while (*p >= '0' && *p <= '9') {
		char *end;
		unsigned long first = strtoul(p, &end, 10), last = first;

		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		set_range(first, last, node);
		p = *end == ',' ? end + 1 : end;
	}
}

static bool read_node(unsigned node)
{
	char path[64], text[4096];
	int fd;
	ssize_t n;

	snprintf(path, sizeof(path), "/sys/devices/system/node/node%u/cpulist", node);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n < 0)
		return false;
	text[n] = '\0';
	read_list(text, node);
	return true;
}

static unsigned read_nodes(void)
{
	unsigned fake = slab_options()->fake_nodes, count = 0;

	if (fake) {
		for (unsigned cpu = 0; cpu < TOPOLOGY_CPUS_MAX; cpu++)
			topology_cpu_node[cpu] = (uint8_t)(cpu % fake);
		return fake;
	}
	for (unsigned node = 0; node < SLAB_STATS_MAX_NODES; node++)
		if (read_node(node))
			count = node + 1;
	return count ? count : 1;
}

unsigned topology_nodes(void)
{
	if (!topology_node_count)
		topology_node_count = read_nodes();
	return topology_node_count;
}
