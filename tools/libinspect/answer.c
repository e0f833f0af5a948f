/* SPDX-License-Identifier: MIT */
/*
 * Answers to the requests of the control protocol that only read (docs/schema): ping, stats, slabs
 * and traces; the others are in files of their own. The process is inspected through a reader, so
 * it may be this one, another one, or a core file.
 */
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "answer.h"
#include "core/shard.h"
#include "objects.h"
#include "pages/os.h"
#include "control/reply.h"

/* The most rows of an answer to `slabs`: some ten megabytes of text. */
#define SLAB_ROWS_MAX 262144u
/* Room for the longest list, which consists of pairs: "0-1,3-4,…". */
#define LIST_TEXT ((SLAB_CALL_SITE_CPUS / 3 + 1) * sizeof("1022-1023"))

_Static_assert(SLAB_CALL_SITE_CPUS <= 1024, "numbers of CPUs have four digits at most");

/* Replace the answer by an error message; returns `error`. */
__attribute__((format(printf, 3, 4))) static int refuse(struct slab_json *json, int error,
							const char *format, ...)
{
	char message[320];
	va_list args;

	va_start(args, format);
	vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	slab_json_free(json);
	slab_control_refuse(json, "%s", message);
	return error;
}

/* --- ping, stats -------------------------------------------------------------------- */

static void put_identity(struct slab_json *json, const struct inspection *in)
{
	slab_json_number(json, "pid", (uint64_t)in->reader->pid);
	slab_json_string(json, "command", in->reader->command ? in->reader->command : "");
	slab_json_string(json, "version", in->root.version);
}

static void put_process(struct slab_json *json, const struct inspection *in)
{
	uint64_t now = in->reader->now_ms, started = in->process.started;
	const char *why = cpu_rseq_lack_text(in->process.rseq_lack);

	slab_json_open(json, "process", '{');
	put_identity(json, in);
	slab_json_string(json, "engine", in->process.engine);
	if (why)
		slab_json_string(json, "why_not_rseq", why);
	slab_json_number(json, "uptime", now > started ? (now - started) / 1000 : 0);
	slab_json_number(json, "cpus", in->cpus);
	slab_json_number(json, "nodes", in->process.nodes);
	slab_json_number(json, "segments", in->pages.segment_count);
	slab_json_number(json, "segment_size", SEGMENT_SIZE);
	slab_json_number(json, "slab_bytes", in->slab_bytes);
	slab_json_number(json, "populated_bytes", in->populated_bytes);
	slab_json_number(json, "cached_bytes", in->pages.free_slab_bytes);
	slab_json_number(json, "large_bytes", in->pages.large_bytes);
	slab_json_number(json, "metadata_bytes", in->metadata_bytes);
	slab_json_number(json, "array_bytes", in->array_bytes);
	slab_json_number(json, "limit", in->pages.account.limit);
	slab_json_number(json, "used_bytes", in->pages.account.used);
	slab_json_number(json, "limit_hits", in->pages.limit_hits);
	slab_json_number(json, "now", now);
	slab_json_number(json, "mark", in->process.mark);
	slab_json_close(json, '}');
}

static int answer_ping(struct inspection *in, const char *rest, struct slab_json *json)
{
	const struct slab_cache *first;
	int error = inspect_read(in, (uintptr_t)in->root.registry, sizeof(first), &first);

	(void)rest;
	if (error)
		return error;
	control_begin(json, true);
	put_identity(json, in);
	slab_json_bool(json, "has_caches", first);
	control_end(json);
	return 0;
}

static int answer_stats(struct inspection *in, const char *rest, struct slab_json *json)
{
	int error = inspect_load(in);

	(void)rest;
	if (!error)
		error = inspect_count(in);
	if (error)
		return error;
	control_begin(json, true);
	put_process(json, in);
	slab_json_open(json, "caches", '[');
	for (size_t i = 0; i < in->count; i++)
		inspect_put_cache(json, &in->caches[i]);
	slab_json_close(json, ']');
	control_end(json);
	return 0;
}

/* --- slabs ---------------------------------------------------------------------------- */

struct rows {
	struct slab_json *json;
	struct held_list held;
	uint64_t count;
};

static const char *state_of(const struct inspect_slab *seen)
{
	if (seen->guarded)
		return "guarded";
	if (seen->is_legacy)
		return "legacy";
	if (seen->slab.debug)
		return "debug";
	if (seen->slab.bucket == SLAB_FULL)
		return "full";
	if (seen->slab.bucket == SLAB_EMPTY)
		return "empty";
	/* SLAB_OFF: on no list, because a thread works on it at this moment. */
	return seen->used ? "partial" : "empty";
}

