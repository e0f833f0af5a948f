/* SPDX-License-Identifier: MIT */
/*
 * What the control socket answers: protocol version 1, docs/control.md.
 *
 * A request is "slab/1 COMMAND [WORD]... [NAME]"; the answer is one JSON object
 * on one line. A cache is acted upon from inside slab_for_each_cache(), which
 * keeps it from being destroyed meanwhile.
 */
#define _GNU_SOURCE
#include "control_answer.h"
#include "names.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char accepted[] =
	"ping, stats, shrink NAME, validate NAME, debug LETTERS NAME, "
	"traces allocated|freed SINCE NAME, slabs NAME, mark, sample N NAME, "
	"fail SPEC, set ATTRIBUTE VALUE NAME, reset NAME, trim, count US";

void control_begin(struct slab_json *reply, bool ok)
{
	slab_json_open(reply, NULL, '{');
	slab_json_number(reply, "slab", 1);
	slab_json_bool(reply, "ok", ok);
}

void control_end(struct slab_json *reply)
{
	slab_json_close(reply, '}');
	slab_json_newline(reply);
}

void slab_control_refuse(struct slab_json *reply, const char *format, ...)
{
	char sentence[320];
	va_list args;

	va_start(args, format);
	vsnprintf(sentence, sizeof(sentence), format, args);
	va_end(args);
	control_begin(reply, false);
	slab_json_string(reply, "error", sentence);
	control_end(reply);
}

static void put_flags(struct slab_json *json, uint64_t flags)
{
	const char *name;
	uint64_t flag;

	slab_json_number(json, "flags", flags);
	slab_json_open(json, "flag_names", '[');
	for (unsigned i = 0; (name = flag_name(i, &flag)); i++) {
		if (flags & flag)
			slab_json_string(json, NULL, name);
	}
	slab_json_close(json, ']');
}

static void put_sizes(struct slab_json *json, const struct slab_stats *stats)
{
	slab_json_number(json, "object_size", stats->object_size);
	slab_json_number(json, "slab_size", stats->slab_size);
	slab_json_number(json, "align", stats->align);
	slab_json_number(json, "objects_per_slab", stats->objects_per_slab);
	slab_json_number(json, "order", stats->order);
	slab_json_number(json, "has_ctor", stats->has_ctor);
	slab_json_number(json, "merged", stats->merged);
	slab_json_number(json, "min_partial", stats->min_partial);
	slab_json_number(json, "cpu_partial", stats->cpu_partial);
}

static void put_counts(struct slab_json *json, const struct slab_stats *stats)
{
	slab_json_number(json, "slabs", stats->slabs);
	slab_json_number(json, "cpu_slabs", stats->cpu_slabs);
	slab_json_number(json, "partial", stats->partial);
	slab_json_number(json, "full", stats->full);
	slab_json_number(json, "objects", stats->objects);
	slab_json_number(json, "total_objects", stats->total_objects);
	slab_json_number(json, "objects_partial", stats->objects_partial);
	slab_json_number(json, "gathered", stats->gathered);
	slab_json_number(json, "populated", stats->populated);
}

static void put_aliases(struct slab_json *json, struct slab_cache *cache)
{
	const char *names[SLAB_STATS_MAX_ALIASES];
	size_t n = slab_cache_aliases(cache, names, SLAB_STATS_MAX_ALIASES);

	slab_json_open(json, "aliases", '[');
	for (size_t i = 0; i < n && i < SLAB_STATS_MAX_ALIASES; i++)
		slab_json_string(json, NULL, names[i]);
	slab_json_close(json, ']');
}

static void put_events(struct slab_json *json, const struct slab_stats *stats)
{
	slab_json_open(json, "events", '{');
	for (unsigned i = 0; i < SLAB_EVENT_COUNT; i++)
		slab_json_number(json, slab_event_name(i), stats->event[i]);
	slab_json_close(json, '}');
}

static void put_nodes(struct slab_json *json, const struct slab_stats *stats)
{
	slab_json_open(json, "nodes", '[');
	for (unsigned i = 0; i < stats->nodes && i < SLAB_STATS_MAX_NODES; i++) {
		slab_json_open(json, NULL, '{');
		slab_json_number(json, "slabs", stats->node_slabs[i]);
		slab_json_number(json, "partial", stats->node_partial[i]);
		slab_json_number(json, "objects", stats->node_objects[i]);
		slab_json_close(json, '}');
	}
	slab_json_close(json, ']');
}

static int put_cache(struct slab_cache *cache, void *arg)
{
	struct slab_stats stats = {.struct_size = sizeof(stats)};
	struct slab_json *json = arg;

	if (slab_cache_stats(cache, &stats) != 0)
		return 0;
	slab_json_open(json, NULL, '{');
	slab_json_string(json, "name", stats.name);
	put_aliases(json, cache);
	put_flags(json, stats.flags);
	put_sizes(json, &stats);
	put_counts(json, &stats);
	control_put_debug(json, cache, &stats);
	put_events(json, &stats);
	put_nodes(json, &stats);
	slab_json_close(json, '}');
	return 0;
}

static void put_identity(struct slab_json *json)
{
	slab_json_number(json, "pid", (uint64_t)getpid());
	slab_json_string(json, "command", program_invocation_short_name);
	slab_json_string(json, "version", slab_version());
}

