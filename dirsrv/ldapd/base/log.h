/* SPDX-License-Identifier: MIT */
/* What the server tells: its log, one line on stderr for each message; counters of events. */
#pragma once

#include "posix.h"

/* --- the log -------------------------------------------------------------------------------- */

/* The levels, each of which includes those before it. */
enum log_level {
	LOG_LEVEL_ERROR,   /* the server, or a part of it, does not work */
	LOG_LEVEL_WARNING, /* a client or the configuration did something wrong */
	LOG_LEVEL_NOTICE,  /* start, stop, reload */
	LOG_LEVEL_INFO,    /* each connection and each operation */
};

/* log_level_set: the level from now on. log_enabled: whether messages of a level are written.
 * Both are MT-safe. */
void log_level_set(enum log_level level);
bool log_enabled(enum log_level level);

/* log_level_parse: the level of a name ("error" … "info"). Returns false for another name. */
bool log_level_parse(const char *name, enum log_level *level);

/* log_write: write one line if the level is enabled. The message has no newline. MT-safe: lines
 * of several threads do not mix. */
void log_write(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define log_error(...) log_write(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warning(...) log_write(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_notice(...) log_write(LOG_LEVEL_NOTICE, __VA_ARGS__)
/* The level that a busy server would spend time on: arguments are evaluated only if it is
 * enabled. */
#define log_info(...)                                                                              \
	do {                                                                                       \
		if (log_enabled(LOG_LEVEL_INFO))                                                   \
			log_write(LOG_LEVEL_INFO, __VA_ARGS__);                                    \
	} while (0)

/* --- counters ------------------------------------------------------------------------------- */

/* Events of the server. Each thread counts in words of its own, so that counting causes no
 * contention; a reader adds them up. All functions are MT-safe. */
enum counter {
	COUNTER_ACCEPTED, /* connections accepted */
	COUNTER_REFUSED, /* connections refused: the server was full */
	COUNTER_CLOSED, /* connections closed */
	COUNTER_IDLE, /* of these, because of a time limit */
	COUNTER_BYTES_IN,
	COUNTER_BYTES_OUT,
	COUNTER_PDUS, /* requests received */
	COUNTER_MALFORMED, /* connections closed because of malformed data */
	COUNTER_BUSY, /* operations refused: a limit was reached, or no memory */
	COUNTER_PARKED, /* times that a search waited for its client to read */
	COUNTER_ENTRIES, /* search entries sent */
	COUNTER_BIND,
	COUNTER_UNBIND,
	COUNTER_SEARCH,
	COUNTER_COMPARE,
	COUNTER_ADD,
	COUNTER_DELETE,
	COUNTER_MODIFY,
	COUNTER_MODRDN,
	COUNTER_ABANDON,
	COUNTER_EXTENDED,
	COUNTER_COUNT
};

/* counter_add: count n events. counter_read: the sum of all threads. */
void counter_add(enum counter counter, uint64_t n);
uint64_t counter_read(enum counter counter);

/* counter_name: the name of a counter, as in cn=monitor ("accepted"). */
const char *counter_name(enum counter counter);

/* counter_operations: the number of operations of all kinds, without unbind and abandon. */
uint64_t counter_operations(void);
