/* SPDX-License-Identifier: MIT */
/*
 * Metrics as text, in two similar formats: OpenMetrics has units and an end marker, names a
 * counter's family without "_total", and has a type for constant information.
 *
 * All samples of a family must be adjacent. So each family is a row of a table, and the
 * writer goes over all processes and caches once for each row.
 */
#include "openmetrics.h"

/* A family with a number in struct metrics or struct metrics_cache, or with several
 * consecutive numbers that a label distinguishes. */
struct series {
	struct family family;
	size_t offset;
	unsigned flags;
	unsigned count;                  /* of numbers; 0: one number without this label */
	const char *label;               /* the label that distinguishes them */
	const char *(*value)(unsigned i); /* the label's value of number i */
};

#define ALONE 0x1        /* leave it out for sums */
#define WHEN_SET 0x2     /* leave it out if it is zero */
#define MICROSECONDS 0x4 /* the number is in microseconds, the metric in seconds */

static const char *state_name(unsigned i)
{
	static const char *const names[METRICS_STATES] = {"empty", "partial", "full"};

	return names[i];
}

#define OF_CACHE(member) offsetof(struct metrics_cache, member)
#define OF_PROCESS(member) offsetof(struct metrics, member)

static const struct series cache_series[] = {
	{.family = {"slab_cache_objects", FAMILY_GAUGE, NULL, "Objects that are allocated."},
	 .offset = OF_CACHE(objects)},
	{.family = {"slab_cache_capacity_objects", FAMILY_GAUGE, "objects",
		    "Objects that the cache's slabs have room for."},
	 .offset = OF_CACHE(capacity)},
	{.family = {"slab_cache_cpu_objects", FAMILY_GAUGE, "objects",
		    "Free objects in arrays of CPUs and in magazines."},
	 .offset = OF_CACHE(cpu_objects)},
	{.family = {"slab_cache_object_size_bytes", FAMILY_GAUGE, "bytes",
		    "Size of one object as requested."},
	 .offset = OF_CACHE(object_size),
	 .flags = ALONE},
	{.family = {"slab_cache_slabs", FAMILY_GAUGE, NULL,
		    "Slabs: with all objects free, with some, or with none."},
	 .offset = OF_CACHE(slabs),
	 .count = METRICS_STATES,
	 .label = "state",
	 .value = state_name},
	{.family = {"slab_cache_bytes", FAMILY_GAUGE, "bytes", "Size of all slabs."},
	 .offset = OF_CACHE(bytes)},
	{.family = {"slab_cache_used_bytes", FAMILY_GAUGE, "bytes",
		    "Size of all allocated objects."},
	 .offset = OF_CACHE(used_bytes)},
	{.family = {"slab_cache_populated_bytes", FAMILY_GAUGE, "bytes",
		    "Bytes of the slabs that have been touched and take memory."},
	 .offset = OF_CACHE(populated_bytes)},
	{.family = {"slab_cache_limit_bytes", FAMILY_GAUGE, "bytes",
		    "Bytes of slabs that the cache may have; only of caches with a limit."},
	 .offset = OF_CACHE(limit_bytes),
	 .flags = ALONE | WHEN_SET},
	{.family = {"slab_cache_debug_slabs", FAMILY_GAUGE, NULL, "Slabs with debug flags."},
	 .offset = OF_CACHE(debug_slabs)},
	{.family = {"slab_cache_guarded_slabs", FAMILY_GAUGE, NULL,
		    "Sampled objects between guard pages, each a slab of its own."},
	 .offset = OF_CACHE(guarded_slabs)},
	{.family = {"slab_cache_legacy_slabs", FAMILY_GAUGE, NULL,
		    "Slabs with an older layout: objects are freed into them, not allocated."},
	 .offset = OF_CACHE(legacy_slabs)},
	{.family = {"slab_cache_errors", FAMILY_COUNTER, NULL, "Misuse and damage that was found."},
	 .offset = OF_CACHE(errors),
	 .flags = ALONE},
	{.family = {"slab_cache_events", FAMILY_COUNTER, NULL, "What left the fast paths."},
	 .offset = OF_CACHE(events),
	 .flags = ALONE,
	 .count = SLAB_EVENT_COUNT,
	 .label = "event",
	 .value = slab_event_name},
	{.family = {"slab_cache_counted_allocations", FAMILY_COUNTER, NULL,
		    "Allocations while they were counted."},
	 .offset = OF_CACHE(counted),
	 .flags = ALONE},
	{.family = {"slab_cache_counted_seconds", FAMILY_COUNTER, "seconds",
		    "How long allocations were counted."},
	 .offset = OF_CACHE(counted_us),
	 .flags = ALONE | MICROSECONDS},
	{.family = {"slab_cache_rcu_pending_objects", FAMILY_GAUGE, NULL,
		    "Objects that wait for a grace period; only of caches that free so."},
	 .offset = OF_CACHE(rcu_pending),
	 .flags = ALONE | WHEN_SET},
	{.family = {"slab_cache_rcu_freed_objects", FAMILY_COUNTER, NULL,
		    "Objects that have waited for a grace period."},
	 .offset = OF_CACHE(rcu_freed),
	 .flags = ALONE | WHEN_SET},
	{.family = {"slab_cache_limit_hits", FAMILY_COUNTER, NULL,
		    "Allocations that failed because of a limit."},
	 .offset = OF_CACHE(limit_hits),
	 .flags = ALONE | WHEN_SET},
	{.family = {"slab_cache_reserve_objects", FAMILY_GAUGE, NULL,
		    "Objects kept for when there is no memory; only of caches with a reserve."},
	 .offset = OF_CACHE(reserve),
	 .flags = ALONE | WHEN_SET},
	{.family = {"slab_cache_reserve_left_objects", FAMILY_GAUGE, NULL,
		    "Objects of the reserve that are there."},
	 .offset = OF_CACHE(reserve_left),
	 .flags = ALONE | WHEN_SET},
	{.family = {"slab_cache_reclaimed_objects", FAMILY_COUNTER, NULL,
		    "Objects that the application freed on reclaim."},
	 .offset = OF_CACHE(reclaimed),
	 .flags = ALONE | WHEN_SET},
	{.family = {"slab_cache_moved_objects", FAMILY_COUNTER, NULL,
		    "Objects that were moved to denser slabs."},
	 .offset = OF_CACHE(moved),
	 .flags = ALONE | WHEN_SET},
};

