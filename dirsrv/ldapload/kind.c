/* SPDX-License-Identifier: MIT */
/* Names of the kinds; the mix from its text. */
#include "kind.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WEIGHT_MAX 1000000ul
#define WHAT_IS_ACCEPTED                                                                           \
	"KIND=WEIGHT,... with the kinds search, or, base, compare, modify, add, bind and weights " \
	"from 1 to 1000000"

const char *const kind_names[KIND_COUNT] = {
	[KIND_SEARCH] = "search",   [KIND_OR] = "or",         [KIND_BASE] = "base",
	[KIND_COMPARE] = "compare", [KIND_MODIFY] = "modify", [KIND_ADD] = "add",
	[KIND_DELETE] = "delete",   [KIND_BIND] = "bind",     [KIND_CONNECT] = "connect",
};

static int kind_of(const char *name, size_t length)
{
	for (int kind = 0; kind < MIX_COUNT; kind++)
		if (kind != KIND_DELETE && strlen(kind_names[kind]) == length &&
		    strncmp(kind_names[kind], name, length) == 0)
			return kind;
	return -1;
}

/* The weight behind the name of a part; 0: it is none. */
static unsigned weight_of(const char *text, const char *end)
{
	char *after;
	unsigned long weight;

	if (text == end)
		return 1;
	if (text[0] != '=' || text[1] < '0' || text[1] > '9')
		return 0;
	weight = strtoul(text + 1, &after, 10);
	return after == end && weight <= WEIGHT_MAX ? (unsigned)weight : 0;
}

int mix_parse(struct mix *mix, const char *text, char *error, size_t size)
{
	*mix = (struct mix){0};
	for (const char *end; *text; text = *end ? end + 1 : end) {
		size_t length = strcspn(text, "=,");
		int kind = kind_of(text, length);
		unsigned weight;

		end = text + strcspn(text, ",");
		weight = weight_of(text + length, end);
		if (kind < 0 || weight == 0 || mix->weight[kind] != 0) {
			snprintf(error, size, "'%.*s' is %s; accepted: " WHAT_IS_ACCEPTED,
				 (int)(end - text), text,
				 kind >= 0 && weight ? "there twice" : "no part of a mix");
			return -1;
		}
		mix->weight[kind] = weight;
		mix->total += weight;
	}
	if (mix->total == 0) {
		snprintf(error, size, "the mix is empty; accepted: " WHAT_IS_ACCEPTED);
		return -1;
	}
	return 0;
}

enum kind mix_choose(const struct mix *mix, uint64_t random)
{
	unsigned left = (unsigned)(random % mix->total);
	int kind = 0;

	while (left >= mix->weight[kind])
		left -= mix->weight[kind++];
	return (enum kind)kind;
}
