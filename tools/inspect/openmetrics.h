/* SPDX-License-Identifier: MIT */
/*
 * Metrics for Prometheus and for others that read its formats. slabinfo --openmetrics prints them
 * for one process; slab-exporter serves them for all processes.
 *
 * A monitoring system stores each name that it has ever seen, so the number of names is bounded: at
 * most max_caches caches of a process appear by name, and the others are summed up as one cache
 * "other". That cache has no counters: it does not always consist of the same caches, and a sum of
 * their counters would look like a rate that no cache had.
 */
#pragma once

#include "attach.h"
#include "model.h"

#include <slab/stats.h>

/* Bytes of a name including the final zero; longer names are cut. */
#define METRICS_NAME 64

#define METRICS_OTHER "other"

/* The states of slabs, which are labels: empty, partial, full. */
#define METRICS_STATES 3

struct metrics_cache {
	char name[METRICS_NAME];
	uint64_t objects, capacity, cpu_objects, object_size;
	uint64_t slabs[METRICS_STATES];
	uint64_t bytes, used_bytes, populated_bytes, limit_bytes;
	uint64_t debug_slabs, guarded_slabs, legacy_slabs;
	uint64_t errors, counted, counted_us;
	uint64_t rcu_pending, rcu_freed, limit_hits, reserve, reserve_left, reclaimed, moved;
	uint64_t events[SLAB_EVENT_COUNT];
	uint64_t is_sum; /* 1: several caches, called METRICS_OTHER */
};

struct metrics {
	char process[METRICS_NAME], version[METRICS_NAME], engine[METRICS_NAME];
	uint64_t pid;
	uint64_t is_sum; /* 1: several processes, called METRICS_OTHER, pid 0 */
	uint64_t uptime, slab_bytes, cached_bytes, large_bytes, metadata_bytes;
	uint64_t caches;        /* the number of the process's caches */
	uint64_t folded_caches; /* the number of them that are in METRICS_OTHER */
	uint64_t errors;        /* of all caches */
	size_t count;
	struct metrics_cache *cache; /* of `count` entries */
};

/*
 * metrics_take: take the numbers of a process. At most max_caches of its caches appear by name (0:
 * all of them): first those with errors, then the largest. false after fail() has reported that
 * there is no memory; otherwise the caller frees *metrics by metrics_free().
 */
bool metrics_take(struct metrics *metrics, const struct process *process, const struct model *model,
		  size_t max_caches);
void metrics_free(struct metrics *metrics);

/*
 * metrics_fold: keep at most max_processes of the list, chosen as caches are, and sum up the others
 * in one more entry. Processes that are kept stay in their order. Returns the new length of the
 * list; *folded: the number of processes in the sum.
 */
size_t metrics_fold(struct metrics *list, size_t count, size_t max_processes, size_t *folded);

/* The two formats, and their content types in HTTP. */
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

/* openmetrics_write: write all families of some processes. openmetrics_end() follows. */
void openmetrics_write(FILE *out, enum exposition exposition, const struct metrics *list,
		       size_t count);

/* openmetrics_head: write the lines above the samples of a family. openmetrics_number: write a
 * family that has one sample without labels. */
void openmetrics_head(FILE *out, enum exposition exposition, const struct family *family);
void openmetrics_number(FILE *out, enum exposition exposition, const struct family *family,
			double number);

/* openmetrics_end: write the end marker, if the format has one: the text is complete. */
void openmetrics_end(FILE *out, enum exposition exposition);
