/* SPDX-License-Identifier: MIT */
/* All printing. Numbers keep their units; nothing is coloured. */
#include "screen.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

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

void progress_start(struct progress *progress)
{
	memset(progress, 0, sizeof(*progress));
	progress->terminal = isatty(STDOUT_FILENO);
}

/* Columns of the terminal; 100 when the output is none. */
static int terminal_width(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || size.ws_col < 20)
		return 100;
	return size.ws_col;
}

/* 5834 -> "5.8k", 41234 -> "41k". */
static void rate_append(char *line, size_t size, const char *name, double rate)
{
	size_t used = strlen(line);

	if (rate >= 9950)
		snprintf(line + used, size - used, " %s %.0fk", name, rate / 1000);
	else if (rate >= 1000)
		snprintf(line + used, size - used, " %s %.1fk", name, rate / 1000);
	else
		snprintf(line + used, size - used, " %s %.0f", name, rate);
}

/* A bar of `width` characters, 20 at most, and the per cent. */
static void bar(char *line, size_t size, int width, double part)
{
	static const char full[] = "####################", empty[] = "....................";
	int filled = (int)(part * width + 0.5);

	snprintf(line, size, "[%.*s%.*s] %3.0f%%", filled, full, width - filled, empty, part * 100);
}

void progress_show(struct progress *progress, double elapsed, double total,
		   const uint64_t done[KIND_COUNT])
{
	static const char *const short_name[KIND_COUNT] = {"search", "base", "or",
							   "mod",    "add",  "del"};
	double span = elapsed - progress->shown, sum = 0;
	int columns = terminal_width();
	char line[256];

	if (span <= 0)
		return;
	bar(line, sizeof(line), columns < 100 ? 6 : 20, elapsed < total ? elapsed / total : 1);
	for (size_t kind = 0; kind < KIND_COUNT; kind++)
		sum += (double)(done[kind] - progress->before[kind]);
	rate_append(line, sizeof(line), "op/s", sum / span);
	strncat(line, ":", sizeof(line) - strlen(line) - 1);
	for (size_t kind = 0; kind < KIND_COUNT; kind++)
		rate_append(line, sizeof(line), short_name[kind],
			    (double)(done[kind] - progress->before[kind]) / span);
	if (progress->terminal)
		printf("\r\033[K%.*s", columns - 1, line);
	else
		printf("%s\n", line);
	fflush(stdout);
	progress->shown = elapsed;
	memcpy(progress->before, done, sizeof(progress->before));
}

void progress_end(struct progress *progress)
{
	if (progress->terminal)
		putchar('\n');
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
	printf("  latency  %.1f us median, %.1f us for 99 %%\n",
	       histogram_percentile(&result->latency, 50) / 1000,
	       histogram_percentile(&result->latency, 99) / 1000);
	printf("  pblocks  %.2f per operation, %.0f bytes\n",
	       (double)result->pblocks / (double)result_operations(result),
	       (double)result->pblock_bytes / (double)result_operations(result));
	printf("  resident %.1f MiB after loading, %.1f MiB at the end; "
	       "the directory has %.1f MiB\n",
	       mib(result->resident_loaded), mib(result->resident_end), mib(result->end.bytes));
}

static void cache_row(const char *name, uint64_t object_size, uint64_t objects, uint64_t used,
		      uint64_t held)
{
	char size[24] = "";

	if (object_size)
		snprintf(size, sizeof(size), "%llu", (unsigned long long)object_size);
	printf("  %-16s %7s %12s %14s %14s %7.1f%%\n", name, size, grouped(objects), grouped(used),
	       grouped(held), held > used ? 100 * (double)(held - used) / (double)held : 0.0);
}

/* Caches by size come as one row: there are about forty of them. */
void screen_caches(const struct result *result)
{
	uint64_t sized = 0, objects[2] = {0}, used[2] = {0}, held[2] = {0};
	char name[32];

	if (!result->caches)
		return;
	printf("\nCaches at the end of the load (waste: bytes held for no object):\n");
	printf("  %-16s %7s %12s %14s %14s %8s\n", "cache", "size", "objects", "bytes used",
	       "bytes held", "waste");
	for (uint32_t i = 0; i < result->caches; i++) {
		const struct cache_line *line = &result->cache[i];
		bool by_size = strncmp(line->name, "size-", 5) == 0;
		uint64_t bytes = line->objects * line->object_size;

		if (!by_size)
			cache_row(line->name, line->object_size, line->objects, bytes, line->held);
		sized += by_size;
		objects[by_size] += line->objects;
		used[by_size] += bytes;
		held[by_size] += line->held;
	}
	snprintf(name, sizeof(name), "size-* (%llu)", (unsigned long long)sized);
	cache_row(name, 0, objects[1], used[1], held[1]);
	cache_row("all", 0, objects[0] + objects[1], used[0] + used[1], held[0] + held[1]);
}

void screen_sound(const struct result *result)
{
	printf("\n%s operations in %.1f s. Every byte of the directory was read again:\n"
	       "its %s entries are sound, and no cache has an object left.\n",
	       grouped(result_operations(result)), result->seconds, grouped(result->end.entries));
}

void screen_next(void)
{
	printf("\nWhat to try next:\n"
	       "  ./build/bin/directory --seconds 9 & sleep 3; ./build/bin/slabinfo -p $!\n"
	       "  # ... and then the entry cache's hits: ./build/bin/slabinfo -p $! -r db.entry\n"
	       "  ./build/bin/directory --hunt   # docs/hunting-corruption.md explains it\n"
	       "  ./build/bin/corruption --list  # a small server with a bug of your choice\n"
	       "  ./build/bin/directory --ldif dirsrv/directory/people.ldif  # or your own\n"
	       "  less docs/design.md examples/typed.c dirsrv/directory/README.md\n");
}
