/* SPDX-License-Identifier: MIT */
/*
 * Large allocations. Each is a mapping of its own behind a segment's head, so its address leads to
 * a descriptor as any other address does. Only the first 16 MiB have a table. An allocation starts
 * there, unless it is aligned to 16 MiB or more: segment_find_large() finds its descriptor.
 */
#include <errno.h>

#include "base/round.h"
#include "pages/account.h"
#include "pages/os.h"
#include "pages/units.h"

/* The only descriptor lies behind the head, on the same page. */
#define DESCRIPTOR_OFFSET                                                                          \
	(SEGMENT_HEAD_OFFSET +                                                                     \
	 ((sizeof(struct segment) + CPU_CACHELINE - 1) & ~(size_t)(CPU_CACHELINE - 1)))
static_assert(DESCRIPTOR_OFFSET + sizeof(struct slab) + LARGE_WORDS * sizeof(uint64_t) <=
		      SEGMENT_USERS_OFFSET,
	      "no room");

/* From the head's segment to the base. A base with an alignment of SEGMENT_SIZE or more is in the
 * next segment. */
static size_t large_offset(size_t align)
{
	if (align > SEGMENT_SIZE)
		align = SEGMENT_SIZE;
	return round_up(os_pages(SEGMENT_HEAD_END), align ? align : 1);
}

static size_t large_mapped(size_t bytes, size_t align)
{
	return os_pages(large_offset(align) + bytes);
}

/* The bytes that count: all but the guard in front, which never holds memory. */
static size_t large_counted(size_t mapped)
{
	return mapped - SEGMENT_HEAD_OFFSET;
}

size_t segment_large_bytes(size_t bytes, size_t align)
{
	return large_counted(large_mapped(bytes, align));
}

/* From this size on, the system is asked before the bytes are charged. Other threads see a charge:
 * until it is taken back, they meet the limit, and take the process for so large. */
#define ASK_FROM ((size_t)64 << 20)

/* The limit comes first: beyond it, a system call would be in vain. */
static bool charge(size_t bytes)
{
	return account_has_room(bytes) && (bytes < ASK_FROM || os_may_map(bytes)) &&
	       account_charge(NULL, bytes);
}

/* From now on the allocation has `mapped` bytes (`before` bytes until now). Threads that look up
 * any address see either. */
static void set_mapped(struct segment *segment, size_t before, size_t mapped)
{
	segment_lock();
	segment->mapped = mapped;
	segment_mark_large(segment_start(segment), before, mapped);
	segment_unlock();
}

/* All addresses lead to the only descriptor. */
static struct slab *lead_to_descriptor(struct segment *segment)
{
	struct slab *slab = (struct slab *)(segment_start(segment) + DESCRIPTOR_OFFSET);

	for (unsigned u = 0; u < SEGMENT_UNITS; u++)
		segment_table(segment)[u] = slab;
	slab->base = segment->base;
	return slab;
}

/* Fill in the head and the descriptor. */
static struct slab *format_large(char *start, size_t bytes, size_t align)
{
	struct segment *segment = (struct segment *)(start + SEGMENT_HEAD_OFFSET);
	struct slab *slab;

	*segment = (struct segment){
		.magic = SEGMENT_MAGIC,
		.mapped = large_mapped(bytes, align),
		.base = start + large_offset(align),
	};
	slab = lead_to_descriptor(segment);
	slab->large = bytes;
	return slab;
}

/* Reserve segments of which the second is aligned to `align`, which is more than SEGMENT_SIZE. */
static char *reserve_second_aligned(size_t mapped, size_t align)
{
	char *range = mapped + align > mapped ? os_reserve(mapped + align, SEGMENT_SIZE) : NULL;
	size_t before, behind;

	if (!range) {
		errno = ENOMEM;
		return NULL;
	}
	before = -((uintptr_t)range + SEGMENT_SIZE) & (align - 1);
	behind = align - before;
	if (before)
		os_unmap(range, before);
	os_unmap(range + before + mapped, behind);
	return range + before;
}

/* Map a large allocation with its guard in front; NULL and ENOMEM. What only aligns it does not
 * count as memory. */
static char *map_large(size_t mapped, size_t align)
{
	char *start = align > SEGMENT_SIZE ? reserve_second_aligned(mapped, align)
					   : os_reserve(mapped, SEGMENT_SIZE);

	if (!start || (segment_marks_ready(start, mapped) &&
		       os_protect(start + SEGMENT_HEAD_OFFSET, large_counted(mapped), true)))
		return start;
	os_unmap(start, mapped);
	errno = ENOMEM;
	return NULL;
}

struct slab *segment_map_large(size_t bytes, size_t align)
{
	size_t mapped = large_mapped(bytes, align), counted = large_counted(mapped);
	struct slab *slab;
	char *start;