/* The objects of a slab that are in use, as the statistics of its cache count them. */
static uint64_t used_of(const struct held_list *list, const struct inspect_slab *seen)
{
	const uint64_t end = seen->address + seen->bytes;
	uint64_t held = 0;

	for (size_t i = inspect_held_from(list, seen->address);
	     i < list->count && list->held[i].address < end; i++)
		held += list->held[i].by != HELD_WAITING;
	return seen->used > held ? seen->used - held : 0;
}

static void put_row(struct inspection *in, struct inspect_cache *cache,
		    const struct inspect_slab *seen, void *arg)
{
	struct rows *rows = arg;
	struct slab_json *json = rows->json;

	cache->stats.slabs++;
	if (rows->count++ >= SLAB_ROWS_MAX)
		return;
	slab_json_open(json, NULL, '[');
	slab_json_number(json, NULL, (uint64_t)(cache - in->caches));
	slab_json_number(json, NULL, seen->address);
	slab_json_number(json, NULL, used_of(&rows->held, seen));
	slab_json_number(json, NULL, seen->slab.objects);
	slab_json_string(json, NULL, state_of(seen));
	slab_json_number(json, NULL, seen->slab.node);
	control_put_debug_flags(json, NULL, seen->debug.debug_flags);
	slab_json_number(json, NULL, seen->bytes);
	slab_json_close(json, ']');
}

static void put_totals(struct slab_json *json, const struct inspection *in)
{
	slab_json_open(json, "caches", '[');
	for (size_t i = 0; i < in->count; i++) {
		slab_json_open(json, NULL, '{');
		slab_json_string(json, "name", in->caches[i].copy->name);
		slab_json_number(json, "total", in->caches[i].stats.slabs);
		slab_json_close(json, '}');
	}
	slab_json_close(json, ']');
}

static int answer_slabs(struct inspection *in, const char *name, struct slab_json *json)
{
	static const char *const columns[] = {"cache", "address", "used",        "room",
					      "state", "node",    "debug_flags", "bytes"};
	struct rows rows = {.json = json};
	int error = inspect_load_meant(in, name, json);

	if (error)
		return error;
	control_begin(json, true);
	slab_json_open(json, "columns", '[');
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
		slab_json_string(json, NULL, columns[i]);
	slab_json_close(json, ']');
	slab_json_open(json, "slabs", '[');
	error = inspect_held(in, &rows.held);
	if (!error)
		error = inspect_each_slab(in, put_row, &rows);
	inspect_held_free(&rows.held);
	slab_json_close(json, ']');
	put_totals(json, in);
	control_end(json);
	return error;
}

/* --- traces --------------------------------------------------------------------------- */

/* Write the set bits of a map as "0,2-3". */
static void put_list(struct slab_json *json, const char *key, const uint64_t *map, unsigned bits)
{
	char text[LIST_TEXT] = "";
	size_t len = 0;

	for (unsigned i = 0, after; i < bits; i = after + 1) {
		for (after = i; after < bits && map[after / 64] >> after % 64 & 1; after++)
			;
		if (after == i)
			continue;
		len += (size_t)sprintf(text + len, after - i > 1 ? "%s%u-%u" : "%s%u",
				       len ? "," : "", i, after - 1);
	}
	slab_json_string(json, key, text);
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
	inspect_put_stack(json, site->frame, site->frames);
	slab_json_close(json, '}');
	return 0;
}

static const char *const kinds[] = {
	[SLAB_TRACES_ALLOCATED] = "allocated",
	[SLAB_TRACES_FREED] = "freed",
};

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

static bool parse_mark(uint64_t *mark, const char *word, size_t len)
{
	char *after;

	errno = 0;
	*mark = strtoull(word, &after, 10);
	return *word >= '0' && *word <= '9' && after == word + len && !errno && *mark <= LONG_MAX;
}

static void put_traces(struct inspection *in, struct call_sites *sites, size_t cache,
		       struct slab_json *json)
{
	control_begin(json, true);
	slab_json_string(json, "name", in->caches[cache].copy->name);
	slab_json_string(json, "kind", kinds[sites->kind]);
	slab_json_number(json, "now", in->reader->now_ms);
	slab_json_open(json, "sites", '[');
	inspect_each_site(in, sites, cache, put_site, json);
	slab_json_close(json, ']');
	slab_json_bool(json, "tracked", in->caches[cache].tracked);
	slab_json_close(json, '}');
}

static int put_all_traces(struct inspection *in, struct call_sites *sites, struct slab_json *json)
{
	const int error = inspect_traces(in, sites);

	control_begin(json, true);
	slab_json_open(json, "traces", '[');
	for (size_t i = 0; i < in->count && !error; i++)
		put_traces(in, sites, i, json);
	slab_json_close(json, ']');
	control_end(json);
	call_sites_end(sites);
	return error;
}

