/* SPDX-License-Identifier: MIT */
/*
 * Traces: the calls that a program made with its pblocks, one per line. README.md has the format.
 * trace_read() accepts only traces that can be replayed any number of times: every pblock exists
 * when it is used, and is destroyed in the end.
 */
#ifndef PBLOCK_TRACE_H
#define PBLOCK_TRACE_H

#include "parameters.h"

#include <stdbool.h>

#define PBLOCKS_MAX 1000000

enum verb { VERB_NEW, VERB_INIT, VERB_SET, VERB_GET, VERB_CLONE, VERB_DESTROY, VERBS };

struct call {
	enum verb verb;
	uint32_t line;
	uint32_t pblock, clone;            /* numbers */
	const struct parameter *parameter; /* of sets and gets */
};

struct trace {
	const char *path;
	uint64_t weight; /* how often it happens, compared with other traces */
	struct call *calls;
	size_t count, room;
	size_t verbs[VERBS]; /* the number of calls of each verb */
	uint32_t *alive; /* the line in which each pblock began; 0: it does not exist now */
	uint32_t pblocks; /* the highest number, plus 1 */
};

/* trace_read: false after an error message by fail(), which begins with FILE:LINE. The caller calls
 * trace_free() in both cases. */
bool trace_read(struct trace *trace, const char *path);
void trace_free(struct trace *trace);

#endif /* PBLOCK_TRACE_H */
