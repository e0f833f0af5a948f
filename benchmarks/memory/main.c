/* SPDX-License-Identifier: MIT */
/*
 * The program: what it is asked for, and how it talks with the runner.
 *
 *   memory-malloc|memory-slab [-m] peak WHAT MEBIBYTES
 *   memory-malloc|memory-slab [-m] churn SECONDS
 *
 * -m: objects may be moved. WHAT: entries, objects, 64, 240, 712 or 2112.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench.h"

#define EXIT_USAGE 2
#define MAX_MIB 65536
#define MAX_SECONDS 86400
#define PAGE 4096
#define TOUCHED_WHOLE 16384 /* larger ones: a byte of each page */

void bench_fail(const char *format, ...)
{
	va_list args;

	fputs("memory: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(EXIT_FAILURE);
}

void *bench_map(size_t size)
{
	void *ptr = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (ptr == MAP_FAILED)
		bench_fail("no memory for the benchmark's own tables: %s", strerror(errno));
	return ptr;
}

void bench_touch(void *ptr, size_t size)
{
	if (!ptr)
		bench_fail("no memory for %zu bytes", size);
	if (size <= TOUCHED_WHOLE) {
		memset(ptr, 1, size);
		return;
	}
	for (size_t offset = 0; offset < size; offset += PAGE)
		((volatile char *)ptr)[offset] = 1;
	((volatile char *)ptr)[size - 1] = 1;
}

/* --- the runner ------------------------------------------------------------------------------- */

/* stdio would allocate its buffers. */
void bench_say(const char *format, ...)
{
	char line[256];
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(line, sizeof(line) - 1, format, args);
	va_end(args);
	line[n++] = '\n';
	if (write(STDOUT_FILENO, line, (size_t)n) != n)
		exit(EXIT_FAILURE); /* the runner is gone */
}

void bench_hold(const char *what)
{
	char answer;

	bench_say("%s", what);
	if (read(STDIN_FILENO, &answer, 1) != 1)
		exit(EXIT_SUCCESS); /* that was all it wanted to know */
}

/* --- arguments -------------------------------------------------------------------------------- */

static _Noreturn void usage(void)
{
	fprintf(stderr, "usage: memory-malloc|memory-slab [-m] peak "
			"entries|objects|64|240|712|2112 MEBIBYTES, or [-m] churn SECONDS\n");
	exit(EXIT_USAGE);
}

static unsigned number(const char *text, unsigned high)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (*text < '0' || *text > '9' || *end || n < 1 || n > high)
		usage();
	return (unsigned)n;
}

static bool known(const char *what)
{
	static const char *const all[] = {"entries", "objects", "64", "240", "712", "2112"};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (strcmp(what, all[i]) == 0)
			return true;
	return false;
}

int main(int argc, char **argv)
{
	bool movable = argc > 1 && strcmp(argv[1], "-m") == 0;

	argc -= movable;
	argv += movable;
	if (argc == 4 && strcmp(argv[1], "peak") == 0 && known(argv[2])) {
		size_t bytes = (size_t)number(argv[3], MAX_MIB) << 20;

		if (!contestant_begin(movable))
			return EXIT_FAILURE;
		bench_say("allocator %s", contestant_allocator());
		peak_run(argv[2], bytes);
	} else if (argc == 3 && strcmp(argv[1], "churn") == 0) {
		unsigned seconds = number(argv[2], MAX_SECONDS);

		if (!contestant_begin(movable))
			return EXIT_FAILURE;
		bench_say("allocator %s", contestant_allocator());
		churn_run(seconds);
	} else {
		usage();
	}
	return EXIT_SUCCESS;
}
