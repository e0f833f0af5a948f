/* SPDX-License-Identifier: MIT */
/* See page.h. `frame->first` is the first free block, `frame->in_use` the number of free units. */
#include "slob/page.h"

#include "percpu/percpu.h"

static slob_unit *page_unit(const struct frame *frame, uint32_t offset)
{
	return (slob_unit *)frame_start(frame) + offset;
}

static uint32_t offset_of(const struct frame *frame, const slob_unit *block)
{
	return (uint32_t)(block - page_unit(frame, 0));
}

static uint32_t size_of(const slob_unit *block)
{
	return block[0] > 0 ? (uint32_t)block[0] : 1;
}

/* NULL: the block is the last one, whose offset is that of the page's end. */
static slob_unit *next_of(const struct frame *frame, const slob_unit *block)
{
	const uint32_t offset = (uint32_t)(block[0] > 0 ? block[1] : -block[0]);

	return offset < SLOB_PAGE_UNITS ? page_unit(frame, offset) : NULL;
}

static void set_block(const struct frame *frame, slob_unit *block, uint32_t size,
		      const slob_unit *next)
{
	const uint32_t offset = next ? offset_of(frame, next) : SLOB_PAGE_UNITS;

	if (size == 1) {
		block[0] = (slob_unit) - (int)offset;
	} else {
		block[0] = (slob_unit)size;
		block[1] = (slob_unit)offset;
	}
}

/* Make `next` the block that follows `previous`; NULL: the first one. */
static void link_after(struct frame *frame, slob_unit *previous, slob_unit *next)
{
	if (previous)
		set_block(frame, previous, size_of(previous), next);
	else
		frame->first = (char *)next;
}

void slob_page_init(struct frame *frame)
{
	slob_unit *all = page_unit(frame, 0);

	frame->in_use = SLOB_PAGE_UNITS;
	frame->first = (char *)all;
	set_block(frame, all, SLOB_PAGE_UNITS, NULL);
}

/* Units from the block to the next aligned address. */
static uint32_t gap(const slob_unit *block, size_t align)
{
	return (uint32_t)((-(uintptr_t)block & (align - 1)) / SLOB_UNIT);
}

/* Take units out of a block, `front` units after its start. What is in front stays a block. */
static void *cut(struct frame *frame, slob_unit *previous, slob_unit *block, uint32_t front,
		 uint32_t units)
{
	slob_unit *next = next_of(frame, block);
	const uint32_t rest = size_of(block) - front - units;

	if (rest) {
		slob_unit *behind = block + front + units;

		set_block(frame, behind, rest, next);
		next = behind;
	}
	if (front)
		set_block(frame, block, front, next);
	else
		link_after(frame, previous, next);
	frame->in_use -= units;
	return block + front;
}

void *slob_page_alloc(struct frame *frame, uint32_t units, size_t align)
{
	slob_unit *previous = NULL;

	for (slob_unit *b = (slob_unit *)frame->first; b; previous = b, b = next_of(frame, b)) {
		const uint32_t front = gap(b, align);

		if (size_of(b) >= front + units)
			return cut(frame, previous, b, front, units);
	}
	return NULL;
}

/* Join a block with its successor if they touch. */
static void join(const struct frame *frame, slob_unit *block)
{
	slob_unit *next = next_of(frame, block);

	if (next && block + size_of(block) == next)
		set_block(frame, block, size_of(block) + size_of(next), next_of(frame, next));
}

void slob_page_give(struct frame *frame, void *obj, uint32_t units)
{
	slob_unit *block = obj, *previous = NULL, *next;

	if (!frame->in_use)
		frame->first = NULL;
	next = (slob_unit *)frame->first;
	while (next && next < block) {
		previous = next;
		next = next_of(frame, next);
	}
	if ((previous && previous + size_of(previous) > block) || (next && block + units > next))
		baseline_abort("an object was freed twice", obj);
	set_block(frame, block, units, next);
	link_after(frame, previous, block);
	frame->in_use += units;
	join(frame, block);
	if (previous)
		join(frame, previous);
}
