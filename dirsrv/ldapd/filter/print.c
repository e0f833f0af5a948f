/* SPDX-License-Identifier: MIT */
/* Filters as text, RFC 4515. */
#include <stdio.h>
#include <string.h>

#include "filter/filter.h"

/* Where text goes; what does not fit is counted. */
struct text {
	char *out;
	size_t size;
	size_t length;
};

static void put(struct text *text, char c)
{
	if (text->length + 1 < text->size)
		text->out[text->length] = c;
	text->length++;
}

static void put_text(struct text *text, const char *from)
{
	while (*from)
		put(text, *from++);
}

static void put_bytes(struct text *text, struct dirsrv_bytes bytes)
{
	const unsigned char *at = bytes.data;
	char hex[4];

	for (size_t i = 0; i < bytes.length; i++) {
		if (at[i] >= ' ' && at[i] != 0x7f && !strchr("()*\\", at[i])) {
			put(text, (char)at[i]);
			continue;
		}
		snprintf(hex, sizeof(hex), "\\%02x", at[i]);
		put_text(text, hex);
	}
}

static void put_substrings(struct text *text, const struct filter *filter)
{
	put_bytes(text, filter->value);
	put(text, '*');
	for (const struct filter_part *part = filter->any; part; part = part->next) {
		put_bytes(text, part->value);
		put(text, '*');
	}
	put_bytes(text, filter->final);
}

static void put_filter(struct text *text, const struct filter *filter, unsigned depth);

static void put_children(struct text *text, const struct filter *filter, unsigned depth)
{
	if (depth > FILTER_DEPTH_MAX) {
		put_text(text, "...");
		return;
	}
	put(text, "&|!"[filter->kind]);
	for (const struct filter *child = filter->children; child; child = child->next)
		put_filter(text, child, depth + 1);
}

static void put_item(struct text *text, const struct filter *filter)
{
	static const char *const operators[] = {
		[FILTER_EQUAL] = "=",       [FILTER_SUBSTRINGS] = "=", [FILTER_GREATER] = ">=",
		[FILTER_LESS] = "<=",       [FILTER_APPROX] = "~=",    [FILTER_PRESENT] = "=*",
		[FILTER_EXTENSIBLE] = ":=", [FILTER_UNDEFINED] = "=?"};

	put_bytes(text, filter->type);
	put_text(text, operators[filter->kind]);
	if (filter->kind == FILTER_SUBSTRINGS)
		put_substrings(text, filter);
	else if (filter->kind != FILTER_PRESENT && filter->kind != FILTER_UNDEFINED)
		put_bytes(text, filter->value);
}

static void put_filter(struct text *text, const struct filter *filter, unsigned depth)
{
	put(text, '(');
	if (filter->kind <= FILTER_NOT)
		put_children(text, filter, depth);
	else
		put_item(text, filter);
	put(text, ')');
}

size_t filter_print(const struct filter *filter, char *out, size_t size)
{
	struct text text = {.out = out, .size = size};

	put_filter(&text, filter, 1);
	if (size)
		out[text.length < size ? text.length : size - 1] = '\0';
	return text.length;
}
