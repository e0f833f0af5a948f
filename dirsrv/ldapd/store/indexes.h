/* SPDX-License-Identifier: MIT */
/* Which attribute types have indexes, and of which kinds. */
#ifndef LDAPD_STORE_INDEXES_H
#define LDAPD_STORE_INDEXES_H

/* Kinds of indexes, bits of backend_index.kinds. */
#define BACKEND_INDEX_PRESENCE 1u
#define BACKEND_INDEX_EQUALITY 2u
#define BACKEND_INDEX_SUBSTRING 4u

/* An attribute type with its indexes. */
struct backend_index {
	const char *type;
	unsigned kinds;
};

/* The most types with indexes. */
#define BACKEND_INDEXES_MAX 64

#endif /* LDAPD_STORE_INDEXES_H */
