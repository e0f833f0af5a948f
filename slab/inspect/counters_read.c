/* SPDX-License-Identifier: MIT */
/*
 * Reading the counters that an application attached to its caches (counters.h): first the table,
 * then the words that it points to, then the table's sequence counter again.
 *
 * A counter is left out if its row is invalid or its words cannot be read, since the application
 * may have freed them. All counters of a cache are left out if their table changed during each
 * attempt.
 *
 * The total number of words that are read is bounded, since a damaged table may claim any number.
 * Attached counters are bounded, too (SLAB_COUNTERS_WORDS_MAX), so undamaged tables reach the
 * limit only with an unusual number of caches and CPUs. Counters with few words have a separate
 * limit, so that large counters cannot exclude them.
 */
#include <slab/stats.h>
#include <string.h>

#include "base/seqcount.h"
#include "inspect/process.h"

#define TABLE_TRIES 16
#define WORDS_AT_ONCE 64u
/* The most words of one inspection, for each of both kinds. A row counts as WORDS_OF_ROW further
 * words, since it takes space in answers. */
#define WORDS_MAX (1u << 20)
#define WORDS_OF_ROW 7u
#define FEW_WORDS 64u

static int read_sum(const struct inspection *in, const struct counter_row *row, uint64_t *sum)
{
	uint64_t words[WORDS_AT_ONCE], at = row->value;

	*sum = 0;
	for (unsigned left = row->copies, n; left; left -= n, at += n * row->stride) {
		int error;

		n = left < WORDS_AT_ONCE ? left : WORDS_AT_ONCE;
		error = inspect_read_pieces(in, at, sizeof(words[0]), row->stride, n, words);
		if (error)
			return error;
		for (unsigned i = 0; i < n; i++)
			*sum += words[i];
	}
	return 0;
}

static bool is_affordable(struct inspection *in, const struct counter_row *row)
{
	uint64_t *words = &in->counter_words[row->copies > FEW_WORDS];

	if (*words + WORDS_OF_ROW + row->copies > WORDS_MAX)
		return false;
	*words += WORDS_OF_ROW + row->copies;
	return true;
}

static bool is_wanted(const struct counter_row *row, const char *name)
{
	return counter_is_sane(row) && (!name || strcmp(row->name, name) == 0);
}

/* Read the values of the rows, and keep the rows whose value could be read. */
static void read_sums(struct inspection *in, const char *name, struct inspect_counters *seen)
{
	const size_t count = seen->table.count <= SLAB_COUNTERS_MAX ? seen->table.count : 0;

	seen->count = 0;
	for (size_t i = 0; i < count; i++) {
		struct counter_row *row = &seen->table.row[seen->count];

		*row = seen->table.row[i];
		row->help[SLAB_COUNTER_HELP_MAX] = '\0';
		if (is_wanted(row, name) && is_affordable(in, row) &&
		    read_sum(in, row, &seen->sum[seen->count]) == 0)
			seen->count++;
	}
}

/* false: the table changed while it was being read. */
static bool read_once(struct inspection *in, uint64_t address, const char *name,
		      struct inspect_counters *seen)
{
	uint64_t after;

	seen->count = 0;
	if (inspect_read(in, address, sizeof(seen->table), &seen->table) != 0)
		return true;
	if (seen->table.changes & 1)
		return false;
	read_sums(in, name, seen);
	return inspect_read_sequence(in, address + offsetof(struct counter_table, changes),
				     &after) == 0 &&
	       seqcount_is_stable(seen->table.changes, after);
}

/* Only the words of the last attempt count for the limits. */
static bool read_whole(struct inspection *in, uint64_t address, const char *name,
		       struct inspect_counters *seen)
{
	const uint64_t few = in->counter_words[0], many = in->counter_words[1];

	for (int tries = 0; tries < TABLE_TRIES; tries++) {
		in->counter_words[0] = few;
		in->counter_words[1] = many;
		if (read_once(in, address, name, seen))
			return true;
	}
	return false;
}

void inspect_counters(struct inspection *in, const struct slab_cache *cache, const char *name,
		      struct inspect_counters *seen)
{
	const bool mine = in->reader->read == inspect_self.read;
	const struct counter_table *table = __atomic_load_n(&cache->counters, __ATOMIC_ACQUIRE);

	seen->count = 0;
	if (!table)
		return;
	if (mine)
		counters_lock();
	if (!read_whole(in, (uintptr_t)table, name, seen))
		seen->count = 0;
	if (mine)
		counters_unlock();
}
