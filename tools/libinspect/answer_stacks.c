/* SPDX-License-Identifier: MIT */
/* Stacks in answers, and the answer to "profile" (docs/answers.md). */
#include <slab/debug.h>

#include "process.h"
#include "report/profile.h"
#include "answer.h"
#include "control/reply.h"

void inspect_put_stack(struct slab_json *json, const void *const *frame, unsigned frames)
{
	slab_json_open(json, "stack", '[');
	for (unsigned i = 0; i < frames; i++) {
		slab_json_open(json, NULL, '{');
		slab_json_number(json, "address", (uintptr_t)frame[i]);
		slab_json_close(json, '}');
	}
	slab_json_close(json, ']');
}

struct site_list {
	struct inspection *in;
	struct slab_json *json;
};

static void put_site(const struct profile_site *site, void *arg)
{
	const struct site_list *list = arg;
	const void *frame[SLAB_STACK_MAX];
	unsigned frames = inspect_stack(list->in, site->stack, frame);

	slab_json_open(list->json, NULL, '{');
	slab_json_number(list->json, "size", site->size);
	slab_json_number(list->json, "period", site->period);
	slab_json_number(list->json, "allocated", site->allocated);
	slab_json_number(list->json, "freed", site->freed);
	inspect_put_stack(list->json, frame, frames);
	slab_json_close(list->json, '}');
}

int inspect_put_profile(struct inspection *in, const char *rest, struct slab_json *json)
{
	struct site_list list = {in, json};
	struct inspect_profile seen = {.period = 0};
	int error;

	(void)rest;
	control_begin(json, true);
	slab_json_open(json, "sites", '[');
	error = inspect_profile(in, &seen, put_site, &list);
	slab_json_close(json, ']');
	slab_json_number(json, "period", seen.period);
	slab_json_number(json, "missed", seen.missed);
	slab_json_bool(json, "was_on", seen.was_on);
	control_end(json);
	return error;
}
