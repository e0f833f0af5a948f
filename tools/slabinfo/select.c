/* SPDX-License-Identifier: MIT */
#include "select.h"

static bool is_meant(const struct options *options, const struct cache *cache)
{
	if (args_matches(options, cache->name))
		return true;
	for (size_t i = 0; i < cache->aliases; i++) {
		if (args_matches(options, model_alias(cache, i)))
			return true;
	}
	return false;
}

static void keep_matching(const struct options *options, struct model *model)
{
	size_t kept = 0;

	for (size_t i = 0; i < model->count; i++) {
		if (is_meant(options, &model->caches[i]))
			model->caches[kept++] = model->caches[i];
	}
	model->count = kept;
}

bool select_take(const struct options *options, struct process *process, struct model *model)
{
	struct json_object *answer = attach_ask(process, "stats", NULL);

	if (!answer)
		return false;
	if (!model_load(model, answer)) {
		model_free(model);
		return false;
	}
	keep_matching(options, model);
	return true;
}

void select_shown(const struct options *options, struct model *model)
{
	size_t kept = 0;

	for (size_t i = 0; i < model->count; i++) {
		bool empty = model->caches[i].slabs == 0;

		if (empty ? options->zero || options->empty : !options->empty)
			model->caches[kept++] = model->caches[i];
	}
	model->count = kept;
}

void select_sort(const struct options *options, struct model *model)
{
	(void)options;
	(void)model;
}
