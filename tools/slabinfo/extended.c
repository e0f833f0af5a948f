/* SPDX-License-Identifier: MIT */
#include "views.h"

void view_extended_totals(const struct options *options, struct model *model)
{
	view_totals(options, model);
}
