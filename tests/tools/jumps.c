/* SPDX-License-Identifier: MIT */
/*
 * Functions that are left by a jump, for symbolize_test.cc. This file is compiled with -O2, so
 * that calls that end a function become jumps.
 */
#include "jumps.h"

#define NOINLINE __attribute__((noinline))
/* Stands behind a call that is to be none. */
#define NO_JUMP __asm__ volatile("")

NOINLINE const void *here(void)
{
	NO_JUMP;
	return __builtin_return_address(0);
}

NOINLINE void innermost(struct jumps *jumps)
{
	jumps->innermost = here();
	jumps->caller = __builtin_return_address(0);
}

NOINLINE void other(struct jumps *jumps)
{
	jumps->innermost = here();
}

/* The name decides that it is one of libslab's. */
NOINLINE void slab_of_no_library(struct jumps *jumps)
{
	jumps->caller = __builtin_return_address(0);
}

NOINLINE void jumps_on(struct jumps *jumps)
{
	jumps->jump_line = __LINE__ + 1;
	innermost(jumps);
}

NOINLINE void jumps_to_libslab(struct jumps *jumps)
{
	jumps->jump_line = __LINE__ + 1;
	slab_of_no_library(jumps);
}

NOINLINE void calls_first(struct jumps *jumps)
{
	innermost(jumps);
	if (jumps->caller) {
		jumps->outer = __builtin_return_address(0);
		return;
	}
	other(jumps);
}

void outer(struct jumps *jumps, void (*call)(struct jumps *))
{
	/* Not by `call`: DWARF would not know which function it is. */
	if (call == jumps_on)
		jumps_on(jumps);
	else if (call == jumps_to_libslab)
		jumps_to_libslab(jumps);
	else
		calls_first(jumps);
	NO_JUMP;
}
