/* SPDX-License-Identifier: MIT */
/*
 * What the control socket answers about debugging: letters, call sites, marks,
 * sampling, fault injection.
 *
 * Addresses are answered with the file that they lie in: symbols are looked up by
 * whoever asked, so that nothing is read from disk here.
 */
#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "names.h"
#include "control_answer.h"
#include "debug_layout.h"
#include "debug_options.h"
#include "options.h"
#include "symbol.h"

/* Room for the list "0,2,4,…" of every second CPU. */
#define LIST_TEXT (SLAB_CALL_SITE_CPUS / 2 * sizeof("1023"))

/* The next word of a request: its length; *rest goes on behind it. */
static size_t cut_word(const char **rest, const char **ret_word)
{
	size_t len = strcspn(*rest, " ");

	*ret_word = *rest;
	*rest += len;
	*rest += strspn(*rest, " ");
	return len;
}

/* --- letters --------------------------------------------------------------------- */

static void put_letters(struct slab_json *json, const char *key, uint64_t letters)
{
	char text[8];

	debug_letters_text(letters & SLAB_DEBUG_LETTERS, text);
	slab_json_string(json, key, text);
}

/* Slabs that are freed into but not allocated from, by their letters: without
 * any, and with those of Z, P, U that their layout has room for. */
struct draining {
	struct slab_cache *cache;
	uint64_t plain, lettered[8];
};

static const uint64_t layout_flags[] = {SLAB_RED_ZONE, SLAB_POISON, SLAB_STORE_USER};

#define LAYOUTS (sizeof(layout_flags) / sizeof(layout_flags[0]))

static unsigned layout_index(uint64_t letters)
{
	unsigned index = 0;

	for (unsigned i = 0; i < LAYOUTS; i++)
		index |= (unsigned)!!(letters & layout_flags[i]) << i;
	return index;
}

/* The letter of tools is none that anybody has asked for. */
static bool has_no_letters(const struct slab *slab)
{
	return slab_drains(slab) || slab->debug->letters == LETTER_TOOL;
}

static bool has_former_letters(const struct slab_cache *cache, const struct slab *slab)
{
	if (slab_drains(slab))
		return true;
	return !debug_is_guarded(slab) && !debug_has_present_layout(cache, slab);
}

static void count_draining(struct slab *slab, void *arg)
{
	struct draining *draining = arg;
	struct slab_cache *cache = draining->cache;

	if (!slab_is_tagged(slab, SLAB_TAG_DEBUG))
		return;
	pthread_mutex_lock(&cache->node[slab->node].lock);
	if (slab_user(slab) == cache && slab_is_tagged(slab, SLAB_TAG_DEBUG) &&
	    has_former_letters(cache, slab)) {
		if (has_no_letters(slab))
			draining->plain++;
		else
			draining->lettered[layout_index(slab->debug->letters)]++;
	}
	pthread_mutex_unlock(&cache->node[slab->node].lock);
}

static void put_draining_slabs(struct slab_json *json, const char *letters, uint64_t slabs)
{
	if (!slabs)
		return;
	slab_json_open(json, NULL, '{');
	slab_json_string(json, "letters", letters);
	slab_json_number(json, "slabs", slabs);
	slab_json_close(json, '}');
}

static void put_draining(struct slab_json *json, struct slab_cache *cache)
{
	struct draining draining = {.cache = cache};
	uint64_t sum;

	cache_each_slab(cache, count_draining, &draining);
	sum = draining.plain;
	slab_json_open(json, "draining", '[');
	put_draining_slabs(json, "-", draining.plain);
	for (unsigned index = 0; index < 1u << LAYOUTS; index++) {
		uint64_t letters = 0;
		char text[8];

		for (unsigned i = 0; i < LAYOUTS; i++)
			letters |= index >> i & 1 ? layout_flags[i] : 0;
		debug_letters_text(letters ? letters : SLAB_CONSISTENCY_CHECKS, text);
		put_draining_slabs(json, text, draining.lettered[index]);
		sum += draining.lettered[index];
	}
	slab_json_close(json, ']');
	slab_json_number(json, "draining_slabs", sum);
}

struct debug_errand {
	struct slab_json *reply;
	const char *name;
	uint64_t letters;
};

