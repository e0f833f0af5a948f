/* SPDX-License-Identifier: MIT */
/* The pblocks of traces: which parameters each read and set, from its beginning to its end. */
#ifndef PBLOCK_WORKLOAD_H
#define PBLOCK_WORKLOAD_H

#include "trace.h"

struct use {
	const struct parameter *parameter;
	uint64_t gets, sets;
};

/* A pblock that ended; a trace of weight N has N of them. */
struct life {
	uint64_t pblocks;
	struct use *uses;
	size_t count, room;
};

struct workload {
	uint64_t pblocks, gets, sets;
	struct life *lives;
	size_t count, room;
};

/* workload_add: add the pblocks of a trace. false after an error message by fail(). The caller
 * calls workload_free() in both cases. */
bool workload_add(struct workload *workload, const char *path);
void workload_free(struct workload *workload);

#endif /* PBLOCK_WORKLOAD_H */
