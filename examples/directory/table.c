/* SPDX-License-Identifier: MIT */
/*
 * The table of the comparison: a row for each figure, a column for each side, and the
 * ratio of libslab to the best of the others. It fits 80 columns.
 */
#include "compare.h"
#include "screen.h"

#include <stdio.h>
#include <stdlib.h>

enum better { HIGHER, LOWER };

/* The number is the function's second argument. */
struct row {
	const char *name;
	double (*value)(const struct result *result, unsigned number);
	unsigned number;
	int decimals;
	enum better better;
};

static double rate(const struct result *result, unsigned unused)
{
	(void)unused;
	return result_rate(result);
}

static double kind_rate(const struct result *result, unsigned kind)
{
	return (double)result->done[kind] / result->seconds;
}

static double cpu_us(const struct result *result, unsigned unused)
{
	(void)unused;
	return result_cpu_us(result);
}

static double latency_us(const struct result *result, unsigned percent)
{
	return histogram_percentile(&result->latency, percent) / 1000;
}

static double pblocks(const struct result *result, unsigned unused)
{
	(void)unused;
	return (double)result->pblocks / (double)result_operations(result);
}

static double pblock_bytes(const struct result *result, unsigned unused)
{
	(void)unused;
	return (double)result->pblock_bytes / (double)result_operations(result);
}

static double load_seconds(const struct result *result, unsigned unused)
{
	(void)unused;
	return result->load_seconds;
}

static double mib(uint64_t bytes)
{
	return (double)bytes / (1024 * 1024);
}

static double resident_loaded(const struct result *result, unsigned unused)
{
	(void)unused;
	return mib(result->resident_loaded);
}

static double resident_end(const struct result *result, unsigned unused)
{
	(void)unused;
	return mib(result->resident_end);
}

/* What the process has grown by, for each byte of the directory. */
static double growth(const struct result *result, unsigned unused)
{
	(void)unused;
	return ((double)result->resident_end - (double)result->resident_before) /
	       (double)result->end.bytes;
}

static const struct row rows[] = {
	{"operations/s", rate, 0, 0, HIGHER},
	{"  search", kind_rate, KIND_SEARCH, 0, HIGHER},
	{"  base", kind_rate, KIND_BASE, 0, HIGHER},
	{"  or10", kind_rate, KIND_OR, 0, HIGHER},
	{"  modify", kind_rate, KIND_MODIFY, 0, HIGHER},
	{"  add", kind_rate, KIND_ADD, 0, HIGHER},
	{"  delete", kind_rate, KIND_DELETE, 0, HIGHER},
	{"CPU us per operation", cpu_us, 0, 2, LOWER},
	{"median latency, us", latency_us, 50, 2, LOWER},
	{"99 % latency, us", latency_us, 99, 2, LOWER},
	{"pblocks per operation", pblocks, 0, 2, LOWER},
	{"pblock bytes per operation", pblock_bytes, 0, 0, LOWER},
	{"seconds to load", load_seconds, 0, 2, LOWER},
	{"MiB resident after loading", resident_loaded, 0, 1, LOWER},
	{"MiB resident at the end", resident_end, 0, 1, LOWER},
	{"  per byte of directory", growth, 0, 2, LOWER},
};

/* The sides that are compared, and what to print a row of. */
struct columns {
	size_t count;
	const struct side *side[SIDES_MAX];
	struct result all[SIDES_MAX]; /* all rounds of a side in one */
};

static double best_other(const double *values, size_t count, enum better better)
{
	double best = values[1];

	for (size_t i = 2; i < count; i++)
		if (better == HIGHER ? values[i] > best : values[i] < best)
			best = values[i];
	return best;
}

static void print_row(const struct row *row, const double *values, size_t count)
{
	double best = best_other(values, count, row->better);

	printf("%-26s", row->name);
	for (size_t i = 0; i < count; i++)
		printf("%9.*f", row->decimals, values[i]);
	if (best > 0)
		printf("%8.2f\n", values[0] / best);
	else
		printf("%8s\n", "-");
}

static void print_heading(const struct columns *columns, size_t rounds)
{
	printf("\nThe same load on each side (%zu round%s, %.1f s each). ratio: libslab to the best\n"
	       "of the others in the row; higher is better for operations/s, lower for the rest.\n",
	       rounds, rounds == 1 ? "" : "s", columns->all[0].seconds);
	printf("%-26s", "");
	for (size_t i = 0; i < columns->count; i++)
		printf("%9s", columns->side[i]->name);
	printf("%8s\n", "ratio");
}

static void print_rows(const struct columns *columns)
{
	double values[SIDES_MAX] = {0};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		for (size_t j = 0; j < columns->count; j++)
			values[j] = rows[i].value(&columns->all[j], rows[i].number);
		print_row(&rows[i], values, columns->count);
	}
}

/* How much the rounds of a side differ is how much to believe a ratio. */
static void print_rounds(const struct columns *columns, size_t rounds)
{
	double values[SIDES_MAX] = {0};

	for (size_t i = 0; i < rounds && rounds > 1; i++) {
		char name[32];
		struct row row = {.name = name, .better = HIGHER};

		snprintf(name, sizeof(name), "operations/s in round %zu", i + 1);
		for (size_t j = 0; j < columns->count; j++)
			values[j] = result_rate(&columns->side[j]->results[i]);
		print_row(&row, values, columns->count);
	}
}

static void print_notes(const struct side *sides, size_t count)
{
	const char *preload = getenv("LD_PRELOAD");

	printf("Pblocks are split into parts on libslab; on the others flat, 712 bytes of\n"
	       "calloc().\n");
	for (size_t i = 0; i < count; i++)
		if (sides[i].left_out)
			printf("not compared: %s (%s %s)\n", sides[i].name, sides[i].library,
			       sides[i].left_out);
	if (preload && *preload)
		printf("LD_PRELOAD is set: the column glibc has the malloc() of %s\n",
		       sides[1].results[0].malloc_from);
}

void table_show(const struct side *sides, size_t count, size_t rounds)
{
	static struct columns columns; /* large */

	columns.count = 0;
	for (size_t i = 0; i < count; i++) {
		if (sides[i].left_out)
			continue;
		columns.side[columns.count] = &sides[i];
		result_combine(&columns.all[columns.count++], sides[i].results, rounds);
	}
	screen_caches(&sides[0].results[0]);
	print_heading(&columns, rounds);
	print_rows(&columns);
	print_rounds(&columns, rounds);
	print_notes(sides, count);
}
