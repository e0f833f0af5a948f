/* SPDX-License-Identifier: MIT */
/*
 * Counters that the application attached to a cache (<slab/stats.h>).
 *
 * libslab copies their descriptions to a table of its own, so readers read only the numbers
 * themselves from the application's memory. A reader in another process may read while the table
 * changes: `changes` is odd during a change, and the reader checks it before and after it reads
 * the numbers. A reader in the same process holds counters_lock(), since the application may
 * unmap the words of former counters once slab_cache_attach_counters() has returned.
 *
 * The table is mapped for the first counters of a cache, and stays with the memory of that cache.
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
	uint64_t changes; /* a sequence counter: odd while a thread changes the rest */
	uint64_t count;
	struct counter_row row[SLAB_COUNTERS_MAX];
};

/* Could slab_cache_attach_counters() have written this row? `help` is not checked. */
bool counter_is_sane(const struct counter_row *row);
/* Are counters attached to the cache? The caller holds registry_lock. */
bool cache_has_counters(const struct slab_cache *cache);
/* A thread that holds this lock takes no other lock, except over fork. */
void counters_lock(void);
void counters_unlock(void);

#endif /* SLAB_INSPECT_COUNTERS_H */
