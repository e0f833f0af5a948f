/* SPDX-License-Identifier: MIT */
/*
 * Stands for the rest of libslab below track.c and depot.c.
 */
#include <sys/mman.h>

#include "pages/os.h"
#include "report/track.h"
#include "track_apart.h"

void *os_map(size_t bytes, size_t align)
{
	void *start = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)align;
	return start == MAP_FAILED ? NULL : start;
}

void os_unmap(void *start, size_t bytes)
{
	munmap(start, bytes);
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
