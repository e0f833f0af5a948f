/* SPDX-License-Identifier: MIT */
/*
 * Traces: what a program did with its pblocks, a call to a line. README.md has the
 * format. A trace that is read is one that can be replayed any number of times: every
 * pblock is there when it is used, and is destroyed in the end.
 */
#ifndef PBLOCK_TRACE_H
#define PBLOCK_TRACE_H

#include "parameters.h"

#include <stdbool.h>

enum verb { VERB_NEW, VERB_INIT, VERB_SET, VERB_GET, VERB_CLONE, VERB_DESTROY, VERBS };

struct call {
	enum verb verb;
	uint32_t line;
	uint32_t pblock, clone;            /* indexes of names */
	const struct parameter *parameter; /* of sets and gets */
};

struct trace {
	const char *path;
	char *workload; /* what it calls itself, or the file's name */
	uint64_t weight;
	struct call *calls;
	size_t count, room;
	char **names; /* of pblocks */
	uint32_t *alive; /* line in which each began, 0: it is not there */
	uint32_t pblocks, pblocks_room;
};

/* trace_read: false after reporting with fail(), FILE:LINE first. trace_free follows in
 * any case. */
bool trace_read(struct trace *trace, const char *path);
void trace_free(struct trace *trace);

/* trace_count: calls of one verb. */
size_t trace_count(const struct trace *trace, enum verb verb);

#endif /* PBLOCK_TRACE_H */
