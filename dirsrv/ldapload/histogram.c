/* SPDX-License-Identifier: MIT */
/* Buckets: one for each value below HISTOGRAM_STEPS, then HISTOGRAM_STEPS for each power of two. */
#include "histogram.h"

#include <math.h>

#define STEP_BITS 6 /* HISTOGRAM_STEPS is 2^6 */

_Static_assert(HISTOGRAM_STEPS == 1u << STEP_BITS, "the steps are a power of two");

static unsigned bucket_of(uint64_t ns)
{
	unsigned shift, bucket;

	if (ns < HISTOGRAM_STEPS)
		return (unsigned)ns;
	shift = 63 - (unsigned)__builtin_clzll(ns) - STEP_BITS;
	bucket = (shift + 1) * HISTOGRAM_STEPS + (unsigned)(ns >> shift) - HISTOGRAM_STEPS;
	return bucket < HISTOGRAM_BUCKETS ? bucket : HISTOGRAM_BUCKETS - 1;
}

/* The largest value of a bucket. */
static uint64_t bucket_edge(unsigned bucket)
{
	unsigned shift;

	if (bucket < HISTOGRAM_STEPS)
		return bucket;
	shift = bucket / HISTOGRAM_STEPS - 1;
	return ((UINT64_C(1) + HISTOGRAM_STEPS + bucket % HISTOGRAM_STEPS) << shift) - 1;
}

void histogram_add(struct histogram *histogram, uint64_t ns)
{
	histogram->count[bucket_of(ns)]++;
	histogram->total++;
	if (ns > histogram->max)
		histogram->max = ns;
}

void histogram_merge(struct histogram *histogram, const struct histogram *from)
{
	for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
		histogram->count[i] += from->count[i];
	histogram->total += from->total;
	if (from->max > histogram->max)
		histogram->max = from->max;
}

uint64_t histogram_percentile(const struct histogram *histogram, double percent)
{
	uint64_t wanted = (uint64_t)ceil((double)histogram->total * percent / 100);
	uint64_t below = 0, edge;
	unsigned i = 0;

	if (histogram->total == 0)
		return 0;
	for (; i < HISTOGRAM_BUCKETS - 1; i++) {
		below += histogram->count[i];
		if (below > 0 && below >= wanted)
			break;
	}
	edge = i == HISTOGRAM_BUCKETS - 1 ? histogram->max : bucket_edge(i);
	return edge < histogram->max ? edge : histogram->max;
}
