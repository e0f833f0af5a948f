/* SPDX-License-Identifier: MIT */
/*
 * Call sites: the tracks of a cache's objects, added up by stack.
 *
 * A slab's tracks are read under its node's lock, slab by slab, so the sum is of
 * no single moment. The table has room for every stack there is, in memory of
 * its own that is given back; it is sorted in place.
 */
#include <errno.h>
#include <time.h>

#include "debug_cache.h"

/* What is known of one stack; used when count is not 0. */
struct sum {
	uint32_t stack;
	int tid_min, tid_max;
	uint64_t count, waste;
	uint64_t when_sum, when_min, when_max;
	uint64_t cpus[SLAB_CALL_SITE_CPUS / 64];
	uint64_t nodes;
};

struct table {
	struct slab_cache *cache;
	enum slab_traces kind;
	uint64_t since;
	struct sum *sum;
	size_t room; /* a power of two */
	size_t used;
	bool tracked; /* there are slabs with tracks at all */
};

static struct sum *find(struct table *table, uint32_t stack)
{
	size_t i = stack * UINT32_C(0x9e3779b1) & (table->room - 1);

	while (table->sum[i].count && table->sum[i].stack != stack)
		i = (i + 1) & (table->room - 1);
	return &table->sum[i];
}

static void add(struct table *table, const struct slab *slab, unsigned index,
		const struct track *track)
{
	struct sum *sum = find(table, track->stack);
	const struct debug_object *record = debug_record(slab, index);
	int tid = (int)track->tid;

	if (!sum->count) {
		/* One place stays free, where every search ends; what is more than the
		 * table was made for is left out. */
		if (table->used + 1 >= table->room)
			return;
		table->used++;
		*sum = (struct sum){.stack = track->stack,
				    .tid_min = tid,
				    .tid_max = tid,
				    .when_min = track->when,
				    .when_max = track->when};
	}
	sum->count++;
	sum->waste += slab->debug->object_size - record->requested;
	sum->when_sum += track->when;
	sum->when_min = track->when < sum->when_min ? track->when : sum->when_min;
	sum->when_max = track->when > sum->when_max ? track->when : sum->when_max;
	sum->tid_min = tid < sum->tid_min ? tid : sum->tid_min;
	sum->tid_max = tid > sum->tid_max ? tid : sum->tid_max;
	if (track->cpu < SLAB_CALL_SITE_CPUS)
		sum->cpus[track->cpu / 64] |= UINT64_C(1) << track->cpu % 64;
	sum->nodes |= UINT64_C(1) << slab->node % 64;
}

static void add_object(struct table *table, const struct slab *slab, unsigned index)
{
	bool allocated = debug_is_allocated(slab, index);
	const struct track *track;

	if (allocated != (table->kind == SLAB_TRACES_ALLOCATED))
		return;
	track = debug_track(slab, index, allocated ? TRACK_ALLOC : TRACK_FREE);
	if (track->tid && track->when > table->since)
		add(table, slab, index, track);
}

static void add_slab(struct slab *slab, void *arg)
{
	struct table *table = arg;
	struct slab_cache *cache = table->cache;

	if (!slab->debug || !slab_is_tagged(slab, SLAB_TAG_DEBUG))
		return;
	pthread_mutex_lock(&cache->node[slab->node].lock);
	if (slab_user(slab) == cache && slab->debug->letters & SLAB_STORE_USER) {
		table->tracked = true;
		for (unsigned i = 0; i < slab->carved; i++)
			add_object(table, slab, i);
	}
	pthread_mutex_unlock(&cache->node[slab->node].lock);
}

/* --- sorting: the most objects first ------------------------------------------- */

static void swap(struct sum *a, struct sum *b)
{
	struct sum held = *a;

	*a = *b;
	*b = held;
}

/* Heap with the smallest count on top. */
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

static void fill_site(struct slab_call_site *site, const struct sum *sum, uint64_t now)
{
	const void *const *frames = NULL;

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
	site->frames = sum->stack ? depot_load(sum->stack, &frames) : 0;
	for (unsigned i = 0; i < site->frames; i++)
		site->frame[i] = frames[i];
}

static long report(struct table *table, int (*fn)(const struct slab_call_site *site, void *arg),
		   void *arg)
{
	size_t n = compact(table);
	uint64_t now = track_now();
	long seen = 0;

	sort(table->sum, n);
	for (size_t i = 0; i < n; i++) {
		struct slab_call_site site;

		fill_site(&site, &table->sum[i], now);
		seen++;
		if (fn(&site, arg))
			break;
	}
	return seen;
}

static long fail(int error)
{
	errno = error;
	return -error;
}

long slab_cache_traces(struct slab_cache *cache, enum slab_traces kind, uint64_t since,
		       int (*fn)(const struct slab_call_site *site, void *arg), void *arg)
{
	struct table table = {.cache = cache, .kind = kind, .since = since, .room = 64};
	long seen;

	if (!cache || cache->magic != CACHE_MAGIC ||
	    (kind != SLAB_TRACES_ALLOCATED && kind != SLAB_TRACES_FREED))
		return fail(EINVAL);
	while (table.room < 2 * ((size_t)depot_count() + 64))
		table.room *= 2;
	table.sum = os_map(table.room * sizeof(struct sum), 4096);
	if (!table.sum)
		return fail(ENOMEM);
	cache_each_slab(cache, add_slab, &table);
	seen = table.tracked ? report(&table, fn, arg) : fail(ENODATA);
	os_unmap(table.sum, table.room * sizeof(struct sum));
	return seen;
}

uint64_t slab_mark(void)
{
	static const struct timespec moment = {.tv_nsec = 100000};
	uint64_t mark = track_now();

	/* What is allocated from now on is of a later millisecond. */
	while (track_now() == mark)
		nanosleep(&moment, NULL);
	return mark;
}
