/* SPDX-License-Identifier: MIT */
/* What a run measured: latencies, and the output. */
#pragma once

#include "args.h"

#define HISTOGRAM_STEPS 64u /* buckets for each power of two */
#define HISTOGRAM_POWERS 35u
#define HISTOGRAM_BUCKETS (HISTOGRAM_POWERS * HISTOGRAM_STEPS)

/* Zeroed memory is an empty histogram. Not MT-safe. */
struct histogram {
	uint64_t count[HISTOGRAM_BUCKETS];
	uint64_t total; /* values */
	uint64_t max;   /* ns */
};

/* histogram_add: count one value. Values beyond the last bucket are counted in it. */
void histogram_add(struct histogram *histogram, uint64_t ns);

/* histogram_merge: add the values of `from`. */
void histogram_merge(struct histogram *histogram, const struct histogram *from);

/*
 * histogram_percentile: in ns, the upper edge of the bucket in which `percent` of the values are
 * reached, and at most the maximum. 0 without values.
 */
uint64_t histogram_percentile(const struct histogram *histogram, double percent);

struct tally;

struct results {
	const struct args *args;
	const struct tally *tally; /* of all threads */
	double seconds;     /* of the measured run */
	unsigned idle_lost;
};

/* report_unexpected: operations and connections that did not end as they must. */
uint64_t report_unexpected(const struct results *results);

/* report_print: as a table, or as JSON. */
void report_print(FILE *out, const struct results *results);
