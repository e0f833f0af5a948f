/* SPDX-License-Identifier: MIT */
/* See pages.h. One lock protects the free lists. Blocks are neither split nor joined: the slabs of
 * a program have few orders. */
#include "pages.h"

#include <errno.h>
#include <sys/mman.h>

#include "lock.h"

#define SPACE_SHIFT 35 /* 32 GiB of address space */
#define FRAMES ((size_t)1 << (SPACE_SHIFT - FRAME_SHIFT))

char *pages_base;
struct frame *pages_frames;

static struct {
	struct lock lock;
	size_t used; /* frames that were ever part of a block */
	struct frame_list resident[PAGES_ORDERS], untouched[PAGES_ORDERS];
} pages;

void frame_list_init(struct frame_list *list)
{
	list->head.next = list->head.prev = &list->head;
	list->length = 0;
}

static void insert(struct frame_link *after, struct frame_link *link)
{
	link->prev = after;
	link->next = after->next;
	after->next->prev = link;
	after->next = link;
}

static void take_out(struct frame_link *link)
{
	link->prev->next = link->next;
	link->next->prev = link->prev;
}

static void add_length(struct frame_list *list, size_t n)
{
	__atomic_store_n(&list->length, list->length + n, __ATOMIC_RELAXED);
}

void frame_list_add(struct frame_list *list, struct frame *frame)
{
	insert(&list->head, &frame->link);
	add_length(list, 1);
}

void frame_list_add_last(struct frame_list *list, struct frame *frame)
{
	insert(list->head.prev, &frame->link);
	add_length(list, 1);
}

void frame_list_remove(struct frame_list *list, struct frame *frame)
{
	take_out(&frame->link);
	add_length(list, (size_t)-1);
}

void frame_list_begin_at(struct frame_list *list, struct frame *frame)
{
	take_out(&list->head);
	insert(frame->link.prev, &list->head);
}

struct frame *frame_list_first(const struct frame_list *list)
{
	return list->head.next == &list->head ? NULL : (struct frame *)list->head.next;
}

struct frame *frame_list_next(const struct frame_list *list, const struct frame *frame)
{
	return frame->link.next == &list->head ? NULL : (struct frame *)frame->link.next;
}

static void *reserve(size_t bytes)
{
	void *space = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return space == MAP_FAILED ? NULL : space;
}

bool pages_init(void)
{
	pages_base = reserve((size_t)1 << SPACE_SHIFT);
	pages_frames = reserve(FRAMES * sizeof(struct frame));
	for (unsigned order = 0; order < PAGES_ORDERS; order++) {
		frame_list_init(&pages.resident[order]);
		frame_list_init(&pages.untouched[order]);
	}
	return pages_base && pages_frames;
}

unsigned pages_order(size_t bytes)
{
	unsigned order = 0;

	while (FRAME_BYTES << order < bytes)
		order++;
	return order;
}

static struct frame *take_free(struct frame_list *list)
{
	struct frame *frame = frame_list_first(list);

	if (frame)
		frame_list_remove(list, frame);
	return frame;
}

/* A block out of fresh address space. The descriptors are zero. */
static struct frame *take_fresh(unsigned order)
{
	const size_t n = (size_t)1 << order;
	struct frame *frame = &pages_frames[pages.used];

	if (FRAMES - pages.used < n)
		return NULL;
	pages.used += n;
	frame->order = (uint8_t)order;
	for (size_t i = 0; i < n; i++)
		frame[i].head = (uint16_t)i;
	return frame;
}

struct frame *pages_take(unsigned order)
{
	struct frame *frame;

	lock_take(&pages.lock);
	frame = take_free(&pages.resident[order]);
	if (!frame)
		frame = take_free(&pages.untouched[order]);
	if (!frame)
		frame = take_fresh(order);
	lock_drop(&pages.lock);
	if (!frame)
		errno = ENOMEM;
	return frame;
}

void pages_give(struct frame *frame)
{
	lock_take(&pages.lock);
	frame_list_add(&pages.resident[frame->order], frame);
	lock_drop(&pages.lock);
}

void pages_trim(void)
{
	struct frame *frame;

	lock_take(&pages.lock);
	for (unsigned order = 0; order < PAGES_ORDERS; order++)
		while ((frame = take_free(&pages.resident[order]))) {
			madvise(frame_start(frame), frame_bytes(frame), MADV_DONTNEED);
			frame_list_add(&pages.untouched[order], frame);
		}
	lock_drop(&pages.lock);
}
