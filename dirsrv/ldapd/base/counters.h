/* SPDX-License-Identifier: MIT */
/*
 * Events of the server. Each thread counts in words of its own, so that counting causes no
 * contention; a reader adds them up. All functions are MT-safe.
 */
#ifndef LDAPD_BASE_COUNTERS_H
#define LDAPD_BASE_COUNTERS_H

#include <stdint.h>

enum counter {
	COUNTER_ACCEPTED,  /* connections accepted */
	COUNTER_REFUSED,   /* connections refused: the server was full */
	COUNTER_CLOSED,    /* connections closed */
	COUNTER_IDLE,      /* of these, because of a time limit */
	COUNTER_BYTES_IN,
	COUNTER_BYTES_OUT,
	COUNTER_PDUS,      /* requests received */
	COUNTER_MALFORMED, /* connections closed because of malformed data */
	COUNTER_BUSY,      /* operations refused: a limit was reached, or no memory */
	COUNTER_PARKED,    /* times that a search waited for its client to read */
	COUNTER_ENTRIES,   /* search entries sent */
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

#endif /* LDAPD_BASE_COUNTERS_H */
