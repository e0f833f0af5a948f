/* SPDX-License-Identifier: MIT */
/*
 * Querying the process repeatedly, at little cost to it.
 *
 * slabinfo scans the slabs on another CPU, and also shows a process that hangs. Only the process
 * itself can count allocations (docs/control.md): after each look, slabinfo sends "count" to its
 * socket, for a time that covers the next looks.
 *
 * A long look delays the next one, so that looking takes at most a fiftieth of one CPU's time:
 * this matters to a process that uses all CPUs. The cost of a look is slabinfo's own CPU
 * time. Only if the process reads for slabinfo, the cost is unknown, and the time until the
 * answer is used.
 */
#include "top.h"
#include "proc.h"

#define COUNT_PAUSES 3 /* time for which the process counts, in pauses between looks */
#define COUNT_US_MIN 1e6
#define COUNT_US_MAX 3600e6 /* what it accepts */
#define LOOK_SHARE 50 /* N: looks take at most 1/N of the time */

double top_clock(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* CPU time of this program in seconds. */
static double work_clock(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

void top_source_open(struct top *top, struct process *process)
{
	struct top_source *source = &top->source;

	source->process = process;
	source->counting = process->way == WAY_SOCKET;
}

static void forget_slabs(struct top *top)
{
	if (top->slabs_of[0])
		occupancy_free(&top->slabs);
	top->slabs_of[0] = '\0';
}

static void forget_look(struct look *look)
{
	model_free(&look->model);
}

void top_source_close(struct top *top)
{
	forget_slabs(top);
	forget_look(&top->now);
	forget_look(&top->before);
}

static bool load(struct process *process, struct model *model)
{
	struct json_object *answer = attach_query(process, "stats", NULL);

	return answer && model_load(model, answer);
}

void top_look_slabs(struct top *top)
{
	const struct top_row *row = top_row_chosen(top);

	forget_slabs(top);
	top->slabs_trouble[0] = '\0';
	if (top->page != PAGE_DETAIL || !row)
		return;
	fail_capture(top->slabs_trouble, sizeof(top->slabs_trouble));
	if (occupancy_take(&top->slabs, top->source.process, row->cache->name))
		snprintf(top->slabs_of, sizeof(top->slabs_of), "%s", row->cache->name);
	fail_capture(NULL, 0);
}

/* The process counts allocations until after the next looks. */
static void query_count(struct top *top)
{
	struct top_source *source = &top->source;
	double us = top_pause(top) * 1e6 * COUNT_PAUSES, now = top_clock();
	struct json_object *answer;
	char request[32];

	us = us < COUNT_US_MIN ? COUNT_US_MIN : us > COUNT_US_MAX ? COUNT_US_MAX : us;
	if (!source->counting || source->process->way != WAY_SOCKET ||
	    proc_is_stopped(source->process->pid) ||
	    (now - source->counted_at) * 1e6 < us / COUNT_PAUSES / 2)
		return;
	source->counted_at = now;
	snprintf(request, sizeof(request), "count %.0f", us);
	fail_capture(top->count_trouble, sizeof(top->count_trouble));
	answer = attach_query(source->process, request, NULL);
	fail_capture(NULL, 0);
	source->counting = answer;
	json_object_put(answer);
}

double top_pause(const struct top *top)
{
	double least = top->now.took * LOOK_SHARE;

	return least > top->interval ? least : top->interval;
}

static uint64_t counted_us(const struct look *look)
{
	return look->model.count ? model_number(look->model.caches[0].json, "counted_us") : 0;
}

/* A process that counts adds up only 20 times a second (docs/control.md). Rates need a look before
 * that: until there is more time in which was counted, the earlier look stays. */
static void keep_look(struct top *top, const struct look *look)
{
	if (top->source.counting && top->before.model.document && counted_us(look) &&
	    counted_us(look) == counted_us(&top->now)) {
		forget_look(&top->now);
	} else {
		forget_look(&top->before);
		top->before = top->now;
	}
	top->now = *look;
	top_rows(top);
}

/* No answer: the next look begins anew. */
static void prepare_again(struct top_source *source)
{
	if (source->process->way != WAY_CORE)
		attach_close(source->process);
	source->counting = source->process->way == WAY_SOCKET;
}

void top_look(struct top *top)
{
	struct look look = {.at = top_clock(), .wall = time(NULL)};
	const double worked = work_clock();
	char trouble[TOP_SENTENCE] = "";

	if (top->ended)
		return;
	fail_capture(trouble, sizeof(trouble));
	if (load(top->source.process, &look.model)) {
		/* An answer from the memory of a process that has just ended still counts. */
		keep_look(top, &look);
		top_look_slabs(top);
		top->now.took =
			top->source.process->memory ? work_clock() - worked : top_clock() - look.at;
		query_count(top);
		trouble[0] = '\0';
	} else {
		prepare_again(&top->source);
	}
	fail_capture(NULL, 0);
	memcpy(top->trouble, trouble, sizeof(trouble));
	top->ended = proc_is_gone(top->source.process->pid);
}
