/* SPDX-License-Identifier: MIT */
/*
 * Requests of the control socket that tune a cache (set), clear its events (reset), return memory
 * (trim), and count allocations for a moment (count).
 *
 * `set` and `reset` pin the cache and hold no lock. `count` acts on all caches under registry_lock,
 * which takes little time.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <slab/stats.h>
#include <string.h>

#include "base/text.h"
#include "control/cache_request.h"
#include "core/cache.h"
#include "core/count.h"
#include "memory/decay.h"
#include "stats/attributes.h"
#include "control/reply.h"

#define COUNT_US_MIN 100L
#define COUNT_US_MAX 3600000000L

#define WORD_TEXT 32 /* longer than the name of any attribute */

/* Cut the next word off a request. A longer word is truncated, and then matches no attribute. */
static void take_word(const char **rest, char word[WORD_TEXT])
{
	const char *at;
	size_t len = control_cut_word(rest, &at);
	size_t kept = len < WORD_TEXT ? len : WORD_TEXT - 1;

	memcpy(word, at, kept);
	word[kept] = '\0';
}

/* --- set, reset ------------------------------------------------------------------- */

struct set_errand {
	const char *attribute;
	uint64_t value, before, after, least;
	bool harms; /* and the client may not */
	int error;
};

static long set(struct slab_cache *cache, void *arg)
{
	struct set_errand *errand = arg;

	errand->least = attribute_least(cache, errand->attribute);
	errand->harms = strcmp(errand->attribute, "limit") == 0 && errand->value &&
			errand->value < cache->account.used && !control_may_harm();
	if (errand->harms)
		return 0;
	errand->error = slab_stat_read(cache, errand->attribute, &errand->before);
	if (!errand->error)
		errand->error = slab_stat_write(cache, errand->attribute, errand->value);
	if (!errand->error)
		slab_stat_read(cache, errand->attribute, &errand->after);
	return 0;
}

/* Explain why an attribute cannot be set. `is_known`: it exists but can only be read; so can a
 * counter that the application attached to the cache. */
static void refuse_attribute(struct slab_json *reply, const char *attribute, bool is_known)
{
	static const char settable[] =
		"min_partial, limit, sample, remote_node_defrag_ratio, and events, to 0";

	if (is_known)
		slab_control_refuse(reply, "%s can only be read; what can be set: %s", attribute,
				    settable);
	else
		slab_control_refuse(reply, "no attribute is called \"%s\"; what can be set: %s",
				    attribute, settable);
}

static void put_set(struct slab_json *reply, const char *name, const struct set_errand *errand)
{
	control_begin(reply, true);
	slab_json_string(reply, "name", name);
	slab_json_string(reply, "attribute", errand->attribute);
	slab_json_number(reply, "before", errand->before);
	slab_json_number(reply, "after", errand->after);
	control_end(reply);
}

void control_answer_set(struct slab_json *reply, const char *rest)
{
	char attribute[WORD_TEXT], value[WORD_TEXT];
	struct set_errand errand = {.attribute = attribute};
	bool is_number, is_known;
	long number = 0;

	take_word(&rest, attribute);
	take_word(&rest, value);
	is_number = option_number(value, strlen(value), 0, LONG_MAX, &number);
	is_known = attribute_is_known(attribute);
	errand.value = (uint64_t)number;
	if (!*rest)
		slab_control_refuse(reply, "set needs an attribute, a value, and the name of a "
					   "cache");
	else if (is_known && !attribute_accepted(attribute))
		refuse_attribute(reply, attribute, true);
	else if ((is_number || !is_known) && !control_on_cache(reply, "set", rest, set, &errand))
		return;
	else if (!is_known)
		refuse_attribute(reply, attribute, errand.error == -EACCES);
	else if (errand.harms)
		slab_control_refuse(reply,
				    "the cache has more bytes than %s: only root may make "
				    "its allocations fail, or any client with "
				    "SLAB_CONTROL=full",
				    value);
	else if (errand.error && errand.value < errand.least)
		slab_control_refuse(reply,
				    "%s of this cache cannot be %s; accepted: 0 for no limit, "
				    "or at least %" PRIu64 " bytes, one slab",
				    attribute, value, errand.least);
	else if (!is_number || errand.error)
		slab_control_refuse(reply, "%s cannot be \"%s\"; accepted: %s", attribute, value,
				    attribute_accepted(attribute));
	else
		put_set(reply, rest, &errand);
}

static long reset(struct slab_cache *cache, void *unused)
{
	(void)unused;
	for (unsigned i = 0; i < SLAB_EVENT_COUNT; i++)
		slab_stat_write(cache, slab_event_name(i), 0);
	return 0;
}

void control_answer_reset(struct slab_json *reply, const char *rest)
{
	if (!*rest) {
		slab_control_refuse(reply, "reset needs the name of a cache");
	} else if (control_on_cache(reply, "reset", rest, reset, NULL)) {
		control_begin(reply, true);
		slab_json_string(reply, "name", rest);
		control_end(reply);
	}
}

/* --- trim, count ------------------------------------------------------------------- */

void control_answer_trim(struct slab_json *reply, const char *rest)
{
	unsigned slabs;

	if (*rest) {
		slab_control_refuse(reply, "trim takes no \"%.64s\": it is for all caches", rest);
		return;
	}
	decay_trim(&slabs);
	control_begin(reply, true);
	slab_json_number(reply, "slabs", slabs);
	control_end(reply);
}

void control_answer_count(struct slab_json *reply, const char *rest)
{
	long us;

	if (!option_number(rest, strlen(rest), COUNT_US_MIN, COUNT_US_MAX, &us)) {
		slab_control_refuse(reply,
				    "\"%.64s\" is not how long to count; accepted: %ld to %ld "
				    "microseconds",
				    rest, COUNT_US_MIN, COUNT_US_MAX);
		return;
	}
	count_start((uint64_t)us);
	control_begin(reply, true);
	slab_json_number(reply, "counting", (uint64_t)us);
	control_end(reply);
}
