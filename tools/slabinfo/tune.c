/* SPDX-License-Identifier: MIT */
#include "views.h"

int action_set(const struct options *options, struct process *process)
{
	(void)options;
	(void)process;
	fail("this cannot be done yet");
	return EXIT_USAGE;
}

int action_reset(struct process *process, const struct model *model)
{
	(void)process;
	(void)model;
	fail("this cannot be done yet");
	return EXIT_USAGE;
}

int action_trim(struct process *process)
{
	(void)process;
	fail("this cannot be done yet");
	return EXIT_USAGE;
}
