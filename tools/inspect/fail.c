/* SPDX-License-Identifier: MIT */
/*
 * Error messages on stderr. They may contain text of another process, so they are made printable.
 */
#include "fail.h"
#include "printable.h"

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

/* The message may contain text of another process, or of a core file. */
void fail(const char *format, ...)
{
	char text[8192];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	make_printable(text);
	if (captured)
		snprintf(captured, captured_size, "%s", text);
	else
		fprintf(stderr, "%s: %s\n", program, text);
}