static long debug(struct slab_cache *cache, void *arg)
{
	const struct debug_errand *errand = arg;
	uint64_t before = cache_letters(cache);
	int error = slab_cache_debug(cache, errand->letters);

	if (error)
		return error;
	control_begin(errand->reply, true);
	slab_json_string(errand->reply, "name", errand->name);
	put_letters(errand->reply, "before", before);
	put_letters(errand->reply, "after", cache_letters(cache));
	put_draining(errand->reply, cache);
	control_end(errand->reply);
	return 0;
}

void control_answer_debug(struct slab_json *reply, const char *rest)
{
	struct debug_errand errand = {.reply = reply};
	const char *word;
	size_t len = cut_word(&rest, &word);

	errand.name = rest;
	if (!*rest)
		slab_control_refuse(reply, "debug needs letters, or - for none, and the name of a "
					   "cache");
	else if (debug_letters_parse(word, len, &errand.letters) != 0)
		slab_control_refuse(reply,
				    "\"%.*s\" are no debug letters; accepted: F Z P U T A, and - "
				    "for none",
				    len < 32 ? (int)len : 32, word);
	else
		control_on_cache(reply, "debug", rest, debug, &errand);
}

void control_put_debug(struct slab_json *json, struct slab_cache *cache,
		       const struct slab_stats *stats)
{
	put_letters(json, "letters", stats->flags);
	slab_json_number(json, "errors", stats->errors);
	slab_json_number(json, "debug_slabs", stats->debug_slabs);
	slab_json_number(json, "guarded_slabs", stats->guarded_slabs);
	put_draining(json, cache);
	slab_json_number(json, "sample",
			 __atomic_load_n(&cache->sample.interval, __ATOMIC_RELAXED));
}

/* --- marks ----------------------------------------------------------------------- */

static atomic_uint_least64_t last_mark;

void control_put_mark(struct slab_json *json)
{
	slab_json_number(json, "now", track_now());
	slab_json_number(json, "mark", atomic_load(&last_mark));
}

void control_answer_mark(struct slab_json *reply, const char *rest)
{
	if (*rest) {
		slab_control_refuse(reply, "mark takes no \"%.64s\": it is for all caches", rest);
		return;
	}
	atomic_store(&last_mark, slab_mark());
	control_begin(reply, true);
	control_put_mark(reply);
	control_end(reply);
}

/* --- call sites ------------------------------------------------------------------ */

/* The bits of a map as "0,2-3". */
static void put_list(struct slab_json *json, const char *key, const uint64_t *map, unsigned bits)
{
	char text[LIST_TEXT] = "";
	size_t len = 0;

	for (unsigned i = 0, end; i < bits; i = end + 1) {
		for (end = i; end < bits && map[end / 64] >> end % 64 & 1; end++)
			;
		if (end == i)
			continue;
		len += (size_t)sprintf(text + len, end - i > 1 ? "%s%u-%u" : "%s%u", len ? "," : "",
				       i, end - 1);
	}
	slab_json_string(json, key, text);
}

static void put_frame(struct slab_json *json, const void *frame)
{
	char path[PATH_MAX];
	uint64_t offset;

	slab_json_open(json, NULL, '{');
	slab_json_number(json, "address", (uintptr_t)frame);
	if (symbol_locate(frame, path, sizeof(path), &offset)) {
		slab_json_string(json, "file", path);
		slab_json_number(json, "offset", offset);
	}
	slab_json_close(json, '}');
}

static int put_site(const struct slab_call_site *site, void *arg)
{
	struct slab_json *json = arg;

	slab_json_open(json, NULL, '{');
	slab_json_number(json, "count", site->count);
	slab_json_number(json, "waste", site->waste);
	slab_json_number(json, "age_min", site->age_min_ms);
	slab_json_number(json, "age_avg", site->age_avg_ms);
	slab_json_number(json, "age_max", site->age_max_ms);
	slab_json_number(json, "tid_min", (uint64_t)site->tid_min);
	slab_json_number(json, "tid_max", (uint64_t)site->tid_max);
	put_list(json, "cpus", site->cpus, SLAB_CALL_SITE_CPUS);
	put_list(json, "nodes", &site->nodes, SLAB_CALL_SITE_NODES);
	slab_json_open(json, "stack", '[');
	for (unsigned i = 0; i < site->frames; i++)
		put_frame(json, site->frame[i]);
	slab_json_close(json, ']');
	slab_json_close(json, '}');
	return 0;
}

static const char *const kinds[] = {
	[SLAB_TRACES_ALLOCATED] = "allocated",
	[SLAB_TRACES_FREED] = "freed",
};

