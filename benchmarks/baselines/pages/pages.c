/* SPDX-License-Identifier: MIT */
/* The buddy system; see pages.h. One lock for each node protects its free lists, and the members
 * free, order, head and untouched of its frames. */
#include "pages/pages.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lock.h"

#define NODE_FRAMES ((size_t)1 << (PAGES_NODE_SHIFT - FRAME_SHIFT))
#define MAX_BLOCK ((size_t)1 << PAGES_MAX_ORDER)

struct node {
	struct lock lock;
	size_t used; /* frames of the address space that were ever part of a block */
	struct frame_list free[PAGES_MAX_ORDER + 1];
} __attribute__((aligned(64)));

char *pages_base;
struct frame *pages_frames;
unsigned pages_nodes = 1;
static struct node nodes[PAGES_MAX_NODES];

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

static void set_length(struct frame_list *list, size_t length)
{
	__atomic_store_n(&list->length, length, __ATOMIC_RELAXED);
}

void frame_list_add(struct frame_list *list, struct frame *frame)
{
	insert(&list->head, &frame->link);
	set_length(list, list->length + 1);
}

void frame_list_add_last(struct frame_list *list, struct frame *frame)
{
	insert(list->head.prev, &frame->link);
	set_length(list, list->length + 1);
}

static void take_out(struct frame_link *link)
{
	link->prev->next = link->next;
	link->next->prev = link->prev;
}

void frame_list_remove(struct frame_list *list, struct frame *frame)
{
	take_out(&frame->link);
	set_length(list, list->length - 1);
}

void frame_list_begin_at(struct frame_list *list, struct frame *frame)
{
	take_out(&list->head);
	insert(frame->link.prev, &list->head);
}

static struct frame *frame_of(const struct frame_list *list, struct frame_link *link)
{
	return link == &list->head ? NULL : (struct frame *)link;
}

struct frame *frame_list_first(const struct frame_list *list)
{
	return frame_of(list, list->head.next);
}

struct frame *frame_list_next(const struct frame_list *list, const struct frame *frame)
{
	return frame_of(list, frame->link.next);
}

static void *reserve(size_t bytes)
{
	void *space = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return space == MAP_FAILED ? NULL : space;
}

static void find_nodes(void)
{
	const char *text = getenv("BASELINE_NODES");
	const unsigned long n = text ? strtoul(text, NULL, 10) : 1;

	pages_nodes = n >= 1 && n <= PAGES_MAX_NODES ? (unsigned)n : 1;
}

bool pages_init(void)
{
	const size_t largest = FRAME_BYTES << PAGES_MAX_ORDER;
	char *space;

	find_nodes();
	space = reserve(((size_t)pages_nodes << PAGES_NODE_SHIFT) + largest);
	pages_frames = reserve(pages_nodes * NODE_FRAMES * sizeof(struct frame));
	if (!space || !pages_frames)
		return false;
	/* A block is aligned to its size. */
	pages_base = (char *)(((uintptr_t)space + largest - 1) & ~(uintptr_t)(largest - 1));
	for (unsigned n = 0; n < PAGES_MAX_NODES; n++)
		for (unsigned order = 0; order <= PAGES_MAX_ORDER; order++)
			frame_list_init(&nodes[n].free[order]);
	return true;
}

static void add_free(struct node *node, struct frame *frame, unsigned order, bool untouched)
{
	frame->free = true;
	frame->order = (uint8_t)order;
	frame->untouched = untouched;
	frame_list_add(&node->free[order], frame);
}

static void remove_free(struct node *node, struct frame *frame)
{
	frame->free = false;
	frame_list_remove(&node->free[frame->order], frame);
}

/* A block of the largest size out of fresh address space. The descriptors are zero. */
static bool grow(unsigned n)
{
	struct node *node = &nodes[n];
	struct frame *frame = &pages_frames[n * NODE_FRAMES + node->used];

	if (node->used == NODE_FRAMES)
		return false;
	node->used += MAX_BLOCK;
	frame->node = (uint8_t)n;
	add_free(node, frame, PAGES_MAX_ORDER, true);
	return true;
}

/* Halve a block until it has the order; the other halves are free. */
static void split(struct node *node, struct frame *frame, unsigned order)
{
	while (frame->order > order) {
		struct frame *half;

		frame->order--;
		half = frame + ((size_t)1 << frame->order);
		half->head = 0;
		half->node = frame->node;
		add_free(node, half, frame->order, frame->untouched);
	}
}

static struct frame *find(struct node *node, unsigned order)
{
	for (unsigned o = order; o <= PAGES_MAX_ORDER; o++)
		if (node->free[o].length)
			return frame_list_first(&node->free[o]);
	return NULL;
}

static void set_heads(struct frame *frame, unsigned order)
{
	for (uint32_t i = 0; i < UINT32_C(1) << order; i++) {
		frame[i].head = i;
		frame[i].node = frame->node;
	}
}

struct frame *pages_take(unsigned node, unsigned order)
{
	struct node *n = &nodes[node];
	struct frame *frame;

	lock_take(&n->lock);
	frame = find(n, order);
	if (!frame && grow(node))
		frame = find(n, order);
	if (frame) {
		remove_free(n, frame);
		split(n, frame, order);
		set_heads(frame, order);
	}
	lock_drop(&n->lock);
	if (!frame)
		errno = ENOMEM;
	return frame;
}

static struct frame *buddy_of(struct frame *frame)
{
	return &pages_frames[(size_t)(frame - pages_frames) ^ ((size_t)1 << frame->order)];
}

static void give(struct node *node, struct frame *frame, bool untouched)
{
	unsigned order = frame->order;

	while (order < PAGES_MAX_ORDER) {
		struct frame *buddy = buddy_of(frame);

		if (!buddy->free || buddy->order != order || buddy->untouched != untouched)
			break;
		remove_free(node, buddy);
		frame = buddy < frame ? buddy : frame;
		frame->order = (uint8_t)++order;
	}
	add_free(node, frame, order, untouched);
}

void pages_give(struct frame *frame)
{
	struct node *node = &nodes[frame->node];

	lock_take(&node->lock);
	give(node, frame, false);
	lock_drop(&node->lock);
}

/* The smallest block that consists of whole pages of the system. */
static unsigned least_order(void)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	unsigned order = 0;

	while (FRAME_BYTES << order < page)
		order++;
	return order;
}

/* The next free block whose memory is resident and can go, taken off its list. */
static struct frame *take_resident(struct node *node)
{
	for (unsigned order = least_order(); order <= PAGES_MAX_ORDER; order++) {
		struct frame_list *list = &node->free[order];

		for (struct frame *f = frame_list_first(list); f; f = frame_list_next(list, f))
			if (!f->untouched) {
				remove_free(node, f);
				return f;
			}
	}
	return NULL;
}

static void trim_node(struct node *node)
{
	struct frame *frame;

	do {
		lock_take(&node->lock);
		frame = take_resident(node);
		lock_drop(&node->lock);
		if (!frame)
			return;
		madvise(frame_start(frame), frame_bytes(frame), MADV_DONTNEED);
		lock_take(&node->lock);
		give(node, frame, true);
		lock_drop(&node->lock);
	} while (frame);
}

void pages_trim(void)
{
	const int saved = errno;

	for (unsigned n = 0; n < pages_nodes; n++)
		trim_node(&nodes[n]);
	errno = saved;
}