static void put_process(struct slab_json *json, uint64_t uptime)
{
	struct slab_process_stats stats = {.struct_size = sizeof(stats)};

	slab_process_stats(&stats);
	slab_json_open(json, "process", '{');
	put_identity(json);
	slab_json_string(json, "engine", slab_engine());
	slab_json_number(json, "uptime", uptime);
	slab_json_number(json, "cpus", stats.cpus);
	slab_json_number(json, "nodes", stats.nodes);
	slab_json_number(json, "segments", stats.segments);
	slab_json_number(json, "segment_size", stats.segment_size);
	slab_json_number(json, "slab_bytes", stats.slab_bytes);
	slab_json_number(json, "cached_bytes", stats.cached_bytes);
	slab_json_number(json, "large_bytes", stats.large_bytes);
	slab_json_number(json, "metadata_bytes", stats.metadata_bytes);
	control_put_mark(json);
	slab_json_close(json, '}');
}

static void answer_stats(struct slab_json *reply, uint64_t uptime)
{
	control_begin(reply, true);
	put_process(reply, uptime);
	slab_json_open(reply, "caches", '[');
	slab_for_each_cache(put_cache, reply);
	slab_json_close(reply, ']');
	control_end(reply);
}

static void answer_ping(struct slab_json *reply)
{
	control_begin(reply, true);
	put_identity(reply);
	control_end(reply);
}

/* A request that acts on the cache called `name`. */
struct errand {
	const char *name;
	long (*act)(struct slab_cache *cache, void *arg);
	void *arg;
	long result;
};

static bool is_called(struct slab_cache *cache, const char *name)
{
	const char *aliases[SLAB_STATS_MAX_ALIASES];
	size_t n;

	if (strcmp(slab_cache_name(cache), name) == 0)
		return true;
	n = slab_cache_aliases(cache, aliases, SLAB_STATS_MAX_ALIASES);
	for (size_t i = 0; i < n && i < SLAB_STATS_MAX_ALIASES; i++) {
		if (strcmp(aliases[i], name) == 0)
			return true;
	}
	return false;
}

static int run_if_called(struct slab_cache *cache, void *arg)
{
	struct errand *errand = arg;

	if (!is_called(cache, errand->name))
		return 0;
	errand->result = errand->act(cache, errand->arg);
	return 1;
}

bool control_on_cache(struct slab_json *reply, const char *command, const char *name,
		      long (*act)(struct slab_cache *cache, void *arg), void *arg)
{
	struct errand errand = {.name = name, .act = act, .arg = arg};

	if (!slab_for_each_cache(run_if_called, &errand))
		slab_control_refuse(reply, "no cache is called \"%s\"", name);
	else if (errand.result < 0)
		slab_control_refuse(reply, "%s of \"%s\" failed: %s", command, name,
				    strerrordesc_np((int)-errand.result));
	else
		return true;
	return false;
}

static long shrink(struct slab_cache *cache, void *ret_slabs)
{
	return *(long *)ret_slabs = slab_cache_shrink(cache);
}

static long validate(struct slab_cache *cache, void *ret_problems)
{
	return *(long *)ret_problems = slab_cache_validate(cache);
}

/* `counted` is what the action's result counts. */
static void answer_count(struct slab_json *reply, const char *command, const char *name,
			 long (*act)(struct slab_cache *cache, void *arg), const char *counted)
{
	long count = 0;

	if (!*name) {
		slab_control_refuse(reply, "%s needs the name of a cache", command);
	} else if (control_on_cache(reply, command, name, act, &count)) {
		control_begin(reply, true);
		slab_json_string(reply, "name", name);
		slab_json_number(reply, counted, (uint64_t)count);
		control_end(reply);
	}
}

static void answer_shrink(struct slab_json *reply, const char *rest)
{
	answer_count(reply, "shrink", rest, shrink, "slabs");
}

static void answer_validate(struct slab_json *reply, const char *rest)
{
	answer_count(reply, "validate", rest, validate, "problems");
}

/* Commands that take something. */
static const struct {
	const char *word;
	void (*answer)(struct slab_json *reply, const char *rest);
} commands[] = {
	{"shrink", answer_shrink},       {"validate", answer_validate},
	{"debug", control_answer_debug}, {"traces", control_answer_traces},
	{"mark", control_answer_mark},   {"sample", control_answer_sample},
	{"fail", control_answer_fail},   {"set", control_answer_set},
	{"reset", control_answer_reset}, {"trim", control_answer_trim},
	{"count", control_answer_count},
};

/* What follows `word` and blanks in `text`; NULL when it starts otherwise. */
static const char *after_word(const char *text, const char *word)
{
	size_t len = strlen(word);

	if (strncmp(text, word, len) != 0 || (text[len] && text[len] != ' '))
		return NULL;
	return text + len + strspn(text + len, " ");
}

static void answer_command(struct slab_json *reply, const char *command)
{
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		const char *rest = after_word(command, commands[i].word);

		if (rest) {
			commands[i].answer(reply, rest);
			return;
		}
	}
	slab_control_refuse(reply, "request \"%.64s\" is not known; accepted: %s", command,
			    accepted);
}

void slab_control_answer(struct slab_json *reply, const char *request, uint64_t uptime)
{
	const char *command = after_word(request, "slab/1");
	const char *rest;

	if (!command)
		slab_control_refuse(reply, "a request is one line, \"slab/1\" and one of %s",
				    accepted);
	else if ((rest = after_word(command, "ping")) && !*rest)
		answer_ping(reply);
	else if ((rest = after_word(command, "stats")) && !*rest)
		answer_stats(reply, uptime);
	else
		answer_command(reply, command);
}
