/* SPDX-License-Identifier: MIT */
/*
 * Formatting and writing reports.
 *
 * A report uses neither stdio nor malloc, because its subject may be the heap that these use.
 * vsnprintf() into a buffer on the stack needs neither.
 */
#define _GNU_SOURCE
#include "report/report.h"
#include "base/cancel.h"
#include "base/compiler.h"
#include "base/libc.h"
#include "base/note.h"
#include "base/options.h"
#include "base/own_work.h"
#include "base/probe.h"
#include "base/publish.h"
#include "report/filter.h"

#include <slab/debug.h>

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char full_mark[] = "...\n";

typedef void (*report_fn)(const struct slab_report *report, void *arg);
static struct handler_ring report_handler;
static atomic_ulong reports;

void slab_set_report_handler(report_fn call, void *arg)
{
	own_work_watch_exit();
	handler_set(&report_handler, (handler_fn)call, arg);
}

unsigned long report_count(void)
{
	return atomic_load(&reports);
}

/* Add a formatted line completely or not at all. There always is room for full_mark. */
static SLAB_SLOWPATH void add_line(struct report *report, const char *format, va_list args)
{
	size_t room = sizeof(report->text) - sizeof(full_mark) - report->len;
	char *end = report->text + report->len;
	int len;

	if (report->full)
		return;
	len = vsnprintf(end, room, format, args);
	if (len >= 0 && (size_t)len + 1 < room) {
		memcpy(end + len, "\n", 2);
		report->len += (size_t)len + 1;
	} else {
		memcpy(end, full_mark, sizeof(full_mark));
		report->len += sizeof(full_mark) - 1;
		report->full = true;
	}
}

void report_line(struct report *report, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	add_line(report, format, args);
	va_end(args);
}

static SLAB_SLOWPATH void add_rule(struct report *report, int mark)
{
	char rule[78];

	memset(rule, mark, sizeof(rule) - 1);
	rule[sizeof(rule) - 1] = '\0';
	report_line(report, "%s", rule);
}

SLAB_SLOWPATH void report_title(struct report *report, const char *format, ...)
{
	va_list args;

	report->len = 0;
	report->full = false;
	add_rule(report, '=');
	va_start(args, format);
	add_line(report, format, args);
	va_end(args);
	add_rule(report, '-');
	report_line(report, "%s", "");
}

void report_begin(struct report *report, enum slab_problem problem, const char *cache_name,
		  const char *reason, ...)
{
	va_list args;

	report->info = (struct slab_report){
		.struct_size = sizeof(report->info),
		.problem = problem,
		.cache = cache_name,
		.reason = report->reason,
		.text = report->text,
	};
	va_start(args, reason);
	vsnprintf(report->reason, sizeof(report->reason), reason, args);
	va_end(args);
	report_title(report, "BUG %s: %s", cache_name, report->reason);
}

void report_fix(struct report *report, const char *format, ...)
{
	char text[200];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	report_line(report, "FIX %s: %s", report->info.cache, text);
	report->info.fixes++;
}

void report_rewind(struct report *report, size_t len)
{
	report->len = len;
	report->text[len] = '\0';
	report->full = false;
	report->info.fixes = 0;
}

/* A pipe without a reader (ENXIO) is no mistake. */
static void complain_of_log(const char *log, int error)
{
	static atomic_flag said = ATOMIC_FLAG_INIT;

	if (error != ENXIO && !atomic_flag_test_and_set(&said))
		slab_note("SLAB_LOG=%s cannot be opened, so reports go to stderr: %s", log,
			  strerrordesc_np(error));
}

/* Open the log for each report: it may have been rotated, and forked processes must not share a
 * descriptor. O_NONBLOCK: to open a pipe without a reader fails instead of waiting. */
static SLAB_SLOWPATH void write_to_log(const char *text, size_t len)
{
	const char *log = slab_options()->log;
	int fd = -1;

	if (filter_write(text, len))
		return;
	if (*log)
		fd = open(log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK,
			  0600);
	if (*log && fd < 0)
		complain_of_log(log, errno);
	note_write(fd < 0 ? STDERR_FILENO : fd, text, len);
	if (fd >= 0)
		close(fd);
}

void report_emit(struct report *report)
{
	struct handler handler;
	int saved_errno = errno, cancel = cancel_disable();

	/* No enum: <sys/sdt.h> converts -1 to the type of an argument. */
	SLAB_PROBE(bug_report, report->info.cache, (unsigned)report->info.problem,
		   report->info.object, report->info.reason);
	atomic_fetch_add(&reports, 1);
	if (handler_get(&report_handler, &handler))
		((report_fn)handler.fn)(&report->info, handler.arg);
	else
		write_to_log(report->text, report->len);
	if (slab_options()->debug_abort)
		abort();
	cancel_restore(cancel);
	errno = saved_errno;
}

/* --- what is no report of misuse ------------------------------------------------ */

static SLAB_SLOWPATH void write_apart(const char *text, size_t len)
{
	int saved_errno = errno, cancel = cancel_disable();

	write_to_log(text, len);
	cancel_restore(cancel);
	errno = saved_errno;
}

void report_write(const struct report *report)
{
	write_apart(report->text, report->len);
}

void report_trace_line(const char *format, ...)
{
	struct note_line line;
	va_list args;

	va_start(args, format);
	note_format(&line, "", format, args);
	va_end(args);
	write_apart(line.text, line.len);
}
