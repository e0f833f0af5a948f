/* SPDX-License-Identifier: MIT */
/*
 * peak: allocate, free 90 % at random, then idle.
 *
 * The program frees whole entries with all their parts, as a cache that evicts ("entries");
 * or single objects, a string together with its object ("objects"); or objects of a single
 * size. A fixed seed makes the choice the same for all contestants. Most objects are freed
 * by another thread than the one that allocated them. The threads stay and sleep.
 */
#include <stdlib.h>
#include <string.h>

#include "record.h"
#include "team.h"

#define THREADS 4u
#define SURVIVORS 10 /* one record in 10 stays */
#define SEED 20150115u

static unsigned records;
static bool whole; /* records are freed as a whole */
static uint32_t *order;
static unsigned to_free;

/* Every eighth entry has a photo, one of 32 of these a large one. */
static enum photo photo_of(unsigned id)
{
	unsigned nth = id / 8;

	if (id % 8)
		return PHOTO_NONE;
	if (nth % 32 == 31)
		return PHOTO_1500000;
	return nth % 2 ? PHOTO_3500 : PHOTO_28;
}

static void fill(unsigned self)
{
	for (unsigned n = 1 + self; n <= records; n += THREADS) {
		record_load(record_at(n), n, photo_of(n));
		record_at(n)->state = RECORD_LIVE;
	}
}

static void release(unsigned self)
{
	for (unsigned i = self; i < to_free; i += THREADS) {
		if (whole)
			record_drop(record_at(order[i]));
		else
			record_drop_part(record_at(order[i] / RECORD_PARTS),
					 order[i] % RECORD_PARTS);
	}
}

static void shuffle(unsigned n)
{
	uint64_t random = SEED;

	for (unsigned i = n; i > 1; i--) {
		unsigned j = (unsigned)(bench_random(&random) % i);
		uint32_t other = order[j];

		order[j] = order[i - 1];
		order[i - 1] = other;
	}
}

/* The order of freeing: of records, or of parts of records that are there. */
static void make_order(void)
{
	unsigned n = 0;

	order = bench_map((size_t)records * (whole ? 1 : record_parts()) * sizeof(*order));
	for (unsigned r = 1; r <= records; r++) {
		if (whole) {
			order[n++] = r;
			continue;
		}
		for (unsigned part = 0; part < record_parts(); part++)
			if (record_at(r)->part[part] && !record_is_string(part))
				order[n++] = r * RECORD_PARTS + part;
	}
	shuffle(n);
	to_free = n - n / SURVIVORS;
}

static enum type type_of(const char *what)
{
	for (int t = TYPE_64; t < TYPES; t++)
		if ((size_t)atoi(what) == types[t].size)
			return t;
	return TYPES;
}

static size_t live_bytes(void)
{
	size_t bytes = 0;

	for (unsigned r = 1; r <= records; r++)
		bytes += record_live_bytes(record_at(r));
	return bytes;
}

void peak_run(const char *what, size_t bytes)
{
	whole = strcmp(what, "entries") == 0;
	record_layout(type_of(what));
	for (size_t sum = 0; sum < bytes; sum += record_bytes(records, photo_of(records)))
		records++;
	record_table(records);
	team_begin(THREADS);
	bench_hold("start");
	team_start(fill);
	team_wait();
	make_order();
	bench_hold("peak");
	team_start(release);
	team_wait();
	bench_say("live %zu", live_bytes());
	bench_hold("freed");
	bench_say("moved %ld", contestant_defrag());
	bench_hold("idle");
}
