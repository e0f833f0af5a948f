/* SPDX-License-Identifier: MIT */
/*
 * Error messages on stderr. They may contain text of another process, so they are made printable.
 */
#include "fail.h"

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

/* --- text that is safe on a terminal ---------------------------------------------------------- */

size_t utf8_length(const char *text)
{
	const unsigned char *at = (const unsigned char *)text;
	size_t length = at[0] < 0x80 ? 1 : at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : 4;

	if (length == 1)
		return 1;
	if (at[0] < 0xc2 || at[0] > 0xf4)
		return 0;
	if ((at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xed && at[1] > 0x9f) ||
	    (at[0] == 0xf0 && at[1] < 0x90) || (at[0] == 0xf4 && at[1] > 0x8f))
		return 0;
	for (size_t i = 1; i < length; i++) {
		if ((at[i] & 0xc0) != 0x80)
			return 0;
	}
	return length;
}

/* The bytes of the character at `text`; 0: it is not printable. */
static size_t printable_length(const char *text)
{
	const unsigned char *at = (const unsigned char *)text;

	if (at[0] < 0x20 || at[0] == 0x7f || (at[0] == 0xc2 && at[1] < 0xa0))
		return 0;
	return utf8_length(text);
}

/* The first byte that is not printable, or the end. */
static char *find_unprintable(const char *text)
{
	size_t length;

	while (*text && (length = printable_length(text)))
		text += length;
	return (char *)text;
}

bool is_printable(const char *text)
{
	return !*find_unprintable(text);
}

void make_printable(char *text)
{
	while (*(text = find_unprintable(text)))
		*text = '?';
}
