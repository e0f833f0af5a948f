/* SPDX-License-Identifier: MIT */
/*
 * Messages: reports of misuse and corruption, one-line notes, and the last
 * words of a process. All of them are formatted on the stack and leave in one
 * write, so that those of several threads never interleave.
 */
#ifndef SLAB_REPORT_H
#define SLAB_REPORT_H

#include <stdbool.h>
#include <stddef.h>

/* PIPE_BUF: up to here a write to a pipe is not mixed with others. */
#define SLAB_REPORT_MAX 4096

struct slab_report {
	char text[SLAB_REPORT_MAX];
	size_t len; /* without the terminating zero */
	bool full;  /* ends in "...": further lines are dropped */
};

/* slab_report_begin: the heading, "BUG <cache>: <reason>" between rules. */
void slab_report_begin(struct slab_report *report, const char *cache_name, const char *reason, ...)
	__attribute__((format(printf, 3, 4)));

/* slab_report_line: add one line; a report that is full ends in "...". */
void slab_report_line(struct slab_report *report, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * slab_report_emit: hand the report to the handler of
 * slab_set_report_handler(), or write it to the file of SLAB_LOG, or to stderr;
 * count it; abort when SLAB_DEBUG_ABORT=1. errno is untouched.
 */
void slab_report_emit(const struct slab_report *report);

/* slab_report_count: reports emitted by this process so far. */
unsigned long slab_report_count(void);

/* slab_note: "libslab: " and one line on stderr. errno is untouched. */
void slab_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* slab_fatal: slab_note(), then abort. */
void slab_fatal(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

#endif /* SLAB_REPORT_H */
