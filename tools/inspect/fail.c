/* SPDX-License-Identifier: MIT */
/*
 * Error messages on stderr. They may contain text of another process, so they are made printable.
 */
#include "fail.h"
#include "printable.h"

#include <getopt.h>
#include <stdarg.h>

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

void fail_option(int option, const char *word, const char *short_options)
{
	const bool is_letter = optopt && optopt <= UCHAR_MAX &&
			       (optopt == ':' || !strchr(short_options, (char)optopt));

	if (option == ':' && strncmp(word, "--", 2) != 0)
		fail("-%c needs a value; --help shows the options", optopt);
	else if (option == ':')
		fail("%s needs a value; --help shows the options", word);
	else if (is_letter)
		fail("there is no option -%c; --help shows the options", optopt);
	else if (optopt)
		fail("%.*s takes no value; --help shows the options", (int)strcspn(word, "="),
		     word);
	else
		fail("there is no option %s, or more than one that begins so; --help shows the "
		     "options",
		     word);
}
