/* SPDX-License-Identifier: MIT */
/* What --find-leaks and -v do with a process that stands still for a moment. */
#pragma once

#include "args.h"
#include "memory.h"

/* The time limit unless --stop-limit gives one. */
#define STOP_LIMIT_S 10.0

/* standing_take: attach_stand_still() with the options' limit, and with progress on a terminal. */
bool standing_take(const struct options *options, struct process *process,
		   struct snapshot *snapshot);

/* standing_text: " stood still for 3.1 ms while 12.3MiB were copied", "" for a core file. */
#define STANDING_TEXT 96
const char *standing_text(char text[STANDING_TEXT], const struct snapshot *snapshot);

/* Progress on stderr, if it is a terminal: progress_show() at most ten times a second,
 * progress_clear() before anything else is written. */
void progress_show(const char *what, uint64_t done, uint64_t all);
void progress_clear(void);
