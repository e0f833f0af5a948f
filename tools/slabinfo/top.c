/* SPDX-License-Identifier: MIT */
/* The start of --top: options, the first look, then the screen; or plain text, if input or output
 * is no terminal. */
#include "top.h"
#include "select.h"
#include "views.h"

#include <langinfo.h>
#include <locale.h>

#define INTERVAL 1.0 /* seconds, where none is given */

/* -S and the others, as columns; where none is given, the largest come first. */
static enum column first_column(enum order order)
{
	switch (order) {
	case ORDER_LOSS:
		return COLUMN_LOST;
	case ORDER_PARTIAL:
		return COLUMN_PARTIAL;
	case ORDER_ACTIVITY:
		return COLUMN_ALLOC;
	default:
		return COLUMN_SPACE;
	}
}

static void take_options(struct top *top, const struct options *options)
{
	top->options = *options;
	top->options.view = VIEW_TOP;
	top->interval = options->interval > 0 ? options->interval : INTERVAL;
	top->sort = first_column(options->order);
	top->reverse = options->inverted;
	if (options->pattern)
		top_filter(top, options->pattern); /* it was compiled before */
}

/* The first look decides whether there is anything to be seen. */
static int look_first(struct top *top)
{
	top_look(top);
	if (!top->now.model.document) {
		fail("%s", top->trouble);
		return EXIT_USAGE;
	}
	if (top->filter[0] && top_matching(top) == 0)
		return select_fail(&top->options, top->source.process);
	return -1;
}

static int show(struct top *top)
{
	int status;

	if (isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && top_screen(top, &status))
		return status;
	return top_plain(top);
}

int view_top(const struct options *options, struct process *process)
{
	struct top top;
	int status;

	memset(&top, 0, sizeof(top));
	setlocale(LC_CTYPE, "");
	top.utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
	take_options(&top, options);
	top_source_open(&top, process);
	status = look_first(&top);
	if (status < 0)
		status = show(&top);
	top_rows_free(&top);
	top_source_close(&top);
	top_filter(&top, "");
	return status;
}
