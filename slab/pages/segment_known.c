/* SPDX-License-Identifier: MIT */
/* The marks of the address space, which segment_known() reads, and lookups that need the lock. */
#include "pages/segment.h"

uint64_t segment_marks[SEGMENT_MARK_WORDS];

/* A mark changes from none to another one, or back. */
static void set_mark(const char *start, enum segment_mark mark)
{
	uintptr_t n = (uintptr_t)start >> SEGMENT_SHIFT;
	uint64_t *word = &segment_marks[n / SEGMENT_MARKS_PER_WORD];
	unsigned shift = (unsigned)(n % SEGMENT_MARKS_PER_WORD * 2);

	if (mark)
		__atomic_fetch_or(word, (uint64_t)mark << shift, __ATOMIC_RELEASE);
	else
		__atomic_fetch_and(word, ~(UINT64_C(3) << shift), __ATOMIC_RELEASE);
}

void segment_mark_slabs(const char *start)
{
	set_mark(start, SEGMENT_MARK_SLABS);
}

void segment_mark_large(const char *start, size_t from, size_t to)
{
	const size_t most = from > to ? from : to;

	for (size_t at = 0; at < most; at += SEGMENT_SIZE) {
		if ((at < from) == (at < to))
			continue;
		if (at < from)
			set_mark(start + at, SEGMENT_MARK_NONE);
		else
			set_mark(start + at, at ? SEGMENT_MARK_LARGE_REST : SEGMENT_MARK_LARGE);
	}
}

struct slab *segment_find_large(const void *ptr)
{
	const char *start = segment_start(ptr);
	struct slab *slab = NULL;

	segment_lock();
	while (segment_mark_of(start) == SEGMENT_MARK_LARGE_REST)
		start -= SEGMENT_SIZE;
	if (segment_mark_of(start) == SEGMENT_MARK_LARGE &&
	    (const char *)ptr < start + segment_of(start)->mapped)
		slab = slab_of(start);
	segment_unlock();
	return slab;
}

bool segment_unit_is_free(const void *ptr)
{
	unsigned unit = (unsigned)((uintptr_t)ptr >> SEGMENT_UNIT_SHIFT & (SEGMENT_UNITS - 1));
	bool is_free;

	segment_lock();
	is_free = segment_of(ptr)->free[unit / 64] >> unit % 64 & 1;
	segment_unlock();
	return is_free;
}
