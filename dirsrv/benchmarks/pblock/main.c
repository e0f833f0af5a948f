/* SPDX-License-Identifier: MIT */
/*
 * pblock_life: the cost of a pblock's life, and of blocks of its size (README.md).
 * LD_PRELOAD replaces the C library's malloc by another one.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "life.h"

#define DEFAULT_ROUNDS 101
#define DEFAULT_BLOCK_ROUNDS 5
#define EXIT_USAGE 2

static struct result results[CONTESTANTS][WORKLOADS];
static unsigned rounds = DEFAULT_ROUNDS, block_rounds = DEFAULT_BLOCK_ROUNDS;

#define OURS results[0]
static struct block_result block_results[BLOCK_RESULTS];

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(const double *values, unsigned count)
{
	double sorted[MAX_ROUNDS];

	memcpy(sorted, values, count * sizeof(*values));
	qsort(sorted, count, sizeof(*sorted), by_value);
	return sorted[count / 2];
}

static double least(const double *values, unsigned count)
{
	double min = values[0];

	for (unsigned i = 1; i < count; i++)
		if (values[i] < min)
			min = values[i];
	return min;
}

typedef double cost_of(const struct result *of);

static double life(const struct result *of)
{
	return median(of->ns, rounds);
}

static double life_least(const struct result *of)
{
	return least(of->ns, rounds);
}

/* A life without its accesses. */
static double memory_least(const struct result *of)
{
	return least(of->ns, rounds) - least(of->access_ns, rounds);
}

/* The cost of an average pblock. */
static double weighted(cost_of *cost, const struct result *of)
{
	double sum = 0;

	for (unsigned work = 0; work < WORKLOADS; work++)
		sum += of[work].weight * cost(&of[work]);
	return sum;
}

/* The mean of the workloads' ratios: each pblock has the same weight, however long its life. */
static double mean_ratio(cost_of *cost, const struct result *of, const struct result *to)
{
	double sum = 0;

	for (unsigned work = 0; work < WORKLOADS; work++)
		sum += of[work].weight * cost(&of[work]) / cost(&to[work]);
	return sum;
}

static const struct {
	const char *json;
	cost_of *cost;
} costs[] = {
	{"life_median", life},
	{"life_least", life_least},
	{"without_accesses_least", memory_least},
};
#define COSTS (sizeof(costs) / sizeof(costs[0]))

static void json_weight(const struct weight *weight)
{
	printf("\"pieces\": %u, \"bytes\": %u, \"lines\": %u, \"filled\": %u}", weight->pieces,
	       weight->bytes, weight->lines, weight->filled);
}

static void json_lives(void)
{
	const char *comma = "";

	printf("{\n \"lives\": [");
	for (unsigned work = 0; work < WORKLOADS; work++)
		for (unsigned number = 0; number < CONTESTANTS; number++) {
			const struct result *r = &results[number][work];

			printf("%s\n  {\"workload\": \"%s\", \"weight\": %.2f, \"pblock\": \"%s\", "
			       "\"ns_median\": %.2f, \"ns_least\": %.2f, \"access_ns_least\": "
			       "%.2f, ",
			       comma, r->workload, r->weight, r->contestant, life(r), life_least(r),
			       least(r->access_ns, rounds));
			json_weight(&r->weight_at_end);
			comma = ",";
		}
	comma = "";
	printf("\n ],\n \"weighted\": [");
	for (unsigned i = 0; i < COSTS; i++)
		for (unsigned number = 0; number < CONTESTANTS; number++) {
			printf("%s\n  {\"cost\": \"%s\", \"pblock\": \"%s\", \"ns\": %.2f, "
			       "\"v3_of_it\": %.3f, \"mean_ratio_of_v3\": %.3f}",
			       comma, costs[i].json, results[number][0].contestant,
			       weighted(costs[i].cost, results[number]),
			       weighted(costs[i].cost, OURS) /
				       weighted(costs[i].cost, results[number]),
			       mean_ratio(costs[i].cost, OURS, results[number]));
			comma = ",";
		}
	printf("\n ]");
}

static void json_blocks(void)
{
	const char *comma = "";

	printf(",\n \"blocks\": [");
	for (unsigned i = 0; i < BLOCK_RESULTS; i++) {
		const struct block_result *r = &block_results[i];

		printf("%s\n  {\"order\": \"%s\", \"size\": %u, \"allocator\": \"%s\", "
		       "\"ms_first\": %.2f, \"ms_median\": %.2f, \"faults_first\": %lu, "
		       "\"faults_last\": %lu}",
		       comma, r->order, r->size, r->allocator, r->ms[0],
		       median(r->ms, block_rounds), r->faults[0], r->faults[block_rounds - 1]);
		comma = ",";
	}
	printf("\n ]");
}

static const char help[] = "usage: pblock_life [--rounds=N] [--blocks=N]    prints JSON\n"
			   "  --rounds=N  measure each life N times, 1 to 1000 (101)\n"
			   "  --blocks=N  measure a million blocks N times, 0 to 50 (5)\n";

static unsigned number(const char *option, const char *text, unsigned low, unsigned high)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (*text >= '0' && *text <= '9' && !*end && value >= low && value <= high)
		return (unsigned)value;
	fprintf(stderr, "pblock_life: %s wants a number from %u to %u, not '%s'\n", option, low,
		high, text);
	exit(EXIT_USAGE);
}

static void parse(int argc, char **argv)
{
	static const struct option options[] = {
		{"rounds", required_argument, NULL, 'r'},
		{"blocks", required_argument, NULL, 'b'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'r') {
			rounds = number("--rounds", optarg, 1, MAX_ROUNDS);
		} else if (option == 'b') {
			block_rounds = number("--blocks", optarg, 0, MAX_BLOCK_ROUNDS);
		} else if (option == 'h') {
			fputs(help, stdout);
			exit(0);
		} else {
			exit(EXIT_USAGE); /* getopt_long() has written the message */
		}
	}
}

int main(int argc, char **argv)
{
	parse(argc, argv);
	/* First, while this process has little free memory that its children could reuse. */
	if (block_rounds && measure_blocks(block_rounds, block_results)) {
		fputs("pblock_life: there is no memory for a million blocks\n", stderr);
		return 1;
	}
	measure_lives(rounds, results);
	json_lives();
	if (block_rounds)
		json_blocks();
	puts("\n}");
	return 0;
}
