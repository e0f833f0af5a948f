/* SPDX-License-Identifier: MIT */
/*
 * --json: the process's own answer, indented, with the caches that were requested, in
 * the order that was requested. What other views print is all in there; what -T and
 * -X add up themselves becomes members of their own.
 */
#include "memory.h"
#include "openmetrics.h"
#include "select.h"
#include "views.h"

static void print(struct json_object *document)
{
	puts(json_object_to_json_string_ext(document, JSON_STYLE));
}

static void add_caches(struct model *model)
{
	struct json_object *caches = json_object_new_array();

	for (size_t i = 0; i < model->count; i++)
		json_object_array_add(caches, json_object_get(model->caches[i].json));
	json_object_object_add(model->document, "caches", caches);
}

/* The names of the first caches in an order. */
static struct json_object *first_names(const struct options *options, enum order order,
				       struct model *model)
{
	struct json_object *names = json_object_new_array();
	struct options shown = *options;
	struct model first;

	shown.order = order;
	if (!shown.lines)
		shown.lines = 1;
	select_sort(&shown, model);
	first = *model;
	select_first(&shown, &first);
	for (size_t i = 0; i < first.count; i++)
		json_object_array_add(names, json_object_new_string(first.caches[i].name));
	return names;
}

void view_json(const struct options *options, struct model *model)
{
	struct json_object *document = model->document;

	add_caches(model);
	if (options->view == VIEW_TOTALS || options->view == VIEW_EXTENDED_TOTALS)
		json_object_object_add(document, "totals", totals_json(model));
	if (options->view == VIEW_EXTENDED_TOTALS) {
		json_object_object_add(document, "by_size",
				       first_names(options, ORDER_SIZE, model));
		json_object_object_add(document, "by_loss",
				       first_names(options, ORDER_LOSS, model));
		json_object_object_add(document, "by_partial",
				       first_names(options, ORDER_PARTIAL, model));
	}
	print(document);
}

static const char *way_name(enum way way)
{
	return way == WAY_SOCKET ? "socket" : way == WAY_MEMORY ? "memory" : "core";
}

static struct json_object *copies_json(pid_t pid)
{
	struct json_object *list = json_object_new_array();
	struct memory *memory = memory_look(pid);

	for (unsigned number = 1; memory && number <= memory_copies(memory); number++)
		json_object_array_add(list,
				      json_object_new_string(memory_copy_path(memory, number)));
	memory_close(memory);
	return list;
}

static void print_processes(const struct process_list *list)
{
	struct json_object *document = json_object_new_object();
	struct json_object *processes = json_object_new_array();

	for (size_t i = 0; i < list->count; i++) {
		const struct process *process = &list->processes[i];
		struct json_object *object = json_object_new_object();

		json_object_object_add(object, "pid", json_object_new_int(process->pid));
		model_add_text(object, "command", process->command);
		model_add_text(object, "way", way_name(process->way));
		model_add_text(object, "path", process->path);
		json_object_object_add(object, "copies", copies_json(process->pid));
		json_object_array_add(processes, object);
	}
	json_object_object_add(document, "processes", processes);
	print(document);
	json_object_put(document);
}

int view_processes_json(const struct choice *choice)
{
	struct choice all = *choice;
	struct process_list list;
	int status = EXIT_DONE;

	all.memory = true; /* those without a socket, too, as attach_list() */
	attach_find(&list, &all);
	if (list.count > 0)
		print_processes(&list);
	else
		status = attach_list(choice); /* which says why */
	attach_free(&list);
	return status;
}

/* --openmetrics: the caches that were requested, each by its name. */
void view_openmetrics(const struct process *process, const struct model *model)
{
	struct metrics metrics;

	if (!metrics_take(&metrics, process, model, 0))
		return;
	openmetrics_write(stdout, EXPOSITION_OPENMETRICS, &metrics, 1);
	openmetrics_end(stdout, EXPOSITION_OPENMETRICS);
	metrics_free(&metrics);
}