static const struct series process_series[] = {
	{.family = {"slab_process_uptime_seconds", FAMILY_GAUGE, "seconds",
		    "Time since the process initialized libslab."},
	 .offset = OF_PROCESS(uptime),
	 .flags = ALONE},
	{.family = {"slab_process_caches", FAMILY_GAUGE, NULL, "Caches of the process."},
	 .offset = OF_PROCESS(caches)},
	{.family = {"slab_process_folded_caches", FAMILY_GAUGE, NULL,
		    "Caches that are summed up under cache=\"" METRICS_OTHER "\"."},
	 .offset = OF_PROCESS(folded_caches)},
	{.family = {"slab_process_slab_bytes", FAMILY_GAUGE, "bytes", "Slabs in use by caches."},
	 .offset = OF_PROCESS(slab_bytes)},
	{.family = {"slab_process_cached_bytes", FAMILY_GAUGE, "bytes",
		    "Free slabs that still hold memory."},
	 .offset = OF_PROCESS(cached_bytes)},
	{.family = {"slab_process_large_bytes", FAMILY_GAUGE, "bytes",
		    "Large allocations of slab_malloc()."},
	 .offset = OF_PROCESS(large_bytes)},
	{.family = {"slab_process_metadata_bytes", FAMILY_GAUGE, "bytes",
		    "Descriptors, index stacks and per-CPU areas."},
	 .offset = OF_PROCESS(metadata_bytes)},
};

static const struct family process_info = {"slab_process", FAMILY_INFO, NULL,
					   "Version of libslab, and how its CPUs commit changes."};

/* --- text -------------------------------------------------------------------- */

/* The suffix of a family's samples. */
static const char *suffix(const struct family *family)
{
	static const char *const suffixes[] = {
		[FAMILY_GAUGE] = "", [FAMILY_COUNTER] = "_total", [FAMILY_INFO] = "_info"};

	return suffixes[family->type];
}

/* Help texts and label values escape the same three characters by a backslash; help of the
 * classic format does not escape a quote. */
static void put_escaped(FILE *out, const char *text, bool quotes)
{
	for (; *text; text++) {
		if (*text == '\\' || (quotes && *text == '"'))
			fputc('\\', out);
		if (*text == '\n')
			fputs("\\n", out);
		else
			fputc(*text, out);
	}
}

