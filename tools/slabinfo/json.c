/* SPDX-License-Identifier: MIT */
/* --json: the process's own answer, indented; only the caches that were asked for. */
#include "views.h"

#include <stdio.h>

void view_json(const struct options *options, const struct model *model)
{
	struct json_object *caches = json_object_new_array();

	for (size_t i = 0; i < model->count; i++)
		json_object_array_add(caches, json_object_get(model->caches[i].json));
	if (options->pattern)
		json_object_object_add(model->document, "caches", caches);
	else
		json_object_put(caches);
	puts(json_object_to_json_string_ext(model->document, JSON_STYLE));
}
