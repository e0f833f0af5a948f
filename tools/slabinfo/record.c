/* SPDX-License-Identifier: MIT */
#include "views.h"

int view_record(const struct options *options, struct process *process)
{
	(void)options;
	(void)process;
	fail("this cannot be done yet");
	return EXIT_USAGE;
}
