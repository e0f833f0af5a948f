/* SPDX-License-Identifier: MIT */
/*
 * A histogram of latencies. Buckets are 1/64 of a power of two wide, so that a percentile is at
 * most 1.6 % above the latency itself, from one nanosecond to 18 minutes.
 */
#ifndef LDAPLOAD_HISTOGRAM_H
#define LDAPLOAD_HISTOGRAM_H

#include <stdint.h>

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

#endif /* LDAPLOAD_HISTOGRAM_H */
