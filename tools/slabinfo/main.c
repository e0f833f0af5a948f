/* SPDX-License-Identifier: MIT */
/*
 * slabinfo: look at the slab caches of a process, after the kernel's tool of the
 * same name. A run reads its options, chooses a process or a core file, asks it
 * for its statistics and shows them in one view.
 */
#include "select.h"
#include "views.h"

#include <stdio.h>

static int act(const struct options *options, struct process *process, const struct model *model)
{
	switch (options->view) {
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
	case VIEW_SET:
		return action_set(options, process);
	case VIEW_RESET:
		return action_reset(process, model);
	case VIEW_TRIM:
		return action_trim(process);
	case VIEW_SINCE_MARK:
		return view_since_mark(options, process, model);
	case VIEW_TRACKING:
		return view_tracking(options, process, model);
	default:
		return view_map(options, process, model);
	}
}

static int show(const struct options *options, struct process *process, struct model *model)
{
	switch (options->view) {
	case VIEW_TOTALS:
		view_totals(options, model);
		break;
	case VIEW_EXTENDED_TOTALS:
		view_extended_totals(options, model);
		break;
	case VIEW_ALIASES:
		return view_aliases(options, model);
	case VIEW_NUMA:
		select_shown(options, model);
		view_numa(options, model);
		break;
	case VIEW_OPS:
		view_ops(model);
		break;
	case VIEW_REPORT:
		view_report(options, model);
		break;
	case VIEW_JSON:
		view_json(options, model);
		break;
	case VIEW_OPENMETRICS:
		view_openmetrics(process, model);
		break;
	case VIEW_DEFAULT:
	case VIEW_TABLE:
		select_shown(options, model);
		view_table(options, model);
		break;
	default:
		return act(options, process, model);
	}
	return EXIT_DONE;
}

static int show_once(struct options *options, struct process *process)
{
	struct model model;
	int status;

	if (!select_take(options, process, &model))
		return EXIT_USAGE;
	if (options->view == VIEW_DEFAULT && options->pattern && model.count == 1)
		options->view = VIEW_REPORT;
	if (options->pattern && model.count == 0) {
		fail("no cache of process %d (%s) matches \"%s\"", process->pid, process->command,
		     options->pattern);
		status = EXIT_NOTHING;
	} else {
		select_sort(options, &model);
		status = show(options, process, &model);
	}
	model_free(&model);
	return status;
}

static int run_on_process(struct options *options)
{
	struct process process;
	int status = attach_choose(&options->choice, &process);

	if (status >= 0)
		return status;
	if (options->view == VIEW_TOP)
		status = view_top(options, &process);
	else if (options->view == VIEW_RECORD)
		status = view_record(options, &process);
	else
		status = show_once(options, &process);
	attach_close(&process);
	return status;
}

static int run(struct options *options)
{
	switch (options->view) {
	case VIEW_PROCESSES:
		return attach_list(&options->choice);
	case VIEW_PLOT:
		return view_plot(options);
	case VIEW_DIFF:
		return view_diff(options);
	default:
		return run_on_process(options);
	}
}

int main(int argc, char **argv)
{
	struct options options;
	int status = args_parse(&options, argc, argv);

	if (status < 0)
		status = run(&options);
	if (options.pattern)
		regfree(&options.regex);
	if (fflush(stdout) != 0 || ferror(stdout)) {
		fail("the output could not be written");
		return EXIT_NOTHING;
	}
	return status;
}
