/* SPDX-License-Identifier: MIT */
/* The table of 389-ds's types: which function allocates which. */
#ifndef PRELOAD_TYPES_H
#define PRELOAD_TYPES_H

#include <stdbool.h>
#include <stddef.h>

struct type {
	const char *function; /* "charray_*": all whose names begin so */
	const char *name;
	size_t size;    /* the type that has this size; 0: the function allocates one type */
	bool has_sizes; /* the type has no fixed size: a cache for each class of sizes */
};

extern const struct type types[]; /* the last one has no function */

#endif /* PRELOAD_TYPES_H */
