/* SPDX-License-Identifier: MIT */
/*
 * A page frame of SLOB: the list of its free blocks, in order of address, in the space of the blocks.
 *
 * A unit has two bytes. The first unit of a free block has the block's size in units, the second one
 * the next block's offset. A block of one unit has only the offset, negative. The lock of slob.c
 * protects all this.
 */
#ifndef BASELINES_SLOB_PAGE_H
#define BASELINES_SLOB_PAGE_H

#include "pages/pages.h"

typedef int16_t slob_unit;
#define SLOB_UNIT sizeof(slob_unit)
#define SLOB_PAGE_UNITS ((uint32_t)(FRAME_BYTES / SLOB_UNIT))

/* A page of one free block. */
void slob_page_init(struct frame *frame);
/* First fit. NULL: no free block is large enough. */
void *slob_page_alloc(struct frame *frame, uint32_t units, size_t align);
/* Free a block, and join it with those beside it. Aborts if it is free already. */
void slob_page_give(struct frame *frame, void *block, uint32_t units);

static inline uint32_t slob_page_free_units(const struct frame *frame)
{
	return frame->in_use;
}

/* The list on which the page is. */
static inline struct frame_list *slob_page_list(const struct frame *frame)
{
	return frame->cache;
}

static inline void slob_page_set_list(struct frame *frame, struct frame_list *list)
{
	frame->cache = list;
}

#endif /* BASELINES_SLOB_PAGE_H */
