/* SPDX-License-Identifier: MIT */
/* Parsing values: numbers, lists, patterns of cache names; and quoting values in messages. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Parse a decimal number from min to max; from 0 on without a sign. It must fill text[0 …
 * len-1]. */
bool option_number(const char *text, size_t len, long min, long max, long *number);
/* Parse a number of bytes from 0 to LONG_MAX: decimal digits, then optionally K, M, G, KiB, MiB or
 * GiB in upper or lower case; all units are powers of 1024. slabinfo --set accepts the same. */
bool option_bytes(const char *text, long *bytes);
/* Does the text have the form of a number, whatever its size? `units`: a unit of bytes may
 * follow. */
bool option_is_numeric(const char *text, bool units);
/* Copy a value for a message: truncated to size, unprintable characters replaced, terminated.
 * `size` is 4 or more. */
void option_printable(char *to, size_t size, const char *value, size_t len);

struct span {
	const char *start; /* NULL: the span is exhausted */
	size_t len;
};

struct span span_of(const char *text);
/* Cut off and return the part of *rest in front of `stop`. *rest begins behind `stop` then. */
struct span span_cut(struct span *rest, char stop);

/* Is the text the name of a cache, or the beginning of one with a *? A semicolon is invalid,
 * because it separates blocks. */
bool name_is_pattern(const char *pattern, size_t len);
bool name_matches(struct span pattern, const char *name);
/* Does one of the patterns in a comma-separated list match? */
bool name_in_list(const char *list, size_t len, const char *cache_name);
