/* SPDX-License-Identifier: MIT */
/* What all files of the program use: the types of objects, its own memory, the runner. */
#include <stdlib.h>
#include <string.h>
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

void bench_hold(const char *what)
{
	char answer;

	bench_say("%s", what);
	if (read(STDIN_FILENO, &answer, 1) != 1)
		exit(EXIT_SUCCESS); /* that was all it wanted to know */
}
