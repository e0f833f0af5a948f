/* SPDX-License-Identifier: MIT */
/*
 * Names of caches: of a type, by the table of the functions that allocate it, or of the function
 * itself.
 */
#ifndef PRELOAD_NAMES_H
#define PRELOAD_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#define NAME_LENGTH 64u

/* The largest size that a cache serves. */
#define SIZE_LIMIT ((size_t)1024)

/* A cache that a call site should have. */
struct cache_name {
	char text[NAME_LENGTH];
	size_t size;  /* of its objects */
	bool is_type; /* from the table */
	bool has_sizes; /* one of several caches of the type */
};

/* What the code at `code` allocates with this size: the address is a return address, or the
 * function itself. */
void name_site(struct cache_name *name, const void *code, size_t size);

/* What slapi_ch_strdup() allocates. */
void name_string(struct cache_name *name, size_t size);

/* "value" becomes "value-32": the name belongs to a cache of another size. */
void name_append_size(struct cache_name *name);

#endif /* PRELOAD_NAMES_H */
