/* SPDX-License-Identifier: MIT */
/* Stacks in answers, and the answer to "profile" (docs/control.md). */
#include <limits.h>
#include <slab/debug.h>

#include "inspect/process.h"
#include "report/profile.h"
#include "stats/answer.h"
#include "stats/reply.h"

static void put_frame(struct slab_json *json, const struct inspection *in, const void *frame)
{
	char path[PATH_MAX];
	uint64_t offset;

	slab_json_open(json, NULL, '{');
	slab_json_number(json, "address", (uintptr_t)frame);
	if (in->locate && in->locate(frame, path, sizeof(path), &offset)) {
		slab_json_string(json, "file", path);
		slab_json_number(json, "offset", offset);
	}
	slab_json_close(json, '}');
}

void inspect_put_stack(struct slab_json *json, const struct inspection *in,
		       const void *const *frame, unsigned frames)
{
	slab_json_open(json, "stack", '[');
	for (unsigned i = 0; i < frames; i++)
		put_frame(json, in, frame[i]);
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
	inspect_put_stack(list->json, list->in, frame, frames);
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
