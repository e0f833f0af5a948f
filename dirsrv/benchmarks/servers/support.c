/* SPDX-License-Identifier: MIT */
/* What the protocols use: errors, random numbers, the state of the load. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "load.h"

struct load load;

void load_fail(const char *format, ...)
{
	va_list args;

	fputs("servers-load: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(EXIT_FAILURE);
}

void load_error(const char *text, size_t bytes)
{
	if (load.errors++ == 0)
		snprintf(load.error, sizeof(load.error), "%.*s", (int)(bytes > 200 ? 200 : bytes),
			 text);
}

uint64_t load_random(void)
{
	uint64_t x = load.random;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return load.random = x;
}

unsigned load_below(unsigned n)
{
	return (unsigned)((load_random() >> 32) % n);
}
