/* SPDX-License-Identifier: MIT */
#include "views.h"

int view_plot(const struct options *options)
{
	(void)options;
	fail("this cannot be done yet");
	return EXIT_USAGE;
}
