/* SPDX-License-Identifier: MIT */
/*
 * What a server does with the pblock of an operation, apart from the operation itself:
 * accept it, call the plug-ins that are registered for each step, test candidates against
 * the filter, send. Which parameters are set and read, and how often, is what ns-slapd did
 * on average (dirsrv/tools/README.md), but for what is rare: 330 gets, 140 sets and 13
 * pblocks for an operation, of 402, 176 and 12.65 there.
 */
#pragma once

#include "memory.h"

#include <slab/dirsrv/entry.h>
#include <slab/dirsrv/operation.h>
#include <slab/dirsrv/pblock.h>

/*
 * What belongs to an operation. Most of it is in its pblock, under the names that 389
 * Directory Server has for it:
 *
 *	SLAPI_TARGET_SDN         struct dirsrv_dn: base of a search, entry of all others
 *	SLAPI_SEARCH_FILTER      struct filter
 *	SLAPI_SEARCH_STRFILTER   the same as text
 *	SLAPI_MODIFY_MODS        struct change
 *	SLAPI_ADD_ENTRY          struct dirsrv_entry, until the directory has it
 *	SLAPI_SEARCH_RESULT_SET  struct found: what a search sends
 *	SLAPI_NENTRIES, SLAPI_RESULT_CODE
 *
 * The listener allocates and frees all of these, but for what was found, which the worker
 * allocates.
 */

/* The kinds of operations and how many of 100 are of each kind. */
enum kind {
	KIND_SEARCH, /* equality on the naming attribute: 70 */
	KIND_BASE,   /* one entry by its DN: 10 */
	KIND_OR,     /* an OR of ten equalities: 5 */
	KIND_MODIFY, /* replace one attribute's values: 5 */
	KIND_ADD,    /* 5 */
	KIND_DELETE, /* 5 */
	KIND_COUNT
};

/* LDAP's result codes, as far as this directory has them. */
enum result_code {
	RESULT_SUCCESS = 0,
	RESULT_NO_SUCH_OBJECT = 32,
	RESULT_ALREADY_EXISTS = 68,
};

/* An equality on the naming attribute; more of them are an OR. */
struct filter {
	struct filter *next;
	size_t length;
	char name[];
};

/* The new value of an entry's note. */
struct change {
	size_t length;
	char note[];
};

/* A copy of an entry that a search found. */
struct found {
	struct found *next;
	struct dirsrv_entry *entry;
};

/* In the room of an operation. */
struct request {
	uint32_t kind;
	uint32_t slot; /* add and delete: which of the listener's entries */
	uint64_t id;
};

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
