/* SPDX-License-Identifier: MIT */
/* Selecting and sorting the caches that a view shows, and reading the process for it. */
#include "select.h"

#include <strings.h>

bool select_has(struct json_object *answer, const char *name)
{
	struct json_object *caches = model_member(answer, "caches");

	for (size_t i = 0; i < model_length(caches); i++) {
		if (strcmp(model_text(json_object_array_get_idx(caches, i), "name"), name) == 0)
			return true;
	}
	return false;
}

struct selection select_among(struct json_object *answer, const char *pattern, const regex_t *regex)
{
	return (struct selection){pattern, regex, pattern && select_has(answer, pattern)};
}

bool select_means(const struct selection *selection, const char *name)
{
	if (!selection->pattern)
		return true;
	return selection->alone ? strcmp(name, selection->pattern) == 0
				: regexec(selection->regex, name, 0, NULL, 0) == 0;
}

static void keep_meant(const struct options *options, struct model *model)
{
	const struct selection selection =
		select_among(model->document, options->pattern, &options->regex);
	size_t kept = 0;

	for (size_t i = 0; i < model->count; i++) {
		if (select_means(&selection, model->caches[i].name))
			model->caches[kept++] = model->caches[i];
	}
	model->count = kept;
}

bool select_take(const struct options *options, struct process *process, struct model *model)
{
	struct json_object *answer = attach_query(process, "stats", NULL);

	if (!answer || !model_load(model, answer))
		return false;
	keep_meant(options, model);
	return true;
}

size_t *select_places(struct json_object *listed, const struct cache *caches, size_t count)
{
	struct json_object *numbers;
	size_t *places = calloc(model_length(listed) + 1, sizeof(*places));

	numbers = places ? json_object_new_object() : NULL;
	for (size_t i = 0; i < count && numbers; i++)
		model_add_number(numbers, caches[i].name, i);
	for (size_t i = 0; i < model_length(listed) && numbers; i++) {
		const char *name = model_text(json_object_array_get_idx(listed, i), "name");
		struct json_object *number = model_member(numbers, name);

		places[i] = number ? json_object_get_uint64(number) : count;
	}
	json_object_put(numbers);
	return places;
}

int select_fail(const struct options *options, const struct process *process)
{
	char hint[HINT_TEXT];

	fail("no cache of process %d (%s) matches \"%s\"%s", process->pid, process->command,
	     options->pattern, args_hint(options, options->pattern, hint));
	return EXIT_NOTHING;
}

bool select_is_gone(const char why[WHY_TEXT])
{
	const bool gone = strstr(why, "no cache is called ");

	if (!gone)
		fail("%s", why);
	return gone;
}

struct json_object *select_query(struct process *process, const char *request, const char *name,
				 bool *ret_gone)
{
	struct json_object *answer;
	char why[WHY_TEXT] = "";

	fail_capture(why, sizeof(why));
	answer = attach_query(process, request, name);
	fail_capture(NULL, 0);
	*ret_gone = !answer && select_is_gone(why);
	return answer;
}

/* One byte of a name: regular expressions and shells take some for more than that. */
static const char *escaped(char text[5], char byte)
{
	if (byte == '\'')
		return "'\\''";
	snprintf(text, 5, "%s%c", strchr(".[]()*+?{}|^$\\", byte) ? "\\" : "", byte);
	return text;
}

const char *select_pattern(char text[PATTERN_TEXT], const char *name)
{
	size_t length = (size_t)sprintf(text, "'^");
	char one[5];

	for (size_t i = 0; name[i] && i < SLAB_MAX_NAME; i++)
		length += (size_t)sprintf(text + length, "%s", escaped(one, name[i]));
	sprintf(text + length, "$'");
	return text;
}

/* --- what is shown ---------------------------------------------------------------- */

/* Views with a row for each cache, in which those without slabs are only noise. */
static bool hides_empty(enum view view)
{
	return view == VIEW_DEFAULT || view == VIEW_TABLE || view == VIEW_NUMA || view == VIEW_TOP;
}

static bool is_shown(const struct options *options, const struct cache *cache)
{
	if (options->unreclaimable && cache->flags & SLAB_RECLAIM_ACCOUNT)
		return false;
	if (cache->slabs == 0 && !model_number(cache->json, "large_objects"))
		return options->zero || options->empty || !hides_empty(options->view);
	return !options->empty;
}

void select_shown(const struct options *options, struct model *model)
{
	size_t kept = 0;

	for (size_t i = 0; i < model->count; i++) {
		if (is_shown(options, &model->caches[i]))
			model->caches[kept++] = model->caches[i];
	}
	model->count = kept;
}

void select_first(const struct options *options, struct model *model)
{
	if (options->lines && options->lines < model->count)
		model->count = options->lines;
}

/* --- the order -------------------------------------------------------------------- */

uint64_t cache_loss(const struct cache *cache)
{
	uint64_t bytes = cache->slab_bytes, used = cache_used_bytes(cache);

	return bytes > used ? bytes - used : 0;
}

bool cache_rate(const struct cache *cache, uint64_t *ret_rate)
{
	uint64_t counted = model_number(cache->json, "counted");
	uint64_t us = model_number(cache->json, "counted_us");

	*ret_rate = us ? (uint64_t)((double)counted * 1e6 / (double)us) : 0;
	return us;
}

static uint64_t left_fast_path(const struct cache *cache)
{
	return model_event(cache, "alloc_slowpath") + model_event(cache, "free_slowpath");
}

static int compare_numbers(uint64_t a, uint64_t b)
{
	return a < b ? 1 : a > b ? -1 : 0;
}

/* By what was counted, which is all that happened, and then by what left the fast
 * path, which is known always but misses the best of what a cache does. */
static int compare_activity(const struct cache *a, const struct cache *b)
{
	uint64_t rate_a, rate_b;
	int result;

	cache_rate(a, &rate_a);
	cache_rate(b, &rate_b);
	result = compare_numbers(rate_a, rate_b);
	return result ? result : compare_numbers(left_fast_path(a), left_fast_path(b));
}

static int compare(const void *left, const void *right, void *arg)
{
	const struct cache *a = left, *b = right;
	const struct options *options = arg;
	int result = 0;

	if (options->order == ORDER_SIZE)
		result = compare_numbers(a->slab_bytes, b->slab_bytes);
	else if (options->order == ORDER_LOSS)
		result = compare_numbers(cache_loss(a), cache_loss(b));
	else if (options->order == ORDER_PARTIAL)
		result = compare_numbers(a->partial, b->partial);
	else if (options->order == ORDER_ACTIVITY)
		result = compare_activity(a, b);
	if (!result)
		result = strcasecmp(a->name, b->name);
	if (!result)
		result = strcmp(a->name, b->name);
	return options->inverted ? -result : result;
}

void select_sort(const struct options *options, struct model *model)
{
	struct options order = *options;

	qsort_r(model->caches, model->count, sizeof(*model->caches), compare, &order);
}
