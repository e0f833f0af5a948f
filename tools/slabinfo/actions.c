/* SPDX-License-Identifier: MIT */
/*
 * What the process has to do itself, one request for each cache: -s, -v, -d,
 * --sample; --fail and --profile. A cache that was destroyed in the meantime is left out.
 */
#include "select.h"
#include "views.h"

/* The answer to a request on a cache; NULL: there is none, and *status says so unless the cache is
 * gone. */
static struct json_object *ask(struct process *process, const struct cache *cache,
			       const char *request, int *status)
{
	bool gone;
	struct json_object *answer = select_query(process, request, cache->name, &gone);

	if (!answer && !gone)
		*status = EXIT_NOTHING;
	return answer;
}

/* The number of what the process did to a cache. false: it did not. */
static bool act(struct process *process, const struct cache *cache, const char *action,
		const char *counted, uint64_t *count, int *status)
{
	struct json_object *answer = ask(process, cache, action, status);

	if (!answer)
		return false;
	*count = model_number(answer, counted);
	json_object_put(answer);
	return true;
}

int action_shrink(struct process *process, const struct model *model)
{
	int status = EXIT_DONE;

	for (size_t i = 0; i < model->count; i++) {
		const struct cache *cache = &model->caches[i];
		uint64_t slabs;

		if (act(process, cache, "shrink", "slabs", &slabs, &status))
			printf("%-21s %8" PRIu64 " slab%s given back\n", cache->name, slabs,
			       plural(slabs));
	}
	return status;
}

int action_validate(struct process *process, const struct model *model)
{
	int status = EXIT_DONE;

	for (size_t i = 0; i < model->count; i++) {
		const struct cache *cache = &model->caches[i];
		uint64_t problems = 0;

		if (!act(process, cache, "validate", "problems", &problems, &status))
			continue;
		if (problems == 0)
			printf("%-21s no problems found\n", cache->name);
		else
			printf("%-21s %8" PRIu64 " problem%s found; the process has reported %s\n",
			       cache->name, problems, plural(problems),
			       problems == 1 ? "it" : "them");
		if (problems)
			status = EXIT_NOTHING;
	}
	return status;
}

static const char *flags_or_none(const char *flags)
{
	return strcmp(flags, "-") == 0 ? "none" : flags;
}

/* "; 3 older slabs keep the old layout until their objects are freed" */
static void print_legacy(uint64_t slabs)
{
	if (slabs == 1)
		puts("; 1 older slab keeps the old layout until its objects are freed");
	else if (slabs)
		printf("; %" PRIu64
		       " older slabs keep the old layout until their objects are freed\n",
		       slabs);
	else
		putchar('\n');
}

/* A line for a cache that was changed. 1: it was, 0: it had these debug flags, -1: there is no
 * answer. */
static int debug_cache(struct process *process, const struct cache *cache, const char *debug_flags,
		       int *status)
{
	char request[32];
	struct json_object *answer;
	bool changed;

	snprintf(request, sizeof(request), "debug %s", debug_flags);
	answer = ask(process, cache, request, status);
	if (!answer)
		return -1;
	changed = strcmp(model_text(answer, "before"), model_text(answer, "after")) != 0;
	if (changed) {
		printf("%-21s debug flags: %s -> %s", cache->name,
		       flags_or_none(model_text(answer, "before")),
		       flags_or_none(model_text(answer, "after")));
		print_legacy(model_number(answer, "legacy_slabs"));
	}
	json_object_put(answer);
	return changed;
}

int action_debug(const struct options *options, struct process *process, const struct model *model)
{
	const bool none = strcmp(options->debug_flags, "-") == 0;
	size_t changed = 0, others = model->count;
	int status = EXIT_DONE;

	for (size_t i = 0; i < model->count; i++) {
		int did = debug_cache(process, &model->caches[i], options->debug_flags, &status);

		changed += did > 0;
		others -= did != 0;
	}
	printf("%zu cache%s changed, %zu already had %s\n", changed, plural(changed), others,
	       none ? "none" : options->debug_flags);
	return status;
}

static const char *interval_text(char text[40], uint64_t interval)
{
	snprintf(text, 40, interval ? "one in %" PRIu64 : "off", interval);
	return text;
}

int action_sample(const struct options *options, struct process *process, const struct model *model)
{
	char request[40], before[40], after[40];
	int status = EXIT_DONE;

	snprintf(request, sizeof(request), "sample %ld", options->sample);
	for (size_t i = 0; i < model->count; i++) {
		struct json_object *answer = ask(process, &model->caches[i], request, &status);

		if (answer)
			printf("%-21s sampling %s -> %s\n", model->caches[i].name,
			       interval_text(before, model_number(answer, "before")),
			       interval_text(after, model_number(answer, "after")));
		json_object_put(answer);
	}
	return status;
}

int action_fail(const struct options *options, struct process *process)
{
	struct json_object *answer = attach_query(process, "fail", options->fail);

	if (!answer)
		return EXIT_USAGE;
	if (strcmp(options->fail, "-") == 0)
		printf("No allocations fail in process %d (%s) any more\n", process->pid,
		       process->command);
	else
		printf("Allocations fail in process %d (%s): %s; --fail=- ends that\n",
		       process->pid, process->command, options->fail);
	json_object_put(answer);
	return EXIT_DONE;
}

#define PERIOD_TEXT 64

/* "a sample every 512KiB" */
static const char *period_text(char text[PERIOD_TEXT], uint64_t period)
{
	char size[SIZE_TEXT];

	if (!period)
		return "off";
	size_text(size, period);
	snprintf(text, PERIOD_TEXT, "a sample every %s%s", size, strchr(size, 'B') ? "" : " bytes");
	return text;
}

int action_profile(const struct options *options, struct process *process)
{
	struct json_object *answer = attach_query(process, "profile", options->profile);
	char before[PERIOD_TEXT], after[PERIOD_TEXT];

	if (!answer)
		return EXIT_USAGE;
	printf("Heap profile of process %d (%s): %s -> %s\n", process->pid, process->command,
	       period_text(before, model_number(answer, "before")),
	       period_text(after, model_number(answer, "after")));
	json_object_put(answer);
	return EXIT_DONE;
}
