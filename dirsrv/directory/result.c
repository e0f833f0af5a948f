/* SPDX-License-Identifier: MIT */
/* Arithmetic on results, and the one number that the kernel has to give. */
#include "result.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

void histogram_merge(struct histogram *into, const struct histogram *from)
{
	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
		into->count[i] += from->count[i];
}

/* The middle of a bucket, in nanoseconds. */
static double bucket_middle(size_t bucket)
{
	size_t exponent = bucket / 8 + 2;

	if (bucket < 8)
		return (double)bucket;
	return ((double)(8 + bucket % 8) + 0.5) * (double)(UINT64_C(1) << (exponent - 3));
}

double histogram_percentile(const struct histogram *histogram, double percent)
{
	uint64_t total = 0, seen = 0;

	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
		total += histogram->count[i];
	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
		seen += histogram->count[i];
		if (total && (double)seen >= (double)total * percent / 100)
			return bucket_middle(i);
	}
	return 0;
}

uint64_t result_operations(const struct result *result)
{
	uint64_t sum = 0;

	for (size_t kind = 0; kind < KIND_COUNT; kind++)
		sum += result->done[kind];
	return sum;
}

double result_rate(const struct result *result)
{
	return (double)result_operations(result) / result->seconds;
}

double result_cpu_us(const struct result *result)
{
	return result->cpu_seconds * 1e6 / (double)result_operations(result);
}

/* smaps_rollup counts pages; the counters of /proc/self/status lag behind. */
uint64_t result_resident(void)
{
	FILE *file = fopen("/proc/self/smaps_rollup", "re");
	char line[256];
	unsigned long kilobytes = 0;

	if (!file)
		return 0;
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "Anonymous: %lu kB", &kilobytes) == 1)
			break;
	fclose(file);
	return (uint64_t)kilobytes * 1024;
}
