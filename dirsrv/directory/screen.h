/* SPDX-License-Identifier: MIT */
/* What the user sees while a side runs, and the tables at the end. */
#ifndef DIRECTORY_SCREEN_H
#define DIRECTORY_SCREEN_H

#include "result.h"

#include <stdbool.h>

/* screen_loaded: what was loaded, from where. */
void screen_loaded(const struct result *result, const char *path, uint64_t read, size_t bad);

/* A progress line, drawn again and again on a terminal, or a line now and then. */
struct progress {
	bool terminal;
	double shown;                /* when, in seconds since the start */
	uint64_t before[KIND_COUNT]; /* what was done then */
};

/* progress_start: find out whether the output is a terminal. */
void progress_start(struct progress *progress);

/* progress_show: where the run is, with the rates since it was shown last. */
void progress_show(struct progress *progress, double elapsed, double total,
		   const uint64_t done[KIND_COUNT]);

/* progress_end: leave the line. */
void progress_end(struct progress *progress);

/* screen_result: the numbers of one side. */
void screen_result(const char *name, const struct result *result);

/* screen_caches: objects, bytes used and held of every cache, and the waste. */
void screen_caches(const struct result *result);

/* screen_sound: how a side ended, in a sentence. */
void screen_sound(const struct result *result);

/* screen_next: what to try now. */
void screen_next(void);

#endif /* DIRECTORY_SCREEN_H */