static int answer_traces(struct inspection *in, const char *rest, struct slab_json *json)
{
	const char *word, *since;
	size_t len = control_cut_word(&rest, &word), since_len = control_cut_word(&rest, &since);
	struct call_sites sites = {.site = NULL};
	int error;

	if (!since_len)
		return refuse(json, -EINVAL,
			      "traces needs \"allocated\" or \"freed\", and a mark or 0");
	if (!parse_kind(&sites.kind, word, len))
		return refuse(json, -EINVAL, "traces are \"allocated\" or \"freed\", not \"%.*s\"",
			      WORD_SHOWN(len), word);
	if (!parse_mark(&sites.since, since, since_len))
		return refuse(json, -EINVAL,
			      "\"%.*s\" is no mark; accepted: what \"mark\" answered, and 0 for "
			      "all",
			      WORD_SHOWN(since_len), since);
	error = inspect_load_meant(in, rest, json);
	return error ? error : put_all_traces(in, &sites, json);
}

/* --- the request ------------------------------------------------------------------------ */

static const struct {
	const char *word;
	bool has_words; /* further words may follow */
	int (*answer)(struct inspection *in, const char *rest, struct slab_json *json);
} requests[] = {
	{"ping", false, answer_ping},
	{"stats", false, answer_stats},
	{"slabs", true, answer_slabs},
	{"traces", true, answer_traces},
	{"profile", false, inspect_put_profile},
	{"waste", false, inspect_put_waste},
	{"objects", true, inspect_put_objects},
	{"object", true, inspect_put_object},
	{"regions", false, inspect_put_regions},
	{"validate", true, inspect_put_verified},
};

static int answer_request(struct inspection *in, const char *request, struct slab_json *json)
{
	const char *word, *rest = request;
	size_t len = control_cut_word(&rest, &word);

	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		if (strlen(requests[i].word) == len && memcmp(requests[i].word, word, len) == 0 &&
		    (requests[i].has_words || !*rest))
			return requests[i].answer(in, rest, json);
	}
	return refuse(json, -EINVAL,
		      "\"%.64s\" cannot be read from memory; that can be: ping, stats, slabs, "
		      "traces, profile, waste, objects, object, regions, validate",
		      request);
}

/* The name of the process or file that is read, for messages. */
static const char *command_of(const struct inspection *in)
{
	return in->reader->command ? in->reader->command : "?";
}

/* Replace the answer by the reason why the process could not be read. */
static int explain(const struct inspection *in, int error, struct slab_json *json)
{
	const char *version = in->root.magic == ROOT_MAGIC ? in->root.version : NULL;

	if (error == -EPROTO && version)
		return refuse(json, error,
			      "process %d (%s) has libslab %s of another build than this %s; use "
			      "the tools that came with it",
			      in->reader->pid, command_of(in), version, SLAB_VERSION);
	if (error == -EPROTO)
		return refuse(json, error, "process %d (%s) has no libslab that is known here",
			      in->reader->pid, command_of(in));
	if (error == -EAGAIN)
		return refuse(json, error,
			      "the list of caches of process %d (%s) changed each time that it was "
			      "read, or is damaged",
			      in->reader->pid, command_of(in));
	return refuse(json, error, "the memory of process %d (%s) could not be read",
		      in->reader->pid, command_of(in));
}

static int answer_from(const struct slab_reader *reader, uint64_t root, const char *request,
		       struct slab_json *json)
{
	struct inspection in;
	int error = inspect_open(&in, reader, root);

	if (!error)
		error = answer_request(&in, request, json);
	inspect_close(&in);
	if (json->failed)
		error = -ENOMEM;
	if (error == -ENOMEM)
		slab_json_free(json);
	else if (error == -EPROTO || error == -EFAULT || error == -EAGAIN)
		explain(&in, error, json);
	return error;
}

int slab_inspect(const struct slab_reader *reader, uint64_t root, const char *request,
		 struct slab_answer *answer)
{
	struct slab_json json = {.text = NULL};
	int error;

	*answer = (struct slab_answer){.text = NULL};
	if (reader->struct_size != sizeof(*reader))
		return -EINVAL;
	error = answer_from(reader, root, request, &json);
	slab_json_end(&json);
	if (error == -ENOMEM || json.failed) {
		slab_json_free(&json);
		return -ENOMEM;
	}
	*answer = (struct slab_answer){json.text, json.len, json.capacity};
	return error;
}

void slab_answer_free(struct slab_answer *answer)
{
	if (answer->text)
		os_unmap(answer->text, answer->mapped);
	*answer = (struct slab_answer){.text = NULL};
}
