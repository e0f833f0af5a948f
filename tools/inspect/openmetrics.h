/* SPDX-License-Identifier: MIT */
/*
 * Metrics for Prometheus and others that read its formats: what slabinfo
 * --openmetrics prints for one process and what slab-exporter serves for all.
 *
 * A process's numbers are taken into a structure of bounded size first: a
 * monitoring system pays for each name that it has ever seen, so there are at most
 * max_caches caches by name, and the rest is one cache "other". Of that one there are
 * no counters: caches move in and out, and a sum of counters that is not always of
 * the same caches looks like a rate that no cache had.
 */
#ifndef INSPECT_OPENMETRICS_H
#define INSPECT_OPENMETRICS_H

#include "attach.h"
#include "attached.h"
#include "model.h"

#include <slab/stats.h>
#include <stdio.h>

/* Bytes of a name with the zero behind it; longer ones are cut. */
#define METRICS_NAME 64

#define METRICS_OTHER "other"

/* The states of slabs as labels: of a CPU, on a node's list, full. */
#define METRICS_STATES 3

struct metrics_cache {
	char name[METRICS_NAME];
	uint64_t objects, capacity, object_size;
	uint64_t slabs[METRICS_STATES];
	uint64_t bytes, used_bytes, populated_bytes, limit_bytes;
	uint64_t debug_slabs, guarded_slabs, legacy_slabs;
	uint64_t errors, counted, counted_us;
	uint64_t rcu_pending, rcu_freed, limit_hits, reserve, reserve_left, reclaimed, moved;
	uint64_t events[SLAB_EVENT_COUNT];
	uint64_t is_sum; /* 1: several caches, called METRICS_OTHER */
};

/* One that the program attached to a cache. */
struct metrics_counter {
	char name[SLAB_COUNTER_NAME_MAX + 1];
	enum slab_counter_kind kind;
	size_t cache; /* number in struct metrics */
	uint64_t value;
};

struct metrics {
	char process[METRICS_NAME], version[METRICS_NAME], engine[METRICS_NAME];
	uint64_t pid;
	uint64_t is_sum; /* 1: several processes, called METRICS_OTHER, pid 0 */
	uint64_t uptime, slab_bytes, cached_bytes, large_bytes, metadata_bytes;
	uint64_t caches;        /* how many the process has */
	uint64_t folded_caches; /* how many of them are in METRICS_OTHER */
	uint64_t errors;        /* of all of them */
	size_t count;
	struct metrics_cache *cache; /* of `count` entries */
	size_t counters;
	struct metrics_counter *counter; /* of caches that are not summed up */
};

/*
 * metrics_take: the numbers of a process, with at most max_caches of its caches by
 * name (0: all): those with errors first, then the largest. False after reporting
 * with fail() that there is no memory; else *metrics is freed with metrics_free().
 */
bool metrics_take(struct metrics *metrics, const struct process *process, const struct model *model,
		  size_t max_caches);
void metrics_free(struct metrics *metrics);

/*
 * metrics_fold: keep at most max_processes of the list, chosen as caches are, and
 * sum up the rest in one further entry. Returns the list's new length, with
 * *folded, how many are in the sum. Kept ones keep their order.
 */
size_t metrics_fold(struct metrics *list, size_t count, size_t max_processes, size_t *folded);

/* The two formats, and what they are called in HTTP. */
enum exposition {
	EXPOSITION_OPENMETRICS, /* OpenMetrics 1.0 */
	EXPOSITION_CLASSIC,     /* Prometheus text 0.0.4 */
};

#define OPENMETRICS_TYPE "application/openmetrics-text; version=1.0.0; charset=utf-8"
#define CLASSIC_TYPE "text/plain; version=0.0.4; charset=utf-8"

/* A family of metrics; its name without "_total" and "_info". */
struct family {
	const char *name;
	enum family_type {
		FAMILY_GAUGE,
		FAMILY_COUNTER,
		FAMILY_INFO,
	} type;
	const char *unit; /* the name's last word, NULL: none */
	const char *help;
};

/* openmetrics_write: all families of some processes; openmetrics_end() follows. */
void openmetrics_write(FILE *out, enum exposition exposition, const struct metrics *list,
		       size_t count);

/* openmetrics_head: what stands above the samples of a family, and
 * openmetrics_number: a family of one sample without labels. */
void openmetrics_head(FILE *out, enum exposition exposition, const struct family *family);
void openmetrics_number(FILE *out, enum exposition exposition, const struct family *family,
			double number);

/* openmetrics_end: nothing was cut off. */
void openmetrics_end(FILE *out, enum exposition exposition);

#endif /* INSPECT_OPENMETRICS_H */
