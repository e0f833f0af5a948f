/* SPDX-License-Identifier: MIT */
/* The log, with one write(2) for each line, so that lines do not mix; counters. */
#include "base/log.h"

#include <stdarg.h>
#include <stdatomic.h>

#define LINE_MAX_BYTES 1024

static _Atomic int current_level = LOG_LEVEL_NOTICE;

static const char *const names[] = {"error", "warning", "notice", "info"};

void log_level_set(enum log_level level)
{
	atomic_store_explicit(&current_level, (int)level, memory_order_relaxed);
}

bool log_enabled(enum log_level level)
{
	return (int)level <= atomic_load_explicit(&current_level, memory_order_relaxed);
}

bool log_level_parse(const char *name, enum log_level *level)
{
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(name, names[i]) == 0) {
			*level = (enum log_level)i;
			return true;
		}
	}
	return false;
}

static size_t put_prefix(char *line, enum log_level level)
{
	struct timespec now;
	struct tm utc;
	size_t length;

	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &utc);
	length = strftime(line, LINE_MAX_BYTES, "%Y-%m-%dT%H:%M:%S", &utc);
	length += (size_t)snprintf(line + length, LINE_MAX_BYTES - length,
				   ".%03ldZ ldapd %s: ", now.tv_nsec / 1000000, names[level]);
	return length;
}

/* Control characters of a client's data must not forge lines. */
static void make_printable(char *text, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
			text[i] = '?';
}

void log_write(enum log_level level, const char *format, ...)
{
	char line[LINE_MAX_BYTES];
	size_t start, length;
	va_list args;
	int written;

	if (!log_enabled(level))
		return;
	start = put_prefix(line, level);
	va_start(args, format);
	written = vsnprintf(line + start, sizeof(line) - start, format, args);
	va_end(args);
	if (written < 0)
		return;
	length = start + (size_t)written;
	if (length > sizeof(line) - 1)
		length = sizeof(line) - 1;
	make_printable(line + start, length - start);
	line[length++] = '\n';
	/* There is no place to report that the log cannot be written. */
	if (write(STDERR_FILENO, line, length) < 0)
		return;
}

/* --- counters: a row of words for each thread; more threads than rows share rows ------------ */

#define ROWS 64

struct row {
	_Alignas(64) _Atomic uint64_t word[COUNTER_COUNT];
};

static struct row rows[ROWS];
static _Atomic unsigned threads;
static _Thread_local struct row *own;

static const char *const counter_names[COUNTER_COUNT] = {
	"accepted",  "refused", "closed", "idleClosed", "bytesIn", "bytesOut", "pdus",
	"malformed", "busy",    "parked", "entries",    "bind",    "unbind",   "search",
	"compare",   "add",     "delete", "modify",     "modrdn",  "abandon",  "extended",
};

void counter_add(enum counter counter, uint64_t n)
{
	if (!own)
		own = &rows[atomic_fetch_add_explicit(&threads, 1, memory_order_relaxed) % ROWS];
	atomic_fetch_add_explicit(&own->word[counter], n, memory_order_relaxed);
}

uint64_t counter_read(enum counter counter)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < ROWS; i++)
		sum += atomic_load_explicit(&rows[i].word[counter], memory_order_relaxed);
	return sum;
}

const char *counter_name(enum counter counter)
{
	return counter_names[counter];
}

uint64_t counter_operations(void)
{
	static const enum counter kinds[] = {
		COUNTER_BIND,   COUNTER_SEARCH, COUNTER_COMPARE, COUNTER_ADD,
		COUNTER_DELETE, COUNTER_MODIFY, COUNTER_MODRDN,  COUNTER_EXTENDED,
	};
	uint64_t sum = 0;

	for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		sum += counter_read(kinds[i]);
	return sum;
}
