/* SPDX-License-Identifier: MIT */
/* Stacks in answers, and the answer to "profile" (docs/schema). */
#include <inttypes.h>
#include <slab/debug.h>
#include <stdio.h>

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
	struct profile seen;
};

/* The samples in use at the last peak. A site that has not changed since has not kept them. */
static uint64_t inuse_at_peak(const struct profile_site *site, uint32_t peaks)
{
	if (site->kept >> 32 >= peaks)
		return (uint32_t)site->kept;
	return site->allocated > site->freed ? site->allocated - site->freed : 0;
}

/* Without the zeros behind the longest one. */
static void put_lifetimes(struct slab_json *json, const struct profile_site *site)
{
	unsigned count = PROFILE_LIFETIMES;

	while (count && !site->lifetime[count - 1])
		count--;
	slab_json_open(json, "lifetimes", '[');
	for (unsigned i = 0; i < count; i++)
		slab_json_number(json, NULL, site->lifetime[i]);
	slab_json_close(json, ']');
}

/* As a cache of the type is called that has no name in the process. */
static void put_type(struct slab_json *json, uint64_t token)
{
	char name[sizeof("token-0123456789ABCDEF")];

	if (!token)
		return;
	snprintf(name, sizeof(name), "token-%016" PRIX64, token);
	slab_json_string(json, "type", name);
}

static void put_site(const struct profile_site *site, void *arg)
{
	const struct site_list *list = arg;
	const void *frame[SLAB_STACK_MAX];
	unsigned frames = inspect_stack(list->in, site->stack, frame);

	slab_json_open(list->json, NULL, '{');
	slab_json_number(list->json, "size", site->size);
	put_type(list->json, site->token);
	slab_json_number(list->json, "period", site->period);
	slab_json_number(list->json, "allocated", site->allocated);
	slab_json_number(list->json, "freed", site->freed);
	slab_json_number(list->json, "at_peak", inuse_at_peak(site, list->seen.peaks));
	slab_json_number(list->json, "here", site->here);
	put_lifetimes(list->json, site);
	inspect_put_stack(list->json, frame, frames);
	slab_json_close(list->json, '}');
}

int inspect_put_profile(struct inspection *in, const char *rest, struct slab_json *json)
{
	struct site_list list = {.in = in, .json = json};
	int error;

	(void)rest;
	control_begin(json, true);
	slab_json_open(json, "sites", '[');
	error = inspect_profile(in, &list.seen, put_site, &list);
	slab_json_close(json, ']');
	slab_json_number(json, "period", list.seen.period);
	slab_json_number(json, "missed", list.seen.missed);
	slab_json_number(json, "peak", list.seen.peak_ms);
	slab_json_number(json, "now", in->reader->now_ms);
	slab_json_bool(json, "was_on", list.seen.sites);
	control_end(json);
	return error;
}
