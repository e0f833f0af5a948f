/* SPDX-License-Identifier: MIT */
/*
 * The timed rounds of a replay. All arguments are prepared before, so a round is only a loop over
 * calls. The exception are strings that a pblock takes over: each set allocates one.
 */
#include "fail.h"
#include "replay.h"

#include <slab/dirsrv/pblock.h>
#include <slab/malloc.h>
#include <stdlib.h>
#include <time.h>

/* The variable that sets read their values from: it has room for every type. */
static struct slapi_pblock_address variable;
static char string[] = "string";

static double now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static void set(Slapi_PBlock *pblock, const struct parameter *parameter)
{
	void *value = &variable;

	if (parameter->kind == KIND_OWNED || parameter->kind == KIND_OWNED_COPY)
		value = slab_ch_strdup(string);
	else if (parameter->kind == KIND_TEXT || parameter->kind == KIND_TEXT_COPY)
		value = string;
	slapi_pblock_set(pblock, (int)parameter->number, value);
}

static void get(Slapi_PBlock *pblock, const struct parameter *parameter)
{
	struct slapi_pblock_address value = {{0}};

	slapi_pblock_get(pblock, (int)parameter->number, &value);
	if (parameter->kind == KIND_OWNED_COPY || parameter->kind == KIND_TEXT_COPY)
		slab_mfree((void *)(uintptr_t)value.words[0]);
}

static void replay(const struct trace *trace, Slapi_PBlock **pblocks)
{
	for (size_t i = 0; i < trace->count; i++) {
		const struct call *call = &trace->calls[i];
		Slapi_PBlock **pblock = &pblocks[call->pblock];

		switch (call->verb) {
		case VERB_NEW:
			*pblock = slapi_pblock_new();
			break;
		case VERB_INIT:
			slapi_pblock_init(*pblock);
			break;
		case VERB_SET:
			set(*pblock, call->parameter);
			break;
		case VERB_GET:
			get(*pblock, call->parameter);
			break;
		case VERB_CLONE:
			pblocks[call->clone] = slapi_pblock_clone(*pblock);
			break;
		default:
			slapi_pblock_destroy(*pblock);
		}
	}
}

double replay_measure(const struct trace *trace, uint64_t rounds)
{
	Slapi_PBlock **pblocks = calloc(trace->pblocks + 1, sizeof(Slapi_PBlock *));
	double start, end;

	if (!pblocks) {
		fail("%s: no memory for its pblocks", trace->path);
		return -1;
	}
	/* A value that is never a default, since setting a default may store nothing. */
	for (size_t i = 0; i < sizeof(variable.words) / sizeof(variable.words[0]); i++)
		variable.words[i] = UINT64_C(0x0101010101010101);
	start = now_ns();
	for (uint64_t i = 0; i < rounds; i++)
		replay(trace, pblocks);
	end = now_ns();
	free(pblocks);
	return (end - start) / (double)rounds;
}
