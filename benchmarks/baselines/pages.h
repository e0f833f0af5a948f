/* SPDX-License-Identifier: MIT */
/*
 * The page layer of all three: blocks of 2^order frames of 4 KiB out of one reservation of address
 * space, and free blocks of each order. It is the same for all, so that a comparison shows their
 * designs.
 *
 * A frame has a descriptor, as the kernel's struct page. The descriptors lie in an array, so that
 * every address of a block leads to the descriptor of its first frame.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FRAME_SHIFT 12
#define FRAME_BYTES ((size_t)1 << FRAME_SHIFT)
#define PAGES_ORDERS 4u

struct frame_link {
	struct frame_link *next, *prev;
};

/* The descriptor of a frame. Members up to `order` are the allocator's. */
struct frame {
	struct frame_link link; /* of one list */
	uint64_t pair[2];       /* words for a double compare-and-exchange */
	void *owner;
	char *first;            /* the first object */
	uint16_t *index;        /* a freelist outside of the slab */
	uint32_t in_use;
	bool listed;
	uint8_t order;          /* of the block that this frame begins */
	uint16_t head;          /* frames back to the first frame of the block */
} __attribute__((aligned(64)));

/* A circular list with a head. `length` may be read without the lock of the list. */
struct frame_list {
	struct frame_link head;
	size_t length;
};

extern char *pages_base __attribute__((visibility("hidden")));
extern struct frame *pages_frames __attribute__((visibility("hidden")));

/* pages_init: reserve the address space, once. false: there is none. */
bool pages_init(void);
/* pages_take: a block of 2^order frames, order < PAGES_ORDERS. NULL: there is no memory. */
struct frame *pages_take(unsigned order);
/* pages_give: give a block back. Its memory stays resident until pages_trim(). */
void pages_give(struct frame *frame);
/* pages_trim: return the memory of free blocks to the system. */
void pages_trim(void);
/* pages_order: the least order of a block of so many bytes. */
unsigned pages_order(size_t bytes);

void frame_list_init(struct frame_list *list);
void frame_list_add(struct frame_list *list, struct frame *frame); /* in front */
void frame_list_add_last(struct frame_list *list, struct frame *frame);
void frame_list_remove(struct frame_list *list, struct frame *frame);
/* Make a frame of the list its first one, and those in front of it the last ones. */
void frame_list_begin_at(struct frame_list *list, struct frame *frame);
/* The first frame; the one behind a frame. NULL: there is none. */
struct frame *frame_list_first(const struct frame_list *list);
struct frame *frame_list_next(const struct frame_list *list, const struct frame *frame);

/* The descriptor of the block that holds an address. */
static inline struct frame *pages_frame(const void *address)
{
	struct frame *frame =
		&pages_frames[(size_t)((const char *)address - pages_base) >> FRAME_SHIFT];

	return frame - frame->head;
}

static inline char *frame_start(const struct frame *frame)
{
	return pages_base + ((size_t)(frame - pages_frames) << FRAME_SHIFT);
}

static inline size_t frame_bytes(const struct frame *frame)
{
	return FRAME_BYTES << frame->order;
}
