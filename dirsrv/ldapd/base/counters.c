/* SPDX-License-Identifier: MIT */
/* Counters: a row of words for each thread. More threads than rows share rows. */
#include "base/counters.h"

#include <stdatomic.h>

#define ROWS 64

struct row {
	_Alignas(64) _Atomic uint64_t word[COUNTER_COUNT];
};

static struct row rows[ROWS];
static _Atomic unsigned threads;
static _Thread_local struct row *own;

static const char *const names[COUNTER_COUNT] = {
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
	return names[counter];
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
