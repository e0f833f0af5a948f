/* SPDX-License-Identifier: MIT */
/* UTF-8, and which characters are safe on a terminal (printable.h). */
#include "printable.h"

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
