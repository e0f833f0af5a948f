/* SPDX-License-Identifier: MIT */
/*
 * -s and -v: what the process has to do itself, one request for each cache. A
 * cache that was destroyed in the meantime is told and counts as not matched.
 */
#include "views.h"

#include <inttypes.h>
#include <stdio.h>

/* Asks for `action` on a cache; false when the process did not do it. */
static bool act(const struct process *process, const struct cache *cache, const char *action,
		const char *counted, uint64_t *count)
{
	struct json_object *answer = attach_ask(process, action, cache->name);

	if (!answer)
		return false;
	*count = model_number(answer, counted);
	json_object_put(answer);
	return true;
}

int action_shrink(const struct process *process, const struct model *model)
{
	int status = EXIT_DONE;

	for (size_t i = 0; i < model->count; i++) {
		const struct cache *cache = &model->caches[i];
		uint64_t slabs;

		if (act(process, cache, "shrink", "slabs", &slabs))
			printf("%-21s %8" PRIu64 " slab%s given back\n", cache->name, slabs,
			       slabs == 1 ? "" : "s");
		else
			status = EXIT_NOTHING;
	}
	return status;
}

int action_validate(const struct process *process, const struct model *model)
{
	int status = EXIT_DONE;

	for (size_t i = 0; i < model->count; i++) {
		const struct cache *cache = &model->caches[i];
		uint64_t problems = 0;

		if (!act(process, cache, "validate", "problems", &problems))
			status = EXIT_NOTHING;
		else if (problems == 0)
			printf("%-21s no problems found\n", cache->name);
		else
			printf("%-21s %8" PRIu64 " problem%s found; the process has reported %s\n",
			       cache->name, problems, problems == 1 ? "" : "s",
			       problems == 1 ? "it" : "them");
		if (problems)
			status = EXIT_NOTHING;
	}
	return status;
}
