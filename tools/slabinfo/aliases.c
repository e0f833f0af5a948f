/* SPDX-License-Identifier: MIT */
#include "views.h"

int view_aliases(const struct options *options, const struct model *model)
{
	(void)options;
	(void)model;
	fail("this cannot be done yet");
	return EXIT_USAGE;
}

void view_ops(const struct model *model)
{
	(void)model;
}
