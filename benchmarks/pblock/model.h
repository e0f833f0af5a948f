/* SPDX-License-Identifier: MIT */
/*
 * The contestants: pblocks with the same functions. "v1" is the flat one of
 * dirsrv/pblock/v1.c under other names, "split389" a model of how 389 Directory Server
 * split its own; "v3" is libslab_dirsrv.
 *
 * All three find a parameter by a table. 389 Directory Server did so by a switch with a
 * case for each until 2025, with the flat pblock and with the split one: "v1-switch" and
 * "split389-switch" have the memory of the others, and access as it was.
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
	bool has_strings; /* which it owns, copies and frees */
	unsigned (*pieces)(Slapi_PBlock *pb, struct piece *pieces); /* how many there are */
};

extern const struct contestant contestant_v1, contestant_split389, contestant_v3;
extern const struct contestant contestant_v1_switch, contestant_split389_switch;

#endif /* PBLOCK_MODEL_H */
