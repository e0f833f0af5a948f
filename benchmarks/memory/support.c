/* SPDX-License-Identifier: MIT */
/* What all files of the program use: the types of objects, its own memory, the runner. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench.h"

#define PAGE 4096
#define TOUCHED_WHOLE 16384 /* larger ones: a byte of each page */

const struct type_info types[TYPES] = {
	[TYPE_BACKENTRY] = {"backentry", 112, true},
	[TYPE_ENTRY] = {"entry", 184, true},
	[TYPE_ATTR] = {"attr", 136, true},
	[TYPE_VALUE] = {"value", 32, true},
	[TYPE_DN] = {"dn", 40, true},
	[TYPE_PBLOCK] = {"pblock", 712, false},
	[TYPE_OPERATION] = {"operation", 480, false},
	[TYPE_64] = {"object-64", 64, true},
	[TYPE_240] = {"object-240", 240, true},
	[TYPE_712] = {"object-712", 712, true},
	[TYPE_2112] = {"object-2112", 2112, true},
};

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
