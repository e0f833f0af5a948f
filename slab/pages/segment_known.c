/* SPDX-License-Identifier: MIT */
/* The marks of the address space, which segment_known() reads. */
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

struct segment *segment_giants;

static void add_giant(struct segment *giant)
{
	giant->next_room = segment_giants;
	__atomic_store_n(&segment_giants, giant, __ATOMIC_RELEASE);
}

static void remove_giant(const struct segment *giant)
{
	struct segment **at = &segment_giants;

	while (*at != giant)
		at = &(*at)->next_room;
	__atomic_store_n(at, giant->next_room, __ATOMIC_RELEASE);
}

static size_t marked(size_t bytes)
{
	return bytes < SEGMENT_MARKED_MAX ? bytes : SEGMENT_MARKED_MAX;
}

void segment_mark_large(const char *start, size_t from, size_t to)
{
	const size_t most = marked(from > to ? from : to);

	for (size_t at = 0; at < most; at += SEGMENT_SIZE) {
		if ((at < from) == (at < to))
			continue;
		if (at < from)
			set_mark(start + at, SEGMENT_MARK_NONE);
		else
			set_mark(start + at, at ? SEGMENT_MARK_LARGE_REST : SEGMENT_MARK_LARGE);
	}
	if (from <= SEGMENT_MARKED_MAX && to > SEGMENT_MARKED_MAX)
		add_giant(segment_of(start));
	else if (from > SEGMENT_MARKED_MAX && to <= SEGMENT_MARKED_MAX)
		remove_giant(segment_of(start));
}
