/* SPDX-License-Identifier: MIT */
/* --openmetrics: the caches that were requested, each by its name. */
#include "views.h"
#include "openmetrics.h"

void view_openmetrics(const struct process *process, const struct model *model)
{
	struct metrics metrics;

	if (!metrics_take(&metrics, process, model, 0))
		return;
	openmetrics_write(stdout, EXPOSITION_OPENMETRICS, &metrics, 1);
	openmetrics_end(stdout, EXPOSITION_OPENMETRICS);
	metrics_free(&metrics);
}
