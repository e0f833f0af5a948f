/* SPDX-License-Identifier: MIT */
/* Reading a profile that libslab_dirsrv wrote (dirsrv/docs/schema/pblock.schema.json). */
#ifndef PBLOCK_WORKLOAD_H
#define PBLOCK_WORKLOAD_H

#include "parameters.h"

#include <stdbool.h>

struct use {
	uint32_t number;
	uint64_t gets, sets;
};

/* Pblocks in which the same parameters were read and set. */
struct kind_of_life {
	uint64_t pblocks;
	bool whole; /* their beginning was recorded */
	struct use *uses;
	size_t count;
};

struct workload {
	const char *path;
	uint64_t pblocks, gets, sets;
	uint64_t earlier, dropped;
	struct kind_of_life *kinds;
	size_t count;
};

/* workload_read: false after an error message by fail(). The caller calls workload_free() in both
 * cases. */
bool workload_read(struct workload *workload, const char *path);
void workload_free(struct workload *workload);

#endif /* PBLOCK_WORKLOAD_H */
