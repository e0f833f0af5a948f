/* SPDX-License-Identifier: MIT */
/* The lines of a plot, made from samples. */
#ifndef SLABINFO_SERIES_H
#define SLABINFO_SERIES_H

#include "recording.h"

enum quantity {
	QUANTITY_OBJECTS,
	QUANTITY_BYTES,
	QUANTITY_WASTE, /* bytes of slabs that hold no object */
	QUANTITIES
};

/* One cache, or all others; a value for each sample, NAN where it did not exist. */
struct series {
	const char *name; /* NULL: all others */
	double *values[QUANTITIES];
};

struct series_list {
	struct series *series;
	size_t count;
	size_t others; /* how many caches are in the last one */
};

/* series_make: the `most` caches that once had the most bytes, and the others; largest
 * first. False after reporting with fail(); the caller frees the list in any case. */
bool series_make(struct series_list *list, const struct samples *samples, size_t most);
void series_free(struct series_list *list);

/* series_gap: whether nothing is known of the time before this sample: it is the
 * first, of another process, or long after the one before. */
bool series_gap(const struct samples *samples, size_t i);

#endif /* SLABINFO_SERIES_H */
