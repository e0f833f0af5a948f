/* SPDX-License-Identifier: MIT */
/*
 * Search filters (RFC 4511, 4.5.1.7): a tree of nodes, evaluated on an entry with the three
 * values of X.511: true, false, undefined.
 *
 * The decoder of requests makes the nodes and sets their members. The bytes of types and
 * values belong to the request, which lives as long as the tree. Then filter_prepare() looks
 * up the types in the schema and normalizes the asserted values once for all entries.
 *
 * Nodes come from the slab caches ldapd.filter and ldapd.filter_part; normalized values from
 * slab_malloc(). All functions are MT-safe for different trees; threads may evaluate one
 * prepared tree together.
 */
#pragma once

#include "posix.h"

#include <slab/dirsrv/entry.h>

enum filter_kind {
	FILTER_AND,
	FILTER_OR,
	FILTER_NOT,
	FILTER_EQUAL, /* or approximate */
	FILTER_SUBSTRINGS,
	FILTER_GREATER, /* >= */
	FILTER_LESS, /* <= */
	FILTER_PRESENT,
	FILTER_UNDEFINED /* extensible: no matching rule exists; what the client must not ask */
};

enum filter_result { FILTER_FALSE, FILTER_TRUE, FILTER_RESULT_UNDEFINED };

struct schema_type;

/* A substring between the initial and the final one. */
struct filter_part {
	struct filter_part *next;
	struct dirsrv_bytes value;
	struct dirsrv_bytes normal; /* set by filter_prepare() */
};

struct filter {
	enum filter_kind kind;
	struct filter *next; /* the next child of the same parent */
	struct filter *children; /* FILTER_AND and FILTER_OR: any number; FILTER_NOT: one */

	struct dirsrv_bytes type;
	struct dirsrv_bytes value; /* FILTER_SUBSTRINGS: the initial one, length 0: none */
	struct filter_part *any;
	struct dirsrv_bytes final; /* length 0: none */

	/* Set by filter_prepare(). */
	bool prepared;
	bool unknown; /* a class or type that is not in the schema: undefined, not false */
	bool invalid; /* a value that the type's syntax does not allow */
	struct dirsrv_bytes base; /* the canonical name of the type */
	const struct schema_type *schema; /* NULL: not in the schema */
	struct dirsrv_bytes normal; /* the normalized value, or initial */
	struct dirsrv_bytes normal_final;
};

/* The deepest tree that filter_prepare() accepts. */
#define FILTER_DEPTH_MAX 64

/* filter_start: create the two slab caches. Returns 0, or -errno. filter_stop: destroy them;
 * returns 0, or -EBUSY: nodes are still allocated. Not MT-safe. backend_open() and backend_close()
 * call them. */
int filter_start(void);
int filter_stop(void);

/* filter_new, filter_part_new: a node whose other members are zero; NULL: no memory. */
struct filter *filter_new(enum filter_kind kind);
struct filter_part *filter_part_new(void);

/* filter_free: free a node with its children, parts and what filter_prepare() allocated, and
 * the nodes behind it in `next`. NULL is allowed. */
void filter_free(struct filter *filter);

/*
 * filter_prepare: get a tree ready for filter_matches(). A second call does nothing.
 *
 * Returns 0, or -ENOMEM; or -E2BIG: the tree is deeper than FILTER_DEPTH_MAX.
 */
int filter_prepare(struct filter *filter);

/*
 * filter_matches: evaluate a prepared tree on an entry that the caller may read.
 *
 * Undefined are: types that neither the schema nor the entry has; values that the syntax does not
 * allow; ordering or substrings for types without such a matching rule; lack of memory.
 */
enum filter_result filter_matches(const struct filter *filter, const struct dirsrv_entry *entry);