struct traces_errand {
	struct slab_json *reply;
	enum slab_traces kind;
	uint64_t since;
	const char *name;
};

static long traces(struct slab_cache *cache, void *arg)
{
	const struct traces_errand *errand = arg;
	struct slab_json *reply = errand->reply;
	long sites;

	control_begin(reply, true);
	slab_json_string(reply, "name", errand->name);
	slab_json_string(reply, "kind", kinds[errand->kind]);
	slab_json_number(reply, "now", track_now());
	slab_json_open(reply, "sites", '[');
	sites = slab_cache_traces(cache, errand->kind, errand->since, put_site, reply);
	slab_json_close(reply, ']');
	slab_json_bool(reply, "tracked", sites >= 0);
	control_end(reply);
	if (sites >= 0 || sites == -ENODATA)
		return 0;
	slab_json_free(reply);
	return sites;
}

static bool parse_kind(enum slab_traces *kind, const char *word, size_t len)
{
	for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strlen(kinds[i]) == len && memcmp(kinds[i], word, len) == 0) {
			*kind = (enum slab_traces)i;
			return true;
		}
	}
	return false;
}

void control_answer_traces(struct slab_json *reply, const char *rest)
{
	struct traces_errand errand = {.reply = reply};
	const char *kind, *since;
	size_t kind_len = cut_word(&rest, &kind), since_len = cut_word(&rest, &since);
	long number;

	errand.name = rest;
	if (!*rest) {
		slab_control_refuse(reply, "traces needs \"allocated\" or \"freed\", a mark or 0, "
					   "and the name of a cache");
	} else if (!parse_kind(&errand.kind, kind, kind_len)) {
		slab_control_refuse(reply, "traces are \"allocated\" or \"freed\", not \"%.*s\"",
				    kind_len < 32 ? (int)kind_len : 32, kind);
	} else if (!option_number(since, since_len, 0, LONG_MAX, &number)) {
		slab_control_refuse(reply,
				    "\"%.*s\" is no mark; accepted: what \"mark\" answered, "
				    "and 0 for all",
				    since_len < 32 ? (int)since_len : 32, since);
	} else {
		errand.since = (uint64_t)number;
		control_on_cache(reply, "traces", rest, traces, &errand);
	}
}

/* --- sampling -------------------------------------------------------------------- */

struct sample_errand {
	struct slab_json *reply;
	const char *name;
	unsigned long interval;
};

static long sample(struct slab_cache *cache, void *arg)
{
	const struct sample_errand *errand = arg;
	unsigned long before = __atomic_load_n(&cache->sample.interval, __ATOMIC_RELAXED);
	int error = slab_cache_sample(cache, errand->interval);

	if (error)
		return error;
	control_begin(errand->reply, true);
	slab_json_string(errand->reply, "name", errand->name);
	slab_json_number(errand->reply, "before", before);
	slab_json_number(errand->reply, "after", errand->interval);
	control_end(errand->reply);
	return 0;
}

void control_answer_sample(struct slab_json *reply, const char *rest)
{
	struct sample_errand errand = {.reply = reply};
	const char *word;
	size_t len = cut_word(&rest, &word);
	long number;

	errand.name = rest;
	if (!*rest) {
		slab_control_refuse(reply, "sample needs a number, or 0 for off, and the name of a "
					   "cache");
	} else if (!option_number(word, len, 0, LONG_MAX, &number)) {
		slab_control_refuse(reply,
				    "\"%.*s\" is not a number of allocations; accepted: 1 "
				    "and more, and 0 for off",
				    len < 32 ? (int)len : 32, word);
	} else {
		errand.interval = (unsigned long)number;
		control_on_cache(reply, "sample", rest, sample, &errand);
	}
}

/* --- fault injection ---------------------------------------------------------------- */

void control_answer_fail(struct slab_json *reply, const char *rest)
{
	bool off = strcmp(rest, "-") == 0;

	if (!*rest || slab_set_fail(off ? NULL : rest) != 0) {
		slab_control_refuse(reply,
				    "\"%.64s\" says no failures; accepted: a comma list of "
				    "probability=PERCENT, interval=N, times=N, cache=NAME, and - "
				    "for none",
				    rest);
		return;
	}
	control_begin(reply, true);
	slab_json_string(reply, "fail", rest);
	control_end(reply);
}
