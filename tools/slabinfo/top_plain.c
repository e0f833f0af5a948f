/* SPDX-License-Identifier: MIT */
/*
 * --top without a terminal: a block of text for each look, until the process ends or the
 * reader closes the pipe. -N is the number of rows.
 */
#include "top.h"

#include <math.h>
#include <sys/ioctl.h>

#define LINES 20 /* where -N is not given */

/* A picture of one row; rows are independent of each other. */
static void print_row(const struct top *top, const struct top_layout *layout,
		      const struct top_row *row)
{
	struct picture picture;

	if (!picture_make(&picture, 1, top_layout_width(layout)))
		return;
	if (row)
		top_draw_row(top, layout, row, &picture, 0);
	else
		top_draw_titles(top, layout, &picture, 0);
	picture_print(&picture, 1, stdout);
	picture_free(&picture);
}

static void print_stamp(time_t wall)
{
	char stamp[32];
	struct tm when;

	localtime_r(&wall, &when);
	strftime(stamp, sizeof(stamp), "%Y-%m-%d %H:%M:%S", &when);
	fputs(stamp, stdout);
}

/* Of one that cannot be drawn on; 0: it is none, and lines may be long. */
static int columns_of_terminal(void)
{
	struct winsize size;

	return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

static void print_block(const struct top *top)
{
	const size_t lines = top->options.lines ? top->options.lines : LINES;
	struct json_object *process = model_member(top->now.model.document, "process");
	struct top_layout layout;
	char text[NUMBER_TEXT];

	print_stamp(top->now.wall);
	printf("  %s [%d]  slabs %s  caches %zu of %zu\n", top->source.process->command,
	       top->source.process->pid,
	       size_shown(&top->options, text, model_number(process, "slab_bytes")), top->count,
	       top->now.model.count);
	top_layout(top, columns_of_terminal(), &layout);
	print_row(top, &layout, NULL);
	for (size_t i = 0; i < top->count && i < lines; i++)
		print_row(top, &layout, &top->rows[i]);
	putchar('\n');
}

static void wait_until(double when)
{
	const double left = fmax(when - top_clock(), 0);
	const struct timespec time = {(time_t)left, (long)(fmod(left, 1) * 1e9)};

	nanosleep(&time, NULL);
}

/* False: the reader closed the pipe. */
static bool print_look(const struct top *top)
{
	if (top->ended) {
		print_stamp(time(NULL));
		printf("  process %d has ended\n", top->source.process->pid);
	} else if (top->trouble[0]) {
		print_stamp(time(NULL));
		printf("  %s; trying again\n", top->trouble);
	} else {
		print_block(top);
	}
	return fflush(stdout) == 0;
}

int top_plain(struct top *top)
{
	double next = top_clock();

	while (print_look(top) && !top->ended) {
		next += top_pause(top);
		wait_until(next);
		if (next < top_clock() - top_pause(top))
			next = top_clock();
		top_look(top);
	}
	return EXIT_DONE;
}
