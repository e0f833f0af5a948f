/* SPDX-License-Identifier: MIT */
/* Arithmetic on results, and all printing: numbers keep their units; nothing is coloured. */
#include "result.h"

/* --- results -------------------------------------------------------------------------------- */

uint64_t result_operations(const struct result *result)
{
	uint64_t sum = 0;

	for (size_t kind = 0; kind < KIND_COUNT; kind++)
		sum += result->done[kind];
	return sum;
}

/* Operations of all kinds per second. */
static double result_rate(const struct result *result)
{
	return (double)result_operations(result) / result->seconds;
}

/* CPU time of an operation, which hardly depends on what else the machine
 * does, unlike the rate. */
static double result_cpu_us(const struct result *result)
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

/* --- printing ------------------------------------------------------------------------------- */

static const char *const kind_name[KIND_COUNT] = {"search", "base", "or10",
						  "modify", "add",  "delete"};

/* 1234567 -> "1,234,567", in one of a few buffers that take turns. */
static const char *grouped(uint64_t number)
{
	static char buffers[8][32];
	static unsigned turn;
	char *buffer = buffers[turn++ % 8];
	char digits[24];
	int length = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)number);
	size_t used = 0;

	for (int i = 0; i < length; i++) {
		buffer[used++] = digits[i];
		if (i + 1 < length && (length - i - 1) % 3 == 0)
			buffer[used++] = ',';
	}
	buffer[used] = '\0';
	return buffer;
}

static double mib(uint64_t bytes)
{
	return (double)bytes / (1024 * 1024);
}

void screen_loaded(const struct result *result, const char *path, uint64_t read, size_t bad)
{
	const struct directory_size *size = &result->loaded;

	printf("Loaded %s entries of %s", grouped(read), path);
	if (bad)
		printf(" (%zu bad line%s skipped)", bad, bad == 1 ? "" : "s");
	if (size->entries > read)
		printf(",\nmultiplied to %s", grouped(size->entries));
	printf(": %s attributes, %s values, %.1f MiB, in %.2f s; %.1f MiB resident.\n",
	       grouped(size->attributes), grouped(size->values), mib(size->bytes),
	       result->load_seconds, mib(result->resident_loaded));
	fflush(stdout); /* whatever reads a pipe sees when the load begins */
}

void screen_progress(double part, double rate)
{
	printf("%3.0f%% op/s %s\n", part < 1 ? part * 100 : 100, grouped((uint64_t)rate));
	fflush(stdout);
}

void screen_result(const char *name, const struct result *result)
{
	printf("\n%s: %s operations in %.1f s = %s per second; searches returned %s entries.\n",
	       name, grouped(result_operations(result)), result->seconds,
	       grouped((uint64_t)result_rate(result)), grouped(result->returned));
	for (size_t kind = 0; kind < KIND_COUNT; kind++)
		printf("  %-8s %12s per second\n", kind_name[kind],
		       grouped((uint64_t)((double)result->done[kind] / result->seconds)));
	printf("  CPU time %.2f us per operation, listeners and workers together\n",
	       result_cpu_us(result));
	printf("  pblocks  %.2f per operation, %.0f bytes\n",
	       (double)result->pblocks / (double)result_operations(result),
	       (double)result->pblock_bytes / (double)result_operations(result));
	printf("  resident %.1f MiB after loading, %.1f MiB at the end; "
	       "the directory has %.1f MiB\n",
	       mib(result->resident_loaded), mib(result->resident_end), mib(result->end.bytes));
}