	if (mapped < bytes) {
		errno = ENOMEM;
		return NULL;
	}
	alloc_failure = ALLOC_FAILURE_SYSTEM; /* unless charge() meets the limit */
	if (!charge(counted)) {
		errno = ENOMEM;
		return NULL;
	}
	start = map_large(mapped, align);
	if (!start) {
		account_give_up(NULL, counted);
		return NULL;
	}
	slab = format_large(start, bytes, align);
	set_mapped(segment_of(start), 0, mapped);
	segment_count_large((long)counted);
	return slab;
}

void segment_unmap_large(struct slab *slab)
{
	struct segment *segment = segment_of(slab);
	size_t mapped = segment->mapped;

	segment_count_large(-(long)large_counted(mapped));
	set_mapped(segment, mapped, 0);
	os_unmap(segment_start(segment), mapped);
	account_release(NULL, large_counted(mapped));
}

/* The bytes that a mapping with this many bytes behind its base has. */
static size_t mapped_for(const struct segment *segment, size_t bytes)
{
	return os_pages((size_t)(segment->base - segment_start(segment)) + bytes);
}

/* The account was charged for a change of size that came about. */
static void count_change(size_t before, size_t mapped, size_t more)
{
	segment_count_large((long)(mapped - before));
	account_release(NULL, before + more - mapped);
}

bool segment_resize_large(struct slab *slab, size_t bytes)
{
	struct segment *segment = segment_of(slab);
	size_t mapped = mapped_for(segment, bytes);
	size_t before = segment->mapped, more = mapped > before ? mapped - before : 0;

	if (mapped < bytes || !segment_marks_ready(segment_start(segment), mapped) ||
	    (more && !charge(more)))
		return false;
	/* What is cut off may be memory of others at once. */
	if (mapped < before)
		set_mapped(segment, before, mapped);
	/* The guard is a mapping of its own, so resize only the part behind it. */
	if (!os_resize(segment, large_counted(before), large_counted(mapped))) {
		set_mapped(segment, segment->mapped, before);
		account_release(NULL, more);
		return false;
	}
	set_mapped(segment, segment->mapped, mapped);
	count_change(before, mapped, more);
	return true;
}

/* Reserve addresses for a mapping, with as many above it, so that it can grow in place. */
static char *reserve_to_grow(size_t mapped)
{
	char *to = mapped <= SIZE_MAX / 4 ? os_reserve(2 * mapped, SEGMENT_SIZE) : NULL;

	if (!to)
		return os_reserve(mapped, SEGMENT_SIZE);
	os_unmap(to + mapped, mapped);
	return to;
}

/* Move the pages behind the guard to `to`, where all addresses are inaccessible. */
static struct slab *move_to(char *to, struct segment *segment, size_t mapped)
{
	char *start = segment_start(segment);
	const ptrdiff_t base = segment->base - start;
	const size_t before = segment->mapped;
	struct slab *moved;

	set_mapped(segment, before, 0);
	if (!os_move(segment, large_counted(before), to + SEGMENT_HEAD_OFFSET,
		     large_counted(mapped))) {
		set_mapped(segment, 0, before);
		return NULL;
	}
	os_unmap(start, SEGMENT_HEAD_OFFSET);
	segment = (struct segment *)(to + SEGMENT_HEAD_OFFSET);
	segment->base = to + base;
	moved = lead_to_descriptor(segment);
	set_mapped(segment, 0, mapped);
	return moved;
}

struct slab *segment_move_large(struct slab *slab, size_t bytes)
{
	struct segment *segment = segment_of(slab);
	const size_t before = segment->mapped, mapped = mapped_for(segment, bytes);
	const size_t more = mapped > before ? mapped - before : 0;
	struct slab *moved;
	char *to;

	if (mapped < bytes || (more && !charge(more)))
		return NULL;
	to = reserve_to_grow(mapped);
	moved = to && segment_marks_ready(to, mapped) ? move_to(to, segment, mapped) : NULL;
	if (moved)
		count_change(before, mapped, more);
	else
		account_release(NULL, more);
	if (to && !moved)
		os_unmap(to, mapped);
	return moved;
}

void segment_count_large(long bytes)
{
	__atomic_fetch_add(&slab_pages.large_bytes, (uint64_t)bytes, __ATOMIC_RELAXED);
}

/* The start of the giant that has this address behind its marks, or NULL. */
static const char *giant_with(const void *ptr)
{
	for (const struct segment *giant = segment_giants; giant; giant = giant->next_room) {
		const char *start = segment_start(giant);

		if ((const char *)ptr > start && (const char *)ptr < start + giant->mapped)
			return start;
	}
	return NULL;
}

struct slab *segment_find_large(const void *ptr)
{
	const char *start = segment_start(ptr);
	struct slab *slab = NULL;

	segment_lock();
	while (segment_mark_of(start) == SEGMENT_MARK_LARGE_REST)
		start -= SEGMENT_SIZE;
	if (segment_mark_of(start) == SEGMENT_MARK_NONE)
		start = giant_with(ptr);
	if (start && segment_mark_of(start) == SEGMENT_MARK_LARGE &&
	    (const char *)ptr < start + segment_of(start)->mapped)
		slab = slab_of(start);
	segment_unlock();
	return slab;
}
