/* SPDX-License-Identifier: MIT */
/* The axes of a plot, with round numbers on them; and its lines, made from samples. */
#pragma once

#include "recording.h"

/* axis.c */

#define AXIS_TEXT 40

/* axis_step: the distance of ticks, 1, 2 or 5 times a power of ten and at least 1, of
 * which at most `ticks` fit below `most`; of bytes, of KiB, MiB and so on. */
double axis_step(double most, unsigned ticks, bool is_bytes);

/* axis_number: "2.5M", "2.5MiB" of a tick: no more digits than ticks of this distance need. */
const char *axis_number(char text[AXIS_TEXT], double number, double step, bool is_bytes);

/* axis_time_step: likewise for times in milliseconds, in steps that clocks have. */
uint64_t axis_time_step(uint64_t span_ms, unsigned ticks);

/* axis_first_time: the first tick at or after a moment, in local time. */
uint64_t axis_first_time(uint64_t ms, uint64_t step_ms);

/* axis_time: local time, as exact as the step needs; with a date from days on. */
const char *axis_time(char text[AXIS_TEXT], uint64_t ms, uint64_t step_ms);

/* series.c */

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
