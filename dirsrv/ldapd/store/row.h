/* SPDX-License-Identifier: MIT */
/*
 * An entry as the database has it: the id of its parent, its DN as text and in normal form, its
 * attributes with their values. Numbers are in the byte order of the machine, as LMDB's own.
 */
#ifndef LDAPD_STORE_ROW_H
#define LDAPD_STORE_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <slab/dirsrv/entry.h>

#include "base/memory.h"

/* The parent of the naming context. */
#define ROW_ROOT UINT64_C(0)

/* What a row has; bytes point into it. */
struct row {
	uint64_t parent;
	struct dirsrv_bytes dn;
	struct dirsrv_bytes normal; /* of dn_normalize() */
	struct dirsrv_bytes attributes;
	size_t pairs; /* the number of values */
};

/* Types and values that grow, from slab_malloc(); all zero: none. */
struct pairs {
	struct dirsrv_pair *pair;
	size_t count;
	size_t capacity;
	bool failed;
};

/* row_read: take a row apart. False: the bytes are no row. */
bool row_read(struct dirsrv_bytes data, struct row *row);

/* row_pairs: append the values of a row, which point into it. False: the bytes are no row, or
 * (pairs->failed) there is no memory. */
bool row_pairs(const struct row *row, struct pairs *pairs);

/* row_write: append a row; row->attributes and row->pairs are not read. Pairs of the same type are
 * next to each other. */
void row_write(const struct row *row, const struct dirsrv_pair *pairs, size_t n,
	       struct buffer *out);

/* pairs_insert: put a pair at a position, and move the others. */
void pairs_insert(struct pairs *pairs, size_t at, struct dirsrv_bytes type,
		  struct dirsrv_bytes value);
void pairs_remove(struct pairs *pairs, size_t at, size_t n);
void pairs_free(struct pairs *pairs);

#endif /* LDAPD_STORE_ROW_H */
