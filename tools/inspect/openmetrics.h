/* SPDX-License-Identifier: MIT */
/*
 * OpenMetrics text: what slabinfo --openmetrics prints for one process and what
 * slab-exporter serves for all.
 */
#ifndef INSPECT_OPENMETRICS_H
#define INSPECT_OPENMETRICS_H

#include "attach.h"
#include "model.h"

#include <stdio.h>

/* One process with its caches. */
struct sampled {
	const struct process *process;
	const struct model *model;
};

/*
 * openmetrics_write: the exposition of `count` processes, "# EOF" included. The
 * labels are the process's name and pid and the cache's name, and of both there
 * are at most `max_caches` per process (the largest; the rest is summed up under
 * cache="other"); 0: no limit.
 */
void openmetrics_write(FILE *out, const struct sampled *processes, size_t count, size_t max_caches);

#endif /* INSPECT_OPENMETRICS_H */
