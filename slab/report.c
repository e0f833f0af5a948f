/* SPDX-License-Identifier: MIT */
/*
 * Where reports and notes are put together and written.
 *
 * No stdio streams and no malloc: a report may be about the very heap that
 * they would use. vsnprintf() into a buffer on the stack needs neither.
 */
#define _GNU_SOURCE
#include "report.h"
#include "options.h"

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

/*
 * Handlers are kept in a ring of slots and published by one store, so that a
 * reader sees function and argument of the same call without any lock that a
 * fork could catch held.
 */
#define HANDLER_SLOTS 16

struct handler {
	_Atomic(void (*)(const char *report, void *arg)) call;
	_Atomic(void *) arg;
};

static struct handler handlers[HANDLER_SLOTS];
static atomic_uint handlers_set;
static _Atomic(struct handler *) current_handler;
static atomic_ulong reports;

void slab_set_report_handler(void (*call)(const char *report, void *arg), void *arg)
{
	struct handler *slot = NULL;

	if (call) {
		slot = &handlers[atomic_fetch_add(&handlers_set, 1) % HANDLER_SLOTS];
		atomic_store(&slot->call, call);
		atomic_store(&slot->arg, arg);
	}
	atomic_store(&current_handler, slot);
}

unsigned long slab_report_count(void)
{
	return atomic_load(&reports);
}

/* Adds a formatted line, whole or not at all; room for full_mark always stays. */
static void add_line(struct slab_report *report, const char *format, va_list args)
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

void slab_report_line(struct slab_report *report, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	add_line(report, format, args);
	va_end(args);
}

static void add_rule(struct slab_report *report, int mark)
{
	char rule[78];

	memset(rule, mark, sizeof(rule) - 1);
	rule[sizeof(rule) - 1] = '\0';
	slab_report_line(report, "%s", rule);
}

void slab_report_begin(struct slab_report *report, const char *cache_name, const char *reason, ...)
{
	char text[512];
	va_list args;

	va_start(args, reason);
	vsnprintf(text, sizeof(text), reason, args);
	va_end(args);
	report->len = 0;
	report->full = false;
	add_rule(report, '=');
	slab_report_line(report, "BUG %s: %s", cache_name, text);
	add_rule(report, '-');
	slab_report_line(report, "%s", "");
}

/* One write; more only when the system takes less than was offered. */
static void write_all(int fd, const char *text, size_t len)
{
	while (len > 0) {
		ssize_t done = write(fd, text, len);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return;
		text += done;
		len -= (size_t)done;
	}
}

/* Opened for each report: the file may be rotated away, and forks share none. */
static void write_report(const struct slab_report *report)
{
	const char *log = slab_options()->log;
	int fd = -1;

	if (*log)
		fd = open(log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, 0600);
	write_all(fd < 0 ? STDERR_FILENO : fd, report->text, report->len);
	if (fd >= 0)
		close(fd);
}

void slab_report_emit(const struct slab_report *report)
{
	struct handler *handler = atomic_load(&current_handler);
	int saved_errno = errno;

	atomic_fetch_add(&reports, 1);
	if (handler)
		atomic_load (&handler->call)(report->text, atomic_load(&handler->arg));
	else
		write_report(report);
	if (slab_options()->debug_abort)
		abort();
	errno = saved_errno;
}

static void note(const char *format, va_list args)
{
	static const char prefix[] = "libslab: ";
	const size_t start = sizeof(prefix) - 1;
	char line[512];
	int saved_errno = errno;
	size_t len;

	memcpy(line, prefix, start);
	line[start] = '\0';
	vsnprintf(line + start, sizeof(line) - start - 1, format, args);
	len = strlen(line);
	line[len++] = '\n';
	write_all(STDERR_FILENO, line, len);
	errno = saved_errno;
}

void slab_note(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	note(format, args);
	va_end(args);
}

void slab_fatal(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	note(format, args);
	va_end(args);
	abort();
}
