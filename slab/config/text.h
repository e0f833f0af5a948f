/* SPDX-License-Identifier: MIT */
/* Text: numbers, the part of a value that a message quotes, patterns of names. */
#ifndef SLAB_BASE_TEXT_H
#define SLAB_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* A decimal number from min to max that fills text[0 … len-1]. */
bool option_number(const char *text, size_t len, long min, long max, long *number);
/* A decimal number from 0 to LONG_MAX bytes, or of units: K, M or G, or KiB, MiB or GiB, in
 * upper or lower case; powers of 1024. slabinfo --set accepts the same. */
bool option_bytes(const char *text, long *bytes);
/* Does the text have the form of a number of any size, with `units` also one with a unit of
 * bytes? */
bool option_is_numeric(const char *text, bool units);
/* A value made fit for a message: short, on one line, terminated. size is 4 or more. */
void option_printable(char *to, size_t size, const char *value, size_t len);

struct span {
	const char *start; /* NULL: exhausted */
	size_t len;
};

struct span span_of(const char *text);
/* The part of a span in front of `stop`, taken off it together with the stop. */
struct span span_cut(struct span *rest, char stop);

/* Is this the name of a cache, or the beginning of one and a *? A semicolon is invalid: it
 * separates blocks. */
bool name_is_pattern(const char *pattern, size_t len);
bool name_matches(struct span pattern, const char *name);
/* Does a pattern of the comma list match? */
bool name_in_list(const char *list, size_t len, const char *cache_name);

#endif /* SLAB_BASE_TEXT_H */
