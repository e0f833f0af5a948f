/* SPDX-License-Identifier: MIT */
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
#ifndef DIRECTORY_REQUEST_H
#define DIRECTORY_REQUEST_H

#include <slab/dirsrv/entry.h>

#include <stdint.h>

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

#endif /* DIRECTORY_REQUEST_H */
