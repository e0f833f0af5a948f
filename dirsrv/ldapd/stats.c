/* SPDX-License-Identifier: MIT */
/* One line of statistics each second. */
#include "stats.h"

#include "base/clock.h"
#include "base/counters.h"

#include <slab/stats.h>

#include <stdio.h>

#define MIB (1024.0 * 1024.0)

void stats_print(struct stats_line *line, const struct server *server)
{
	struct stats_line now = {
		.at_ns = clock_ns(),
		.operations = counter_operations(),
		.searches = counter_read(COUNTER_SEARCH),
		.entries = counter_read(COUNTER_ENTRIES),
		.bytes_out = counter_read(COUNTER_BYTES_OUT),
		.busy = counter_read(COUNTER_BUSY),
	};
	struct slab_process_stats memory = {.struct_size = sizeof(memory)};
	double seconds = (double)(now.at_ns - line->at_ns) / 1e9;

	if (line->at_ns && slab_process_stats(&memory) == 0) {
		printf("connections %u, in flight %u, operations/s %.0f, searches/s %.0f, entries/s %.0f, "
		       "MiB/s %.2f, refused/s %.0f, slabs %.1f MiB\n",
		       net_connections(server->net), atomic_load(&server->in_flight),
		       (double)(now.operations - line->operations) / seconds,
		       (double)(now.searches - line->searches) / seconds,
		       (double)(now.entries - line->entries) / seconds,
		       (double)(now.bytes_out - line->bytes_out) / seconds / MIB,
		       (double)(now.busy - line->busy) / seconds, (double)memory.slab_bytes / MIB);
		fflush(stdout);
	}
	*line = now;
}
