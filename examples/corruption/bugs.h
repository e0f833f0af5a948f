/* SPDX-License-Identifier: MIT */
/*
 * The bugs: one is chosen for a run. Where the server has one, it reads
 *
 *	if (bug_is(BUG_X))
 *		the faulty line;
 *	else
 *		the correct line;
 *
 * and what the clients say brings it out.
 */
#pragma once

#include <stdbool.h>

enum bug {
	BUG_NONE,
	BUG_OVERFLOW,
	BUG_UNDERFLOW,
	BUG_USE_AFTER_FREE_WRITE,
	BUG_USE_AFTER_FREE_READ,
	BUG_DOUBLE_FREE,
	BUG_DOUBLE_FREE_THREADS,
	BUG_INVALID_FREE,
	BUG_WRONG_CACHE,
	BUG_FOREIGN_MEMORY,
	BUG_LEAK,
	BUG_MALLOC_OVERFLOW,
	BUG_SLAB_PADDING,
	BUG_UNINITIALISED,
	BUG_OUT_OF_BOUNDS_READ,
	BUG_REALLOC_OVERFLOW,
	BUG_DATA_RACE,
	BUG_COUNT
};

/*
 * What a client sends: "N:line" with the number of the client. Without a newline
 * at its end it is a part of a line; "N:" alone hangs up.
 */
struct bug_info {
	const char *name;
	const char *what;          /* for --list */
	const char *const *script; /* NULL at the end */
};

extern const struct bug_info bugs[BUG_COUNT];

/* What the clients say before they bring the bug out, and after, when they come
 * again. */
extern const char *const everyday[], *const evening[];

extern enum bug bug_chosen;

static inline bool bug_is(enum bug bug)
{
	return bug_chosen == bug;
}
