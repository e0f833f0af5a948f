/* SPDX-License-Identifier: MIT */
/* Blocks that grow by realloc(): one large one, and strings, one after the other or in turn. */

#include "bench.h"

#define VECTOR_BYTES (64 * MIB)
#define VECTOR_STEP (64 * KIB)
#define STRINGS 1000u
#define STRING_STEP 40u
#define STRING_BYTES 4096u

static char **strings;

static char *grown(char *ptr, size_t from, size_t to)
{
	ptr = bench_check(realloc(ptr, to), to);
	memset(ptr + from, 'x', to - from);
	return ptr;
}

static void vector(void)
{
	char *ptr = NULL;

	for (size_t size = 0; size < VECTOR_BYTES; size += VECTOR_STEP)
		ptr = grown(ptr, size, size + VECTOR_STEP);
	free(ptr);
}

static void strings_prepare(void)
{
	strings = bench_map(STRINGS * sizeof(*strings));
}

static void strings_free(void)
{
	for (unsigned i = 0; i < STRINGS; i++)
		free(strings[i]);
}

static void strings_one(void)
{
	for (unsigned i = 0; i < STRINGS; i++)
		for (size_t size = 0; size < STRING_BYTES; size += STRING_STEP)
			strings[i] = grown(strings[i], size, size + STRING_STEP);
	strings_free();
}

static void strings_in_turn(void)
{
	for (size_t size = 0; size < STRING_BYTES; size += STRING_STEP)
		for (unsigned i = 0; i < STRINGS; i++)
			strings[i] = grown(strings[i], size, size + STRING_STEP);
	strings_free();
}

const struct bench_case grow_cases[] = {
	{"grow.vector", NULL, vector, false},
	{"grow.strings", strings_prepare, strings_one, false},
	{"grow.strings_in_turn", strings_prepare, strings_in_turn, false},
	{NULL, NULL, NULL, false},
};
