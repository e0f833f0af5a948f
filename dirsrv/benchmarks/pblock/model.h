/* SPDX-License-Identifier: MIT */
/*
 * The contestants: pblocks with the same functions. "v1" is the flat pblock of
 * dirsrv/pblock/v1.c under other names, "split389" a model of 389 Directory Server's split
 * pblock, and "v3" that of libslab_dirsrv.
 *
 * These three find a parameter by a table. Until 2025, 389 Directory Server used a switch with
 * a case for each parameter, for the flat and for the split pblock: "v1-switch" and
 * "split389-switch" have the same memory layouts and that access.
 */
#ifndef PBLOCK_MODEL_H
#define PBLOCK_MODEL_H

#include <stdbool.h>
#include <stddef.h>

#include <slab/dirsrv/pblock.h>

/* Memory that belongs to one pblock. */
struct piece {
	const void *at;
	size_t size;
};
#define MAX_PIECES 16

struct contestant {
	const char *name;
	Slapi_PBlock *(*new)(void);
	void (*destroy)(Slapi_PBlock *pb);
	int (*get)(Slapi_PBlock *pb, int parameter, void *value);
	int (*set)(Slapi_PBlock *pb, int parameter, void *value);
	bool has_strings; /* the pblock owns, copies and frees strings */
	unsigned (*pieces)(Slapi_PBlock *pb, struct piece *pieces); /* returns their number */
};

extern const struct contestant contestant_v1, contestant_split389, contestant_v3;
extern const struct contestant contestant_v1_switch, contestant_split389_switch;

#endif /* PBLOCK_MODEL_H */
