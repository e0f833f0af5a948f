/* SPDX-License-Identifier: MIT */
/*
 * What a server does with the pblock of an operation, apart from the operation itself:
 * accept it, call the plug-ins that are registered for each step, test candidates against
 * the filter, send. Which parameters are set and read, and how often, is what ns-slapd did
 * on average (dirsrv/benchmarks/pblock), but for what is rare: 330 gets, 140 sets and 13
 * pblocks for an operation, of 402, 176 and 12.65 there.
 */
#ifndef DIRECTORY_SERVER_H
#define DIRECTORY_SERVER_H

#include "memory.h"
#include "request.h"

#include <slab/dirsrv/operation.h>
#include <slab/dirsrv/pblock.h>

/* What a thread did with pblocks. */
struct pblock_use {
	uint64_t pblocks; /* that ended */
	uint64_t bytes;   /* of them, with all their parts */
	uint64_t wrong;   /* reads that did not give what was set */
};

/* A parameter's value; without memory the program ends. */
void *pblock_pointer(Slapi_PBlock *pb, int parameter);
int pblock_number(Slapi_PBlock *pb, int parameter);
void pblock_set_pointer(Slapi_PBlock *pb, int parameter, const void *value);
void pblock_set_number(Slapi_PBlock *pb, int parameter, int value);

/* pblock_end: count and destroy a pblock. */
void pblock_end(struct pblock_use *use, Slapi_PBlock *pb);

/* server_accept: what is known of an operation when it was received. */
void server_accept(struct dirsrv_operation *operation, Slapi_PBlock *pb, const void *backend);

/*
 * The steps of an operation, in this order:
 *   server_begin      before the backend has it
 *   server_send       searches, for each entry found: the filter is tested, the entry sent
 *   server_update     changes: the entry as it was and as it will be
 *   server_end        the backend is done with it, and the result is sent
 */
void server_begin(struct pblock_use *use, Slapi_PBlock *pb, enum kind kind);
void server_send(struct pblock_use *use, Slapi_PBlock *pb, const struct dirsrv_entry *entry);
void server_update(struct pblock_use *use, Slapi_PBlock *pb, const struct dirsrv_entry *before,
		   const struct dirsrv_entry *after);
void server_end(struct pblock_use *use, Slapi_PBlock *pb, enum kind kind);

#endif /* DIRECTORY_SERVER_H */
