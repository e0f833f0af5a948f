/* SPDX-License-Identifier: MIT */
/* Parsing values in place: no function allocates memory or changes its input. */
#include "base/text.h"

#include <ctype.h>
#include <limits.h>
#include <slab/slab.h>
#include <string.h>
#include <strings.h>

/* --- values ------------------------------------------------------------------------- */

bool option_number(const char *text, size_t len, long min, long max, long *number)
{
	bool negative = len > 0 && text[0] == '-';
	size_t i = negative;
	long n = 0;

	if (i == len)
		return false;
	for (; i < len; i++) {
		int digit = text[i] - '0';

		if (digit < 0 || digit > 9 || __builtin_mul_overflow(n, 10, &n) ||
		    __builtin_sub_overflow(n, digit, &n))
			return false;
	}
	/* The loop collects the negative number, because LONG_MIN has no positive counterpart. */
	if (!negative && __builtin_sub_overflow(0, n, &n))
		return false;
	if (n < min || n > max || (negative && min >= 0))
		return false;
	*number = n;
	return true;
}

/* The exponent of a unit of bytes (0 without a unit); -1: the text is not a unit. */
static int unit_shift(const char *unit)
{
	static const char letters[] = "kmg";

	if (!*unit)
		return 0;
	for (int i = 0; letters[i]; i++)
		if ((*unit | 0x20) == letters[i])
			return !unit[1] || strcasecmp(unit + 1, "ib") == 0 ? 10 * (i + 1) : -1;
	return -1;
}

bool option_bytes(const char *text, long *bytes)
{
	const size_t digits = strspn(text, "0123456789");
	const int shift = unit_shift(text + digits);

	if (shift < 0 || !option_number(text, digits, 0, LONG_MAX >> shift, bytes))
		return false;
	*bytes <<= shift;
	return true;
}

bool option_is_numeric(const char *text, bool units)
{
	size_t digits;

	text += *text == '-';
	digits = strspn(text, "0123456789");
	return digits && (units ? unit_shift(text + digits) >= 0 : !text[digits]);
}

void option_printable(char *to, size_t size, const char *value, size_t len)
{
	size_t i;

	for (i = 0; i < len && i + 1 < size; i++)
		to[i] = value[i] >= ' ' && value[i] <= '~' ? value[i] : '?';
	to[i] = '\0';
	if (i < len)
		memcpy(to + i - 3, "...", 3);
}

/* --- parts of a text --------------------------------------------------------------------- */

struct span span_of(const char *text)
{
	return (struct span){text, strlen(text)};
}

struct span span_cut(struct span *rest, char stop)
{
	const char *end = rest->len ? memchr(rest->start, stop, rest->len) : NULL;
	struct span part = {rest->start, end ? (size_t)(end - rest->start) : rest->len};

	rest->start = end ? end + 1 : NULL;
	rest->len = end ? rest->len - part.len - 1 : 0;
	return part;
}

/* --- patterns of names ------------------------------------------------------------ */

bool name_is_pattern(const char *pattern, size_t len)
{
	const char *star = len ? memchr(pattern, '*', len) : NULL;
	size_t fixed = star ? (size_t)(star - pattern) : len;

	for (size_t i = 0; i < fixed; i++)
		if (!isgraph((unsigned char)pattern[i]))
			return false;
	return (fixed > 0 || star) && fixed <= SLAB_MAX_NAME &&
	       (!len || !memchr(pattern, ';', len));
}

bool name_matches(struct span pattern, const char *name)
{
	const char *star = pattern.len ? memchr(pattern.start, '*', pattern.len) : NULL;

	if (star)
		return strncmp(pattern.start, name, (size_t)(star - pattern.start)) == 0;
	return strlen(name) == pattern.len && memcmp(pattern.start, name, pattern.len) == 0;
}

bool name_in_list(const char *list, size_t len, const char *cache_name)
{
	struct span rest = {list, len};

	while (rest.start) {
		struct span name = span_cut(&rest, ',');

		if (name.len && name_matches(name, cache_name))
			return true;
	}
	return false;
}
