/* SPDX-License-Identifier: MIT */
/* Axes with round numbers on them. */
#pragma once

#include "posix.h"

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
