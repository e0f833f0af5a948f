/* SPDX-License-Identifier: MIT */
#include "fail.h"

#include <stdarg.h>
#include <stdio.h>

static const char *program = "slabinfo";
static char *captured;
static unsigned captured_size;

void fail_name(const char *name)
{
	program = name;
}

void fail_capture(char *text, unsigned size)
{
	captured = text;
	captured_size = size;
}

void fail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (captured) {
		vsnprintf(captured, captured_size, format, args);
	} else {
		fprintf(stderr, "%s: ", program);
		vfprintf(stderr, format, args);
		fputc('\n', stderr);
	}
	va_end(args);
}
