/* SPDX-License-Identifier: MIT */
/*
 * The views: each prints the caches of `model`, which contains only those that the options
 * select. Functions that return an int return the exit status. With --json, view_json()
 * prints all views that need no further query.
 */
#pragma once

#include "options.h"
#include "model.h"

void view_table(const struct options *options, const struct model *model);
/* The process as a whole: a line below the table. */
void view_memory(const struct options *options, const struct model *model);
/* Its resident memory: further lines, if it is alive and can be asked. */
void view_resident(const struct options *options, struct process *process,
		   const struct model *model);
void view_totals(const struct options *options, const struct model *model);
/* -X: the totals, and the first lines of three orders; sorts the model. */
void view_extended_totals(const struct options *options, struct model *model);
void view_numa(const struct options *options, const struct model *model);
/* Of one cache, without its call sites. */
void view_report(const struct options *options, const struct cache *cache);
void view_json(const struct options *options, struct model *model);
void view_openmetrics(const struct process *process, const struct model *model);

/* These send further queries. */
int view_tracking(const struct options *options, struct process *process,
		  const struct model *model);
int view_reports(const struct options *options, struct process *process, const struct model *model);
int view_since_mark(const struct options *options, struct process *process,
		    const struct model *model);
int view_waste(const struct options *options, struct process *process, struct model *model);
int view_map(const struct options *options, struct process *process, const struct model *model);
/* The heap profile of the process. */
int view_pprof(const struct options *options, struct process *process);
int view_flame(const struct options *options, struct process *process);
int view_peak(const struct options *options, struct process *process);
int view_lifetimes(const struct options *options, struct process *process);

/* These look at the process while it stands still, or at a core file. */
int view_find_leaks(const struct options *options, struct process *process);
int action_verify(const struct options *options, struct process *process,
		  const struct model *model);

/* These send queries repeatedly. */
int view_top(const struct options *options, struct process *process);
int view_record(const struct options *options, struct process *process);

/* These need no process. */
int view_plot(const struct options *options);
int view_diff(const struct options *options);

int action_shrink(struct process *process, const struct model *model);
int action_validate(struct process *process, const struct model *model);
int action_debug(const struct options *options, struct process *process, const struct model *model);
int action_sample(const struct options *options, struct process *process,
		  const struct model *model);
int action_fail(const struct options *options, struct process *process);
int action_profile(const struct options *options, struct process *process);
int action_mark(struct process *process, const struct model *model);
int action_set(const struct options *options, struct process *process);
int action_reset(struct process *process, const struct model *model);
int action_trim(struct process *process);

/*
 * Units of all views: bytes are in KiB, MiB and so on, powers of 1024 ("16.2MiB"). K, M and G
 * alone are thousands, millions … of objects ("1.2K"). Both are truncated, not rounded.
 * Sizes that users type ("64M", --set) are powers of 1024.
 */
#define SIZE_TEXT 24
const char *size_text(char text[SIZE_TEXT], uint64_t bytes);
const char *count_text(char text[SIZE_TEXT], uint64_t count);

/* size_shown: the same, or with -B the exact number. */
const char *size_shown(const struct options *options, char text[SIZE_TEXT], uint64_t bytes);

/* plural: what a noun ends in behind this number. */
static inline const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

/* lines_shown: how many of `count` call sites, or rows of --waste: up to 20 unless -N says
 * otherwise. */
static inline size_t lines_shown(const struct options *options, size_t count)
{
	const size_t limit = options->lines ? options->lines : 20;

	return count < limit ? count : limit;
}

struct memory_part {
	const char *name; /* what stands before the bytes */
	uint64_t bytes;
};

/* A line with the sum of these parts and each of them. Returns the sum. */
uint64_t print_parts(const struct options *options, const char *title,
		     const struct memory_part *parts, size_t count);
const char *count_shown(const struct options *options, char text[SIZE_TEXT], uint64_t count);

/* --- Parts of views, which several have ----------------------------------------- */

/* numa_report: the nodes of one cache, if there are several. */
void numa_report(const struct options *options, const struct cache *cache);

/* totals_json: the numbers of -T as the member "totals" of a document. */
struct json_object *totals_json(const struct model *model);

/* --list --json; returns the exit status. */
int view_processes_json(const struct choice *choice);

/* --- What --find-leaks and -v do with a process that stands still: verify.c ------------------- */

struct snapshot;

/* standing_take: attach_stand_still() with the options' limit, and with progress on a terminal. */
bool standing_take(const struct options *options, struct process *process,
		   struct snapshot *snapshot);

/* standing_text: " stood still for 3.1 ms while 12.3MiB were copied", "" for a core file. */
#define STANDING_TEXT 96
const char *standing_text(char text[STANDING_TEXT], const struct snapshot *snapshot);

/* Progress on stderr, if it is a terminal: progress_show() at most ten times a second,
 * progress_clear() before anything else is written. */
void progress_show(const char *what, uint64_t done, uint64_t all);
void progress_clear(void);
