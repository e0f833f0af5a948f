/* SPDX-License-Identifier: MIT */
/* What an address has: the marks of the address space, which segment_known() reads. */
#include <errno.h>

#include "base/compiler.h"
#include "pages/os.h"
#include "pages/units.h"

/* No address is in this window. */
#define WINDOW_UNSET (UINTPTR_MAX / 2)
/* Most kernels give out addresses from the highest to the lowest. */
#define BELOW_FIRST ((uintptr_t)SEGMENT_MARKS / 8 * 7)

SLAB_EARLY uintptr_t segment_window = WINDOW_UNSET;
uint8_t segment_marks[SEGMENT_MARKS];
void *segment_far_marks[SEGMENT_FAR_TABLES];

static void **far_table(const void *ptr)
{
	const uintptr_t i = (uintptr_t)ptr >> SEGMENT_SHIFT;

	return i / SEGMENT_MARKS < SEGMENT_FAR_TABLES ? &segment_far_marks[i / SEGMENT_MARKS]
						      : NULL;
}

/* The place of a mark outside the window; NULL: it has none. */
static uint8_t *far_at(const void *ptr)
{
	void **const table = far_table(ptr);
	uint8_t *const marks = table ? __atomic_load_n(table, __ATOMIC_ACQUIRE) : NULL;

	return marks ? &marks[((uintptr_t)ptr >> SEGMENT_SHIFT) % SEGMENT_MARKS] : NULL;
}

enum segment_mark segment_far_mark(const void *ptr)
{
	const uint8_t *const at = far_at(ptr);

	return at ? (enum segment_mark)__atomic_load_n(at, __ATOMIC_ACQUIRE) : SEGMENT_MARK_NONE;
}

/* Map the table of a mark outside the window. */
static bool far_ready(const char *start)
{
	void **const table = far_table(start);

	if (!table)
		errno = ENOMEM;
	return table && os_map_once(table, SEGMENT_MARKS);
}

static size_t marked(size_t bytes)
{
	return bytes < SEGMENT_MARKED_MAX ? bytes : SEGMENT_MARKED_MAX;
}

bool segment_marks_ready(const char *start, size_t bytes)
{
	const uintptr_t first = (uintptr_t)start >> SEGMENT_SHIFT;
	uintptr_t unset = WINDOW_UNSET;

	__atomic_compare_exchange_n(&segment_window, &unset,
				    first > BELOW_FIRST ? first - BELOW_FIRST : 0, false,
				    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	for (size_t at = 0; at < marked(bytes); at += SEGMENT_SIZE)
		if (segment_in_window(start + at) >= SEGMENT_MARKS && !far_ready(start + at))
			return false;
	return true;
}

/* A mark changes from none to another one, or back. Its table is mapped. */
static void set_mark(const char *start, enum segment_mark mark)
{
	const uintptr_t i = segment_in_window(start);

	__atomic_store_n(i < SEGMENT_MARKS ? &segment_marks[i] : far_at(start), (uint8_t)mark,
			 __ATOMIC_RELEASE);
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
