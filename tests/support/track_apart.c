/* SPDX-License-Identifier: MIT */
/*
 * Stands for the rest of libslab below track.c and depot.c.
 */
#include <sys/mman.h>

#include "pages/os.h"
#include "report/track.h"
#include "track_apart.h"

void *os_map_once(void **at, size_t bytes)
{
	void *start =
		*at ? *at
		    : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return *at = start == MAP_FAILED ? NULL : start;
}

void track_apart(const void *caller, struct slab_track *to)
{
	struct track track;

	track_fill(&track, caller);
	track_describe(&track, to);
}

static __attribute__((noinline)) void track_caller(struct slab_track *to)
{
	track_apart(__builtin_return_address(0), to);
}

void track_apart_within(struct slab_track *to)
{
	track_caller(to);
	/* Not a jump: it stays on the stack. */
	__asm__ volatile("" ::: "memory");
}
