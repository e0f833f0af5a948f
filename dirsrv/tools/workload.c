/* SPDX-License-Identifier: MIT */
/* From the calls of a trace to the uses of its pblocks (workload.h). */
#include "study.h"
#include "fail.h"

#include <stdlib.h>

/* Make room for one more element. */
static bool make_room(void **array, size_t count, size_t *room, size_t size)
{
	size_t more = *room ? *room * 2 : 8;
	void *larger;

	if (count < *room)
		return true;
	larger = realloc(*array, more * size);
	if (!larger)
		return false;
	*array = larger;
	*room = more;
	return true;
}

static struct use *use_of(struct life *life, const struct parameter *parameter)
{
	for (size_t i = 0; i < life->count; i++) {
		if (life->uses[i].parameter == parameter)
			return &life->uses[i];
	}
	if (!make_room((void **)&life->uses, life->count, &life->room, sizeof(*life->uses)))
		return NULL;
	life->uses[life->count] = (struct use){.parameter = parameter};
	return &life->uses[life->count++];
}

static bool count_access(struct life *life, const struct call *call, uint64_t weight)
{
	struct use *use = use_of(life, call->parameter);

	if (!use)
		return false;
	use->gets += call->verb == VERB_GET ? weight : 0;
	use->sets += call->verb == VERB_SET ? weight : 0;
	return true;
}

static bool finish(struct workload *workload, struct life *life, uint64_t weight)
{
	if (!make_room((void **)&workload->lives, workload->count, &workload->room,
		       sizeof(*workload->lives)))
		return false;
	life->pblocks = weight;
	workload->pblocks += weight;
	for (size_t i = 0; i < life->count; i++) {
		workload->gets += life->uses[i].gets;
		workload->sets += life->uses[i].sets;
	}
	workload->lives[workload->count++] = *life;
	*life = (struct life){0};
	return true;
}

static bool add_lives(struct workload *workload, const struct trace *trace, struct life *alive)
{
	bool done = true;

	for (size_t i = 0; done && i < trace->count; i++) {
		const struct call *call = &trace->calls[i];
		struct life *life = &alive[call->pblock];

		if (call->verb == VERB_GET || call->verb == VERB_SET)
			done = count_access(life, call, trace->weight);
		else if (call->verb == VERB_INIT || call->verb == VERB_DESTROY)
			done = finish(workload, life, trace->weight);
	}
	return done;
}

static bool add_trace(struct workload *workload, const struct trace *trace)
{
	struct life *alive = calloc(trace->pblocks, sizeof(*alive));
	bool done = alive && add_lives(workload, trace, alive);

	if (!done)
		fail("%s: no memory for its pblocks", trace->path);
	for (uint32_t i = 0; alive && i < trace->pblocks; i++)
		free(alive[i].uses);
	free(alive);
	return done;
}

bool workload_add(struct workload *workload, const char *path)
{
	struct trace trace;
	bool done = trace_read(&trace, path) && add_trace(workload, &trace);

	trace_free(&trace);
	return done;
}

void workload_free(struct workload *workload)
{
	for (size_t i = 0; i < workload->count; i++)
		free(workload->lives[i].uses);
	free(workload->lives);
}
