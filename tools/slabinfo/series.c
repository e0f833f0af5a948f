/* SPDX-License-Identifier: MIT */
/* From samples to the lines of a plot: the largest caches get a line each, the others one
 * together. */
#include "plot.h"

#include <math.h>

/* Samples may come late: on a busy machine, or when the process was slow to answer. */
#define GAP_INTERVALS 3
#define GAP_LEAST_MS 1000

struct ranked {
	size_t cache;
	uint64_t bytes;
};

static int compare_ranked(const void *left, const void *right)
{
	const struct ranked *a = left, *b = right;

	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	return (a->cache > b->cache) - (a->cache < b->cache);
}

/* For each cache the most bytes that it had, largest first. */
static struct ranked *rank(const struct samples *samples)
{
	struct ranked *ranked = calloc(samples->names_count + 1, sizeof(*ranked));

	if (!ranked)
		return NULL;
	for (size_t i = 0; i < samples->names_count; i++)
		ranked[i].cache = i;
	for (size_t i = 0; i < samples->count; i++) {
		for (size_t j = 0; j < samples->samples[i].count; j++) {
			const struct reading *reading = &samples->samples[i].readings[j];

			if (ranked[reading->cache].bytes < reading->bytes)
				ranked[reading->cache].bytes = reading->bytes;
		}
	}
	qsort(ranked, samples->names_count, sizeof(*ranked), compare_ranked);
	return ranked;
}

static bool make_values(struct series *series, size_t count)
{
	for (size_t i = 0; i < QUANTITIES; i++) {
		series->values[i] = calloc(count + 1, sizeof(double));
		if (!series->values[i])
			return false;
		for (size_t j = 0; j < count; j++)
			series->values[i][j] = NAN;
	}
	return true;
}

static void add_value(double *value, uint64_t more)
{
	*value = (isnan(*value) ? 0 : *value) + (double)more;
}

/* places[c] is the series in which cache c is. */
static void fill(struct series_list *list, const struct samples *samples, const size_t *places)
{
	for (size_t i = 0; i < samples->count; i++) {
		for (size_t j = 0; j < samples->samples[i].count; j++) {
			const struct reading *reading = &samples->samples[i].readings[j];
			struct series *series = &list->series[places[reading->cache]];
			uint64_t waste =
				reading->bytes > reading->used ? reading->bytes - reading->used : 0;

			add_value(&series->values[QUANTITY_OBJECTS][i], reading->objects);
			add_value(&series->values[QUANTITY_BYTES][i], reading->bytes);
			add_value(&series->values[QUANTITY_WASTE][i], waste);
		}
	}
}

static bool make(struct series_list *list, const struct samples *samples, size_t most,
		 const struct ranked *ranked, size_t *places)
{
	size_t caches = samples->names_count, lines;

	/* A line for one other cache is no worse than one for "others". */
	if (caches <= most + 1)
		most = caches;
	list->others = caches - most;
	lines = most + (list->others > 0);
	list->series = calloc(lines ? lines : 1, sizeof(*list->series));
	if (!list->series)
		return false;
	list->count = lines;
	for (size_t i = 0; i < list->count; i++) {
		if (!make_values(&list->series[i], samples->count))
			return false;
	}
	for (size_t i = 0; i < caches; i++) {
		places[ranked[i].cache] = i < most ? i : most;
		if (i < most)
			list->series[i].name = samples->names[ranked[i].cache];
	}
	fill(list, samples, places);
	return true;
}

bool series_make(struct series_list *list, const struct samples *samples, size_t most)
{
	struct ranked *ranked = rank(samples);
	size_t *places = calloc(samples->names_count + 1, sizeof(*places));
	bool made;

	memset(list, 0, sizeof(*list));
	made = ranked && places && make(list, samples, most, ranked, places);
	if (!made)
		fail("no memory for the lines of %zu caches", samples->names_count);
	free(ranked);
	free(places);
	return made;
}

void series_free(struct series_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		for (size_t j = 0; j < QUANTITIES; j++)
			free(list->series[i].values[j]);
	}
	free(list->series);
}

bool series_gap(const struct samples *samples, size_t i)
{
	const struct sample *now = &samples->samples[i], *last = now - 1;
	uint64_t most;

	if (i == 0 || now->pid != last->pid)
		return true;
	most = GAP_INTERVALS *
	       (now->interval_ms > last->interval_ms ? now->interval_ms : last->interval_ms);
	return now->ms - last->ms > (most > GAP_LEAST_MS ? most : GAP_LEAST_MS);
}
