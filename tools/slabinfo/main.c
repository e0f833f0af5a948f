/* SPDX-License-Identifier: MIT */
/*
 * slabinfo: look at the slab caches of a process, after the kernel's tool of the
 * same name. A run reads its options, chooses a process or a core file, gets
 * its statistics and shows them in one view.
 */
#include "options.h"
#include "select.h"
#include "types.h"
#include "views.h"

#include <slab/slab.h>

/* Whether the process is only read. Any request says so, and says it once, where one
 * for each cache would say it for each. */
static bool is_only_read(struct process *process)
{
	if (process->way == WAY_SOCKET)
		return false;
	json_object_put(attach_query(process, "set", NULL));
	return true;
}

static int act(const struct options *options, struct process *process, const struct model *model)
{
	if (view_rules(options->view)->with & ACTS && is_only_read(process))
		return EXIT_USAGE;
	switch (options->view) {
	case VIEW_SHRINK:
		return action_shrink(process, model);
	case VIEW_VALIDATE:
		return process->way == WAY_SOCKET ? action_validate(process, model)
						  : action_verify(options, process, model);
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
	case VIEW_DEFAULT:
	case VIEW_TABLE:
		view_table(options, model);
		if (!options->pattern && !options->activity) {
			view_memory(options, model);
			view_resident(options, process, model);
		}
		break;
	case VIEW_TOTALS:
		view_totals(options, model);
		break;
	case VIEW_EXTENDED_TOTALS:
		view_extended_totals(options, model);
		break;
	case VIEW_NUMA:
		view_numa(options, model);
		break;
	case VIEW_REPORT:
		return view_reports(options, process, model);
	case VIEW_WASTE:
		return view_waste(options, process, model);
	case VIEW_OPENMETRICS:
		view_openmetrics(process, model);
		break;
	default:
		return act(options, process, model);
	}
	return EXIT_DONE;
}

/* Views in which -N is not a number of caches. */
static bool counts_itself(enum view view)
{
	return view == VIEW_TOTALS || view == VIEW_EXTENDED_TOTALS || view == VIEW_TRACKING ||
	       view == VIEW_SINCE_MARK || view == VIEW_WASTE;
}

static bool has_call_sites(enum view view)
{
	return view == VIEW_TRACKING || view == VIEW_SINCE_MARK || view == VIEW_WASTE;
}

static int show_selected(const struct options *options, struct process *process,
			 struct model *model)
{
	select_shown(options, model);
	select_sort(options, model);
	if (!counts_itself(options->view))
		select_first(options, model);
	if (!options->json || has_call_sites(options->view))
		return show(options, process, model);
	view_json(options, model);
	return EXIT_DONE;
}

/* A pattern that means one cache asks for all about it, unless what is asked for
 * only the table has. */
static void settle_view(struct options *options, const struct model *model)
{
	if (options->view == VIEW_DEFAULT && options->pattern && model->count == 1 &&
	    !options->activity && !options->empty)
		options->view = VIEW_REPORT;
}

/* Debug flags that were meant for -d, and would switch it off for all that have them in their
 * names. */
static bool are_stray_debug_flags(const struct options *options, const struct model *model)
{
	char hint[HINT_TEXT];

	if (options->view != VIEW_DEBUG || !options->pattern ||
	    !*args_hint(options, options->pattern, hint) ||
	    select_has(model->document, options->pattern))
		return false;
	fail("no cache is called \"%s\"%s", options->pattern, hint);
	return true;
}

static int show_once(struct options *options, struct process *process)
{
	struct model model;
	int status;

	if (!select_take(options, process, &model))
		return EXIT_USAGE;
	if (are_stray_debug_flags(options, &model)) {
		status = EXIT_USAGE;
	} else if (options->pattern && model.count == 0) {
		status = select_fail(options, process);
	} else {
		settle_view(options, &model);
		status = show_selected(options, process, &model);
	}
	model_free(&model);
	return status;
}

static int run_on_process(struct options *options)
{
	struct process process;
	int status;

	options->choice.acts = view_rules(options->view)->with & ACTS;
	status = attach_choose(&options->choice, &process);
	if (status >= 0)
		return status;
	if (!types_begin(options->types))
		status = EXIT_USAGE;
	else if (options->view == VIEW_TOP)
		status = view_top(options, &process);
	else if (options->view == VIEW_RECORD)
		status = view_record(options, &process);
	else if (options->view == VIEW_PROFILE)
		status = action_profile(options, &process);
	else if (options->view == VIEW_PEAK)
		status = view_peak(options, &process);
	else if (options->view == VIEW_LIFETIMES)
		status = view_lifetimes(options, &process);
	else if (options->view == VIEW_PPROF)
		status = view_pprof(options, &process);
	else if (options->view == VIEW_FIND_LEAKS)
		status = view_find_leaks(options, &process);
	else if (options->view == VIEW_FLAME)
		status = view_flame(options, &process);
	else
		status = show_once(options, &process);
	attach_close(&process);
	types_end();
	return status;
}

static int run(struct options *options)
{
	switch (options->view) {
	case VIEW_PROCESSES:
		return options->json ? view_processes_json(&options->choice)
				     : attach_list(&options->choice);
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
