/* SPDX-License-Identifier: MIT */
#include "views.h"

void view_numa(const struct options *options, const struct model *model)
{
	(void)options;
	(void)model;
}
