/* SPDX-License-Identifier: MIT */
/*
 * Call sites: the tracks of a cache's objects, added up by stack.
 *
 * Records and tracks are copied slab by slab, and no thread is stopped. So the sums belong to no
 * single moment: an object that was freed and allocated again during the scan may count for either
 * call site. The table has room for every stack of the depot. It is a separate mapping, is sorted
 * in place, and is unmapped at the end.
 */
#include <errno.h>
#include <slab/debug.h>
#include <slab/slab.h>
#include <string.h>

#include "inspect/process.h"
#include "pages/os.h"
#include "report/depot.h"
#include "report/track.h"

#define STACKS_MAX (1u << 20)

/* The sums of one stack. An entry is in use if count is not 0. */
struct sum {
	uint32_t stack;
	int tid_min, tid_max;
	uint64_t count, waste;
	uint64_t when_sum, when_min, when_max;
	uint64_t cpus[SLAB_CALL_SITE_CPUS / 64];
	uint64_t nodes;
};

struct table {
	struct inspection *in;
	enum slab_traces kind;
	uint64_t since;
	struct sum *sum;
	size_t room; /* a power of two */
	size_t used;
	bool tracked; /* a slab with tracks was found */
	char *records; /* of the present slab */
	size_t records_room;
	uint64_t newest; /* the latest time of a track */
	int error;
};

static struct sum *find(struct table *table, uint32_t stack)
{
	size_t i = (uint32_t)(stack * UINT32_C(0x9e3779b1)) & (table->room - 1);

	while (table->sum[i].count && table->sum[i].stack != stack)
		i = (i + 1) & (table->room - 1);
	return &table->sum[i];
}

static void start_sum(struct sum *sum, const struct track *track)
{
	*sum = (struct sum){.stack = track->stack,
			    .tid_min = (int)track->tid,
			    .tid_max = (int)track->tid,
			    .when_min = track->when,
			    .when_max = track->when};
}

static void add(struct table *table, const struct track *track, unsigned node, uint64_t waste)
{
	struct sum *sum = find(table, track->stack);
	int tid = (int)track->tid;

	if (!sum->count) {
		/* One entry stays free, so that every search ends; further stacks are left
		 * out. */
		if (table->used + 1 >= table->room)
			return;
		table->used++;
		start_sum(sum, track);
	}
	sum->count++;
	sum->waste += waste;
	sum->when_sum += track->when;
	sum->when_min = track->when < sum->when_min ? track->when : sum->when_min;
	sum->when_max = track->when > sum->when_max ? track->when : sum->when_max;
	sum->tid_min = tid < sum->tid_min ? tid : sum->tid_min;
	sum->tid_max = tid > sum->tid_max ? tid : sum->tid_max;
	if (track->cpu < SLAB_CALL_SITE_CPUS)
		sum->cpus[track->cpu / 64] |= UINT64_C(1) << track->cpu % 64;
	sum->nodes |= UINT64_C(1) << node % 64;
	table->newest = track->when > table->newest ? track->when : table->newest;
}

static void add_object(struct table *table, const struct inspect_slab *seen, unsigned index)
{
	const char *at = table->records + (size_t)index * seen->debug.stride;
	struct debug_object record;
	struct track track;
	bool allocated;

	memcpy(&record, at, sizeof(record));
	allocated = record.state == OBJECT_ALLOCATED;
	if (allocated != (table->kind == SLAB_TRACES_ALLOCATED))
		return;
	at += sizeof(record) + (allocated ? TRACK_ALLOC : TRACK_FREE) * sizeof(track);
	memcpy(&track, at, sizeof(track));
	if (track.tid && track.when > table->since)
		add(table, &track, seen->slab.node,
		    record.requested < seen->debug.object_size
			    ? seen->debug.object_size - record.requested
			    : 0);
}

static size_t record_bytes(const struct inspect_slab *seen)
{
	return (size_t)seen->slab.initialized * seen->debug.stride;
}

/* Copy the records of a slab's objects. */
static int read_records(struct table *table, const struct inspect_slab *seen)
{
	size_t bytes = record_bytes(seen);

	if (bytes > table->records_room) {
		if (table->records)
			os_unmap(table->records, table->records_room);
		table->records_room = (bytes + 65535) & ~(size_t)65535;
		table->records = os_map(table->records_room, 1);
		if (!table->records) {
			table->records_room = 0;
			return -ENOMEM;
		}
	}
	return inspect_read(table->in, (uintptr_t)(seen->slab.debug + 1), bytes, table->records);
}

static void add_slab(struct inspection *in, struct inspect_cache *cache,
		     const struct inspect_slab *seen, void *arg)
{
	struct table *table = arg;

	(void)in;
	(void)cache;
	if (!seen->tagged || !(seen->debug.debug_flags & SLAB_STORE_USER) || table->error)
		return;
	if (seen->debug.stride < sizeof(struct debug_object) + 2 * sizeof(struct track))
		return;
	table->tracked = true;
	/* The slab was reused between the copies of its descriptor and of its struct slab_debug. */
	if (sizeof(struct slab_debug) + record_bytes(seen) > seen->side)
		return;
	table->error = read_records(table, seen);
	for (unsigned i = 0; i < seen->slab.initialized && !table->error; i++)
		add_object(table, seen, i);
}

