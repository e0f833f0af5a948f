/* SPDX-License-Identifier: MIT */
/*
 * The memory of a trace's pblocks. The program replays one pblock after the other and weighs
 * each before it ends, since the model has one operation at a time. So pblocks that overlap
 * in the trace do not overlap here. The traces have no clones and no reused pblocks.
 */
#include <stdio.h>
#include <string.h>

#include <slab/malloc.h>

#include "life.h"
#include "trace.h"

static struct slapi_pblock_address variable;
static char text[] = "text";

static bool is_copy(enum kind kind)
{
	return kind == KIND_OWNED_COPY || kind == KIND_TEXT_COPY;
}

static void set(const struct contestant *contestant, Slapi_PBlock *pb,
		const struct parameter *parameter)
{
	void *value = &variable;

	if (parameter->kind == KIND_OWNED || parameter->kind == KIND_OWNED_COPY)
		value = contestant->has_strings ? slab_ch_strdup(text) : text;
	else if (parameter->kind == KIND_TEXT || parameter->kind == KIND_TEXT_COPY)
		value = text;
	contestant->set(pb, (int)parameter->number, value);
}

static void get(const struct contestant *contestant, Slapi_PBlock *pb,
		const struct parameter *parameter)
{
	struct slapi_pblock_address value = {{0}};

	contestant->get(pb, (int)parameter->number, &value);
	if (contestant->has_strings && is_copy(parameter->kind))
		slab_mfree((void *)(uintptr_t)value.words[0]);
}

static void weigh_one(const struct contestant *contestant, const struct trace *trace, uint32_t name,
		      struct weight *weight)
{
	Slapi_PBlock *pb = contestant->new();

	for (size_t i = 0; i < trace->count; i++) {
		const struct call *call = &trace->calls[i];

		if (call->pblock == name && call->verb == VERB_SET)
			set(contestant, pb, call->parameter);
		else if (call->pblock == name && call->verb == VERB_GET)
			get(contestant, pb, call->parameter);
	}
	weigh(contestant, pb, weight);
	contestant->destroy(pb);
}

static bool is_plain(const struct trace *trace)
{
	if (!trace_count(trace, VERB_CLONE) && !trace_count(trace, VERB_INIT) &&
	    trace_count(trace, VERB_NEW) == trace->pblocks)
		return true;
	fprintf(stderr,
		"pblock_life: %s: only traces without init, clone and names used twice are weighed\n",
		trace->path);
	return false;
}

bool weigh_trace(const char *path, struct trace_result *result)
{
	struct trace trace;
	bool done;

	memset(&variable, 1, sizeof(variable));
	done = trace_read(&trace, path) && is_plain(&trace);
	if (done) {
		snprintf(result->workload, sizeof(result->workload), "%s", trace.workload);
		for (char *at = result->workload; (at = strpbrk(at, "\"\\"));)
			*at = '?'; /* so that JSON needs no escapes */
		result->pblocks = trace.pblocks;
	}
	for (unsigned number = 0; done && number < LAYOUTS; number++)
		for (uint32_t name = 0; name < trace.pblocks; name++)
			weigh_one(contestants[number], &trace, name, &result->weights[number]);
	trace_free(&trace);
	return done;
}
