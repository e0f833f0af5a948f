/* SPDX-License-Identifier: MIT */
/* Counters from a process's answer. The answer is not trusted. */
#include "attached.h"

#include <stdio.h>
#include <string.h>

#define HITS "hits"
#define MISSES "misses"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static const char *const kinds[] = {[SLAB_COUNTER_EVENTS] = "events",
				    [SLAB_COUNTER_GAUGE] = "gauge",
				    [SLAB_COUNTER_BYTES] = "bytes"};

const char *attached_kind(enum slab_counter_kind kind)
{
	return kinds[kind];
}

/* A kind that a later version added is shown as a gauge. */
static enum slab_counter_kind kind_of(const char *text)
{
	for (unsigned i = 0; i < LENGTH(kinds); i++)
		if (strcmp(kinds[i], text) == 0)
			return (enum slab_counter_kind)i;
	return SLAB_COUNTER_GAUGE;
}

static bool is_name(const char *name)
{
	size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_");

	return length > 0 && length <= SLAB_COUNTER_NAME_MAX && !name[length] && name[0] >= 'a';
}

size_t attached_take(const struct cache *cache, struct attached list[SLAB_COUNTERS_MAX])
{
	struct json_object *counters = model_member(cache->json, "counters");
	size_t count = 0;

	for (size_t i = 0; i < model_length(counters) && count < SLAB_COUNTERS_MAX; i++) {
		struct json_object *one = json_object_array_get_idx(counters, i);
		const char *name = model_raw_text(one, "name");

		if (!is_name(name) || attached_find(list, count, name))
			continue;
		list[count++] = (struct attached){
			.name = name,
			.help = model_text(one, "help"),
			.kind = kind_of(model_raw_text(one, "kind")),
			.value = model_number(one, "value"),
		};
	}
	return count;
}

const struct attached *attached_find(const struct attached *list, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(list[i].name, name) == 0)
			return &list[i];
	return NULL;
}

bool attached_ratio(const struct attached *list, size_t count, size_t i, struct hit_ratio *ratio)
{
	const char *name = list[i].name;
	size_t length = strlen(name), prefix;

	if (length < strlen(HITS) || strcmp(name + length - strlen(HITS), HITS) != 0)
		return false;
	prefix = length - strlen(HITS);
	if (prefix && name[prefix - 1] != '_')
		return false;
	snprintf(ratio->name, sizeof(ratio->name), "%.*s" MISSES, (int)prefix, name);
	ratio->hits = &list[i];
	ratio->misses = attached_find(list, count, ratio->name);
	snprintf(ratio->name, sizeof(ratio->name), "%.*shit_ratio", (int)prefix, name);
	return ratio->misses;
}

double hit_percent(uint64_t hits, uint64_t misses)
{
	double all = (double)hits + (double)misses;

	return all > 0 ? 100 * (double)hits / all : 0;
}
