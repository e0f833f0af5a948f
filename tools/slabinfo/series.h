/* SPDX-License-Identifier: MIT */
/* The lines of a plot, made from samples. */
#pragma once

#include "recording.h"

enum quantity {
	QUANTITY_OBJECTS,
	QUANTITY_BYTES,
	QUANTITY_WASTE, /* bytes of slabs that hold no object */
	QUANTITIES
};

/* One cache, or all others; a value for each sample, NAN if it did not exist then. */
struct series {
	const char *name; /* NULL: all others */
	double *values[QUANTITIES];
};

struct series_list {
	struct series *series;
	size_t count;
	size_t others; /* number of caches in the line "others" */
};

/* series_make: lines for the `most` caches with the highest peaks of bytes, and one for the
 * others; largest first. False after an error message by fail(); the caller frees the list
 * in any case. */
bool series_make(struct series_list *list, const struct samples *samples, size_t most);
void series_free(struct series_list *list);

/* series_gap: is there a gap before this sample? It is the first one, of another process, or
 * long after the previous one. */
bool series_gap(const struct samples *samples, size_t i);
