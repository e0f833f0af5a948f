/* SPDX-License-Identifier: MIT */
#include "views.h"
#include "openmetrics.h"

void view_openmetrics(const struct process *process, const struct model *model)
{
	const struct sampled sampled = {process, model};

	openmetrics_write(stdout, &sampled, 1, 0);
}
