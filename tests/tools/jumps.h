/* SPDX-License-Identifier: MIT */
#pragma once

/* Return addresses, and the line of a jump. */
struct jumps {
	const void *innermost, *caller, *outer;
	int jump_line;
};

/* What outer() calls. jumps_on() goes to innermost(); calls_first() calls it, and would go on to
 * other(). */
void jumps_on(struct jumps *jumps);
void jumps_to_libslab(struct jumps *jumps);
void calls_first(struct jumps *jumps);

/* outer: call one of them, which fills `jumps`. */
void outer(struct jumps *jumps, void (*call)(struct jumps *));

/* Not for the test. */
const void *here(void);
void innermost(struct jumps *jumps);
void other(struct jumps *jumps);
void slab_of_no_library(struct jumps *jumps);
