/* SPDX-License-Identifier: MIT */
/* Reports of misuse and corruption. A report is formatted on the stack and written at once, so
 * the reports of several threads never interleave. */
#pragma once

#include <slab/debug.h>
#include <stdbool.h>
#include <stddef.h>

/* PIPE_BUF: writes to a pipe up to this size are atomic. */
#define REPORT_MAX 4096

struct report {
	struct slab_report info; /* for the handler; the caller fills in what it knows */
	char reason[160];
	char text[REPORT_MAX];
	size_t len; /* without the terminating zero */
	bool full;  /* the text ends in "..."; further lines are dropped */
};

/* report_begin: begin a report with the heading "BUG <cache>: <reason>" between rules. */
void report_begin(struct report *report, enum slab_problem problem, const char *cache_name,
		  const char *reason, ...) __attribute__((format(printf, 4, 5)));

/* report_title: begin a text with this heading, which is not about misuse and has no `info`. */
void report_title(struct report *report, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* report_line: add one line. A full report ends in "...". */
void report_line(struct report *report, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* report_fix: add the line "FIX <cache>: …", which describes a repair. */
void report_fix(struct report *report, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* report_rewind: drop the fixes, and the lines added since report->len was `len`. */
void report_rewind(struct report *report, size_t len);

/*
 * report_emit: pass the report to the handler of slab_set_report_handler(), or write it to the
 * file of SLAB_LOG, or to stderr. Counts it, and aborts if SLAB_DEBUG_ABORT=1. errno keeps its
 * value. Async-signal-safe and reentrant.
 */
void report_emit(struct report *report);

/* report_count: the number of reports that this process has emitted. */
unsigned long report_count(void);

/* report_write, report_trace_line: write a text, or one line, to where reports are written. The
 * handler does not get it, and it does not count as a report. errno keeps its value. */
void report_write(const struct report *report);
void report_trace_line(const char *format, ...) __attribute__((format(printf, 1, 2)));
