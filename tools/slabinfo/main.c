/* SPDX-License-Identifier: MIT */
/*
 * slabinfo: look at the slab caches of a running process, after the kernel's
 * tool of the same name. A run reads its options, chooses a process, asks it
 * for its statistics and shows them in one view.
 */
#include "views.h"

#include <stdio.h>

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

/* Keeps the caches that the pattern means. */
static void select_matching(const struct options *options, struct model *model)
{
	size_t kept = 0;

	for (size_t i = 0; i < model->count; i++) {
		if (is_meant(options, &model->caches[i]))
			model->caches[kept++] = model->caches[i];
	}
	model->count = kept;
}

/* The table leaves out caches without slabs, unless it is asked for them. */
static void select_shown(const struct options *options, struct model *model)
{
	size_t kept = 0;

	for (size_t i = 0; i < model->count; i++) {
		bool empty = model->caches[i].slabs == 0;

		if (empty ? options->zero || options->empty : !options->empty)
			model->caches[kept++] = model->caches[i];
	}
	model->count = kept;
}

static int show(const struct options *options, const struct process *process, struct model *model)
{
	switch (options->view) {
	case VIEW_TOTALS:
		view_totals(model);
		break;
	case VIEW_REPORT:
		view_report(model);
		break;
	case VIEW_JSON:
		view_json(options, model);
		break;
	case VIEW_SHRINK:
		return action_shrink(process, model);
	case VIEW_VALIDATE:
		return action_validate(process, model);
	case VIEW_DEBUG:
		return action_debug(options, process, model);
	case VIEW_SAMPLE:
		return action_sample(options, process, model);
	case VIEW_FAIL:
		return action_fail(options, process);
	case VIEW_MARK:
		return action_mark(process, model);
	case VIEW_SINCE_MARK:
		return view_since_mark(options, process, model);
	case VIEW_TRACKING:
		select_shown(options, model);
		return view_tracking(options, process, model);
	default:
		select_shown(options, model);
		view_table(options, model);
	}
	return EXIT_DONE;
}

static int run(struct options *options)
{
	struct json_object *answer;
	struct process process;
	struct model model;
	int status = attach_choose(options, &process);

	if (status >= 0)
		return status;
	answer = attach_ask(&process, "stats", NULL);
	if (!answer)
		return EXIT_USAGE;
	status = EXIT_USAGE;
	if (model_load(&model, answer)) {
		select_matching(options, &model);
		if (options->view == VIEW_DEFAULT && options->pattern && model.count == 1)
			options->view = VIEW_REPORT;
		if (options->pattern && model.count == 0) {
			fail("no cache of process %d (%s) matches \"%s\"", process.pid,
			     process.command, options->pattern);
			status = EXIT_NOTHING;
		} else {
			status = show(options, &process, &model);
		}
	}
	model_free(&model);
	return status;
}

int main(int argc, char **argv)
{
	struct options options;
	int status = args_parse(&options, argc, argv);

	if (status < 0)
		status = options.view == VIEW_PROCESSES ? attach_list(&options) : run(&options);
	if (options.pattern)
		regfree(&options.regex);
	if (fflush(stdout) != 0 || ferror(stdout)) {
		fail("the output could not be written");
		return EXIT_NOTHING;
	}
	return status;
}