/* --- sorting: the most objects first ------------------------------------------- */

static void swap(struct sum *a, struct sum *b)
{
	struct sum held = *a;

	*a = *b;
	*b = held;
}

/* Restore the heap below i; the smallest count is on top. */
static void sift(struct sum *sum, size_t i, size_t n)
{
	for (;;) {
		size_t least = i, child = 2 * i + 1;

		for (size_t c = child; c < n && c < child + 2; c++)
			if (sum[c].count < sum[least].count)
				least = c;
		if (least == i)
			return;
		swap(&sum[i], &sum[least]);
		i = least;
	}
}

static void sort(struct sum *sum, size_t n)
{
	for (size_t i = n / 2; i-- > 0;)
		sift(sum, i, n);
	for (size_t end = n; end-- > 1;) {
		swap(&sum[0], &sum[end]);
		sift(sum, 0, end);
	}
}

static size_t compact(struct table *table)
{
	size_t n = 0;

	for (size_t i = 0; i < table->room; i++)
		if (table->sum[i].count)
			table->sum[n++] = table->sum[i];
	return n;
}

/* --- the call -------------------------------------------------------------------- */

unsigned inspect_stack(const struct inspection *in, uint32_t id, const void **frames)
{
	const struct stack_depot *depot = in->root.stacks;
	uint64_t at = (uintptr_t)depot + offsetof(struct stack_depot, chunk) +
		      ((uint64_t)id * DEPOT_UNIT >> DEPOT_CHUNK_SHIFT) * sizeof(char *);
	struct stack_record record;
	uint64_t chunk, end;
	unsigned n;

	if (!id || (uint64_t)id * DEPOT_UNIT >> DEPOT_CHUNK_SHIFT >= DEPOT_CHUNKS_MAX ||
	    inspect_read(in, at, sizeof(chunk), &chunk) || !chunk)
		return 0;
	end = chunk + (UINT64_C(1) << DEPOT_CHUNK_SHIFT);
	at = chunk + ((uint64_t)id * DEPOT_UNIT & ((1u << DEPOT_CHUNK_SHIFT) - 1));
	if (inspect_read(in, at, sizeof(record), &record))
		return 0;
	n = record.signature & ((1u << DEPOT_COUNT_BITS) - 1);
	/* The id may come from a record that was half written: keep within the chunk. */
	if (!n || n > SLAB_STACK_MAX || at + sizeof(record) + n * sizeof(*frames) > end ||
	    inspect_read(in, at + sizeof(record), n * sizeof(*frames), frames))
		return 0;
	return n;
}

static void fill_site(const struct inspection *in, struct slab_call_site *site,
		      const struct sum *sum, uint64_t now)
{
	*site = (struct slab_call_site){
		.struct_size = sizeof(*site),
		.count = sum->count,
		.waste = sum->waste,
		.age_min_ms = now - sum->when_max,
		.age_avg_ms = now - sum->when_sum / sum->count,
		.age_max_ms = now - sum->when_min,
		.tid_min = sum->tid_min,
		.tid_max = sum->tid_max,
		.nodes = sum->nodes,
	};
	for (unsigned i = 0; i < SLAB_CALL_SITE_CPUS / 64; i++)
		site->cpus[i] = sum->cpus[i];
	site->frames = inspect_stack(in, sum->stack, site->frame);
}

static long report(struct table *table, int (*fn)(const struct slab_call_site *site, void *arg),
		   void *arg)
{
	size_t n = compact(table);
	uint64_t now = table->in->reader->now_ms;
	long seen = 0;

	if (now < table->newest)
		now = table->newest;
	sort(table->sum, n);
	for (size_t i = 0; i < n; i++) {
		struct slab_call_site site;

		fill_site(table->in, &site, &table->sum[i], now);
		seen++;
		if (fn(&site, arg))
			break;
	}
	return seen;
}

/* Map a table with at least twice as many entries as there are stacks, up to STACKS_MAX. */
static int make_table(struct table *table)
{
	uint64_t depot = (uintptr_t)table->in->root.stacks;
	uint32_t numbers[2]; /* next, count: see the layout */
	int error = inspect_read(table->in, depot + offsetof(struct stack_depot, next),
				 sizeof(numbers), numbers);

	if (error)
		return error;
	while (table->room < 2 * ((size_t)numbers[1] + 64) && table->room < STACKS_MAX)
		table->room *= 2;
	table->sum = os_map(table->room * sizeof(struct sum), 1);
	return table->sum ? 0 : -ENOMEM;
}

long inspect_traces(struct inspection *in, enum slab_traces kind, uint64_t since,
		    int (*fn)(const struct slab_call_site *site, void *arg), void *arg)
{
	struct table table = {.in = in, .kind = kind, .since = since, .room = 64};
	long result = make_table(&table);

	if (result)
		return result;
	result = inspect_each_slab(in, add_slab, &table);
	if (!result)
		result = table.error;
	if (!result)
		result = table.tracked ? report(&table, fn, arg) : -ENODATA;
	if (table.records)
		os_unmap(table.records, table.records_room);
	os_unmap(table.sum, table.room * sizeof(struct sum));
	return result;
}