static void put_label(FILE *out, char before, const char *name, const char *value)
{
	fprintf(out, "%c%s=\"", before, name);
	put_escaped(out, value, true);
	fputc('"', out);
}

void openmetrics_head(FILE *out, enum exposition exposition, const struct family *family)
{
	static const char *const types[] = {
		[FAMILY_GAUGE] = "gauge", [FAMILY_COUNTER] = "counter", [FAMILY_INFO] = "info"};
	bool classic = exposition == EXPOSITION_CLASSIC;
	const char *last = classic ? suffix(family) : "";
	const char *type = classic && family->type == FAMILY_INFO ? "gauge" : types[family->type];

	fprintf(out, "# HELP %s%s ", family->name, last);
	put_escaped(out, family->help, !classic);
	fprintf(out, "\n# TYPE %s%s %s\n", family->name, last, type);
	if (!classic && family->unit)
		fprintf(out, "# UNIT %s %s\n", family->name, family->unit);
}

void openmetrics_number(FILE *out, enum exposition exposition, const struct family *family,
			double number)
{
	openmetrics_head(out, exposition, family);
	fprintf(out, "%s%s %.15g\n", family->name, suffix(family), number);
}

void openmetrics_end(FILE *out, enum exposition exposition)
{
	if (exposition == EXPOSITION_OPENMETRICS)
		fputs("# EOF\n", out);
}

/* --- families ---------------------------------------------------------------- */

/* The name of a sample and the common labels, without the closing brace. */
static void put_name(FILE *out, const struct family *family, const struct metrics *metrics)
{
	fprintf(out, "%s%s", family->name, suffix(family));
	put_label(out, '{', "process", metrics->process);
	fprintf(out, ",pid=\"%" PRIu64 "\"", metrics->pid);
}

static void put_value(FILE *out, const struct series *series, uint64_t number)
{
	if (series->flags & MICROSECONDS)
		fprintf(out, "} %" PRIu64 ".%06" PRIu64 "\n", number / 1000000, number % 1000000);
	else
		fprintf(out, "} %" PRIu64 "\n", number);
}

/* The samples of a series in one object, which lies in struct metrics_cache or, without
 * a cache, in struct metrics. */
static void put_samples(FILE *out, const struct series *series, const struct metrics *metrics,
			const struct metrics_cache *cache)
{
	const char *object = cache ? (const char *)cache : (const char *)metrics;
	const uint64_t *numbers = (const uint64_t *)(const void *)(object + series->offset);
	bool is_sum = cache ? cache->is_sum : metrics->is_sum;

	if (is_sum && (series->flags & ALONE))
		return;
	if (!numbers[0] && (series->flags & WHEN_SET))
		return;
	for (unsigned i = 0; i < (series->count ? series->count : 1); i++) {
		put_name(out, &series->family, metrics);
		if (cache)
			put_label(out, ',', "cache", cache->name);
		if (series->count)
			put_label(out, ',', series->label, series->value(i));
		put_value(out, series, numbers[i]);
	}
}

static void put_process_info(FILE *out, const struct metrics *metrics)
{
	put_name(out, &process_info, metrics);
	put_label(out, ',', "version", metrics->version);
	put_label(out, ',', "engine", metrics->engine);
	fputs("} 1\n", out);
}

static void write_caches(FILE *out, const struct series *series, const struct metrics *list,
			 size_t count)
{
	for (size_t i = 0; i < count; i++) {
		for (size_t k = 0; k < list[i].count; k++)
			put_samples(out, series, &list[i], &list[i].cache[k]);
	}
}

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

void openmetrics_write(FILE *out, enum exposition exposition, const struct metrics *list,
		       size_t count)
{
	openmetrics_head(out, exposition, &process_info);
	for (size_t i = 0; i < count; i++) {
		if (!list[i].is_sum)
			put_process_info(out, &list[i]);
	}
	for (size_t s = 0; s < LENGTH(process_series); s++) {
		openmetrics_head(out, exposition, &process_series[s].family);
		for (size_t i = 0; i < count; i++)
			put_samples(out, &process_series[s], &list[i], NULL);
	}
	for (size_t s = 0; s < LENGTH(cache_series); s++) {
		openmetrics_head(out, exposition, &cache_series[s].family);
		write_caches(out, &cache_series[s], list, count);
	}
}
