/* SPDX-License-Identifier: MIT */
/*
 * -X: the totals, and which caches are first by size, by loss and by the number of
 * partial slabs: one each unless -N says otherwise, all sizes in bytes.
 */
#include "select.h"
#include "views.h"

static void print_first(const struct options *options, enum order order, const char *title,
			struct model *model)
{
	struct options shown = *options;
	struct model first;

	shown.order = order;
	printf("\n%s\n--------------------------------------\n", title);
	select_sort(&shown, model);
	first = *model;
	select_first(&shown, &first);
	view_table(&shown, &first);
}

void view_extended_totals(const struct options *options, struct model *model)
{
	struct options shown = *options;

	shown.bytes = true;
	shown.activity = false;
	if (!shown.lines)
		shown.lines = 1;
	view_totals(&shown, model);
	shown.view = VIEW_TABLE;
	select_shown(&shown, model);
	print_first(&shown, ORDER_SIZE, "Slabs sorted by size", model);
	print_first(&shown, ORDER_LOSS, "Slabs sorted by loss", model);
	print_first(&shown, ORDER_PARTIAL, "Slabs sorted by number of partial slabs", model);
}
