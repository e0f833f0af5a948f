/* SPDX-License-Identifier: MIT */
/*
 * Counters that a program attached to a cache (<slab/stats.h>).
 *
 * Their descriptions stand in a table of the library: nothing but the numbers
 * themselves is read from the program's memory. A reader in another process can find the
 * table changing, so `changes` is odd meanwhile, and the reader looks at it before and
 * after it reads the numbers. A reader in the process itself holds counters_lock():
 * once slab_cache_attach_counters() has returned, the words of former counters may be
 * unmapped.
 *
 * A table is made for the first counters of a cache, and stays with its memory.
 */
#ifndef SLAB_INSPECT_COUNTERS_H
#define SLAB_INSPECT_COUNTERS_H

#include <slab/stats.h>
#include <stdbool.h>
#include <stdint.h>

struct slab_cache;

/* CPUs of the largest machine that Linux is built for. */
#define COUNTER_COPIES_MAX 8192u

struct counter_row {
	char name[SLAB_COUNTER_NAME_MAX + 1];
	char help[SLAB_COUNTER_HELP_MAX + 1];
	uint64_t value;  /* address of the first word */
	uint64_t stride; /* bytes from word to word */
	uint32_t copies; /* words: 1 to COUNTER_COPIES_MAX */
	uint32_t kind;
};

struct counter_table {
	uint64_t changes; /* odd while the rest is being changed */
	uint64_t count;
	struct counter_row row[SLAB_COUNTERS_MAX];
};

/* Can it be what slab_cache_attach_counters() wrote? The text may hold anything. */
bool counter_is_sane(const struct counter_row *row);
/* Are any attached? With registry_lock. */
bool cache_has_counters(const struct slab_cache *cache);
/* Its holder takes no other lock, except fork, which holds it with all others. */
void counters_lock(void);
void counters_unlock(void);

#endif /* SLAB_INSPECT_COUNTERS_H */
