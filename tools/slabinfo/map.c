/* SPDX-License-Identifier: MIT */
#include "views.h"

int view_map(const struct options *options, struct process *process, const struct model *model)
{
	(void)options;
	(void)process;
	(void)model;
	fail("this cannot be done yet");
	return EXIT_USAGE;
}
