/* SPDX-License-Identifier: MIT */
/* The report as JSON: dirsrv/docs/schema/pblock.schema.json describes it. */
#include "fail.h"
#include "layouts.h"
#include "report.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>

#define VERSION 1

static void add_count(struct json_object *to, const char *name, uint64_t count)
{
	json_object_object_add(to, name, json_object_new_int64((int64_t)count));
}

/* Add a number with this many decimal places. */
static void add_number(struct json_object *to, const char *name, int digits, double number)
{
	char text[32];

	snprintf(text, sizeof(text), "%.*f", digits, number);
	json_object_object_add(to, name, json_object_new_double_s(strtod(text, NULL), text));
}

static struct json_object *bytes_of(const struct study *study, const struct workload *workload)
{
	struct json_object *bytes = json_object_new_object();

	for (enum layout layout = 0; layout < LAYOUTS; layout++)
		add_number(bytes, layout_name(layout), 1, workload_bytes(study, workload, layout));
	return bytes;
}

static struct json_object *list_workloads(const struct study *study)
{
	struct json_object *list = json_object_new_array();

	for (size_t w = 0; w < study->workload_count; w++) {
		const struct workload *workload = &study->workloads[w];
		struct json_object *one = json_object_new_object();

		json_object_object_add(one, "name", json_object_new_string(workload->name));
		add_count(one, "pblocks", workload->pblocks);
		add_count(one, "gets", workload->gets);
		add_count(one, "sets", workload->sets);
		add_count(one, "earlier", workload->earlier);
		add_count(one, "dropped", workload->dropped);
		json_object_object_add(one, "bytes_per_pblock", bytes_of(study, workload));
		json_object_array_add(list, one);
	}
	return list;
}

/* The numbers of pblocks that touch this subject and each subject, in the order of the list. */
static struct json_object *co_use(const struct study *study, size_t subject)
{
	struct json_object *row = json_object_new_array();

	for (size_t i = 0; i < study->count; i++) {
		uint64_t both = study->both[subject * study->count + study->order[i]];

		json_object_array_add(row, json_object_new_int64((int64_t)both));
	}
	return row;
}

static struct json_object *list_parameters(const struct study *study)
{
	struct json_object *list = json_object_new_array();

	for (size_t i = 0; i < study->count; i++) {
		const struct subject *subject = &study->subjects[study->order[i]];
		struct json_object *one = json_object_new_object();

		add_count(one, "parameter", subject->number);
		json_object_object_add(one, "name", json_object_new_string(subject_name(subject)));
		if (subject->parameter)
			json_object_object_add(
				one, "home",
				json_object_new_string(group_name(subject->parameter->group)));
		json_object_object_add(one, "clump",
				       json_object_new_string(study->clumps[subject->clump].name));
		add_count(one, "size", size_of_subject(subject));
		add_count(one, "gets", subject->gets);
		add_count(one, "sets", subject->sets);
		json_object_object_add(one, "pblocks", co_use(study, study->order[i]));
		json_object_array_add(list, one);
	}
	return list;
}

static struct json_object *list_clumps(const struct study *study)
{
	struct json_object *list = json_object_new_array();

	for (size_t c = 0; c < study->clump_count; c++) {
		const struct clump *clump = &study->clumps[c];
		struct json_object *one = json_object_new_object();

		json_object_object_add(one, "name", json_object_new_string(clump->name));
		add_count(one, "size", clump->size);
		json_object_object_add(one, "in_top", json_object_new_boolean(clump->in_top));
		add_count(one, "pblocks", clump->pblocks);
		add_number(one, "distance", 3, clump->distance);
		json_object_array_add(list, one);
	}
	return list;
}

int report_json(const struct study *study)
{
	struct json_object *document = json_object_new_object();
	const char *text;

	add_count(document, "pblock_report", VERSION);
	json_object_object_add(document, "method", json_object_new_string(METHOD));
	add_count(document, "top_size", study->top_size);
	json_object_object_add(document, "workloads", list_workloads(study));
	json_object_object_add(document, "clumps", list_clumps(study));
	json_object_object_add(document, "parameters", list_parameters(study));
	text = json_object_to_json_string_ext(document, JSON_C_TO_STRING_SPACED |
								JSON_C_TO_STRING_NOSLASHESCAPE);
	puts(text);
	json_object_put(document);
	return EXIT_DONE;
}
