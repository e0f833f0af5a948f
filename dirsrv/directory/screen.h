/* SPDX-License-Identifier: MIT */
/* What the user sees while a side runs, and the tables at the end. */
#ifndef DIRECTORY_SCREEN_H
#define DIRECTORY_SCREEN_H

#include "result.h"

/* screen_loaded: what was loaded, from where. */
void screen_loaded(const struct result *result, const char *path, uint64_t read, size_t bad);

/* screen_progress: which part of the load is over, and the rates of the last seconds. */
void screen_progress(double part, double seconds, const uint64_t before[KIND_COUNT],
		     const uint64_t done[KIND_COUNT]);

/* screen_result: the numbers of one side. */
void screen_result(const char *name, const struct result *result);

#endif /* DIRECTORY_SCREEN_H */
