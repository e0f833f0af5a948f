/* SPDX-License-Identifier: MIT */
/*
 * --diff: what changed between two files of --json. Caches are paired by name; of
 * several that have one name the first is paired with the first. What grew most comes
 * first and what shrank last, by the bytes of their slabs.
 */
#include "diff.h"
#include "views.h"

#include <slab/slab.h>

static int compare_names(const void *left, const void *right)
{
	const struct cache *a = *(struct cache *const *)left, *b = *(struct cache *const *)right;
	int result = strcmp(a->name, b->name);

	return result ? result : (a > b) - (a < b);
}

/* The caches by name, NULL at the end; NULL when there is no memory. */
static struct cache **sort_by_name(const struct model *model)
{
	struct cache **sorted = calloc(model->count + 1, sizeof(struct cache *));

	for (size_t i = 0; sorted && i < model->count; i++)
		sorted[i] = &model->caches[i];
	if (sorted)
		qsort(sorted, model->count, sizeof(struct cache *), compare_names);
	return sorted;
}

static void add_growth(struct growth *sum, struct growth more)
{
	sum->before += more.before;
	sum->after += more.after;
}

static void add_change(const struct options *options, struct diff *diff, const struct cache *before,
		       const struct cache *after)
{
	const struct cache *cache = after ? after : before;
	struct change change = {cache->name, before, after};

	if (options->unreclaimable && cache->flags & SLAB_RECLAIM_ACCOUNT)
		return;
	diff->caches++;
	add_growth(&diff->objects, change_objects(&change));
	add_growth(&diff->bytes, change_bytes(&change));
	if (options->zero || !change_is_same(&change))
		diff->changes[diff->count++] = change;
}

static void pair(const struct options *options, struct diff *diff, struct cache **before,
		 struct cache **after)
{
	while (*before || *after) {
		int order = !*before ? 1 : !*after ? -1 : strcmp((*before)->name, (*after)->name);

		add_change(options, diff, order <= 0 ? *before : NULL, order >= 0 ? *after : NULL);
		before += order <= 0;
		after += order >= 0;
	}
}

static bool make(const struct options *options, struct diff *diff)
{
	struct cache **before = sort_by_name(&diff->before.model);
	struct cache **after = sort_by_name(&diff->after.model);
	size_t most = diff->before.model.count + diff->after.model.count;

	diff->changes = calloc(most + 1, sizeof(*diff->changes));
	if (before && after && diff->changes)
		pair(options, diff, before, after);
	else
		fail("no memory for %zu caches", most);
	free(before);
	free(after);
	return before && after && diff->changes;
}

/* The order */

static int compare_growth(struct growth a, struct growth b)
{
	int64_t growth_a = growth_of(&a), growth_b = growth_of(&b);

	return (growth_a < growth_b) - (growth_a > growth_b);
}

static int compare_changes(const void *left, const void *right, void *arg)
{
	const struct change *a = left, *b = right;
	const struct options *options = arg;
	int result = compare_growth(change_bytes(a), change_bytes(b));

	if (!result)
		result = compare_growth(change_objects(a), change_objects(b));
	if (!result)
		result = strcmp(a->name, b->name);
	return options->inverted ? -result : result;
}

static void sort(const struct options *options, struct diff *diff)
{
	struct options order = *options;

	qsort_r(diff->changes, diff->count, sizeof(*diff->changes), compare_changes, &order);
	if (options->lines && options->lines < diff->count)
		diff->count = options->lines;
}

int view_diff(const struct options *options)
{
	struct diff diff = {.changes = NULL};
	int status = EXIT_USAGE;

	if (diff_read(&diff.before, options->operands[0]) &&
	    diff_read(&diff.after, options->operands[1]) && make(options, &diff)) {
		sort(options, &diff);
		if (options->json)
			diff_print_json(&diff);
		else
			diff_print(options, &diff);
		status = EXIT_DONE;
	}
	free(diff.changes);
	diff_file_free(&diff.before);
	diff_file_free(&diff.after);
	return status;
}
