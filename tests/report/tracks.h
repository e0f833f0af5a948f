/* SPDX-License-Identifier: MIT */
/* A function that a track names, and what is in a track. */
#pragma once

#include "../support/rooms.h"

/* Keeps the frame of a function on the stack: no call at its end is a jump. */
#define NO_TAIL_CALL() __asm__ volatile("" ::: "memory")

/* A public function of the library and what it does inside. Returns its caller. */
__attribute__((noinline)) inline void inside(struct track *track, const void *caller)
{
	track_fill(track, caller);
	NO_TAIL_CALL();
}

__attribute__((noinline)) inline const void *public_function(struct track *track)
{
	const void *caller = __builtin_return_address(0);

	inside(track, caller);
	NO_TAIL_CALL();
	return caller;
}

inline struct slab_track describe(const struct track &track)
{
	struct slab_track described;

	track_describe(&track, &described);
	return described;
}
