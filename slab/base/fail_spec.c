/* SPDX-License-Identifier: MIT */
/* Parsing SLAB_FAIL. A text with one invalid item changes nothing. */
#include "base/fail.h"

#include <string.h>

#include "base/text.h"

/* The value of an item that starts with `key` ("key="), else NULL. */
static const char *value_of(const char *item, const char *end, const char *key)
{
	size_t len = strlen(key);

	return (size_t)(end - item) >= len && memcmp(item, key, len) == 0 ? item + len : NULL;
}

static bool add_name(struct slab_fail *fail, const char *name, size_t len)
{
	size_t at = strlen(fail->names);

	if (!name_is_pattern(name, len) || at + len + 2 > sizeof(fail->names))
		return false;
	if (at)
		fail->names[at++] = ',';
	memcpy(fail->names + at, name, len);
	fail->names[at + len] = '\0';
	return true;
}

static bool parse_item(struct slab_fail *fail, const char *item, const char *end)
{
	const char *value;
	long n;

	value = value_of(item, end, "cache=");
	if (value)
		return add_name(fail, value, (size_t)(end - value));
	value = value_of(item, end, "times=");
	if (value)
		return option_number(value, (size_t)(end - value), -1, LONG_MAX, &fail->times);
	value = value_of(item, end, "interval=");
	if (value && option_number(value, (size_t)(end - value), 1, INT_MAX, &n)) {
		fail->interval = (unsigned)n;
		return true;
	}
	value = value_of(item, end, "probability=");
	if (value && option_number(value, (size_t)(end - value), 0, 100, &n)) {
		fail->probability = (unsigned)n;
		return true;
	}
	return false;
}

bool fail_parse(struct slab_fail *fail, const char *spec)
{
	struct slab_fail wanted = {.probability = 100, .interval = 1, .times = -1, .set = true};
	const char *item = spec, *end;

	do {
		end = item + strcspn(item, ",");
		if (!parse_item(&wanted, item, end))
			return false;
		item = end + 1;
	} while (*end);
	*fail = wanted;
	return true;
}
