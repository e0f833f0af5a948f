/* SPDX-License-Identifier: MIT */
/*
 * Large allocations. Each is a mapping of its own behind a segment's head, so its address leads to
 * a descriptor as any other address does. Only the first 16 MiB have a table, which is enough: the
 * allocation starts there.
 */
#include <errno.h>

#include "base/round.h"
#include "pages/account.h"
#include "pages/os.h"
#include "pages/segment.h"

/* Where the only descriptor lies. */
#define DESCRIPTOR_OFFSET ((SEGMENT_HEAD_END + CPU_CACHELINE - 1) & ~(size_t)(CPU_CACHELINE - 1))

static size_t large_offset(size_t align)
{
	return round_up(os_pages(DESCRIPTOR_OFFSET + sizeof(struct slab)), align ? align : 1);
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

/* From now on the allocation has `mapped` bytes (`before` bytes until now). Threads that look up any
 * address see either. */
static void set_mapped(struct segment *segment, size_t before, size_t mapped)
{
	segment_lock();
	segment->mapped = mapped;
	segment_mark_large(segment_start(segment), before, mapped);
	segment_unlock();
}

/* Fill in the head and the only descriptor; all addresses lead to that. */
static struct slab *format_large(char *start, size_t bytes, size_t align)
{
	struct segment *segment = (struct segment *)(start + SEGMENT_HEAD_OFFSET);
	struct slab *slab = (struct slab *)(start + DESCRIPTOR_OFFSET);

	*segment = (struct segment){
		.magic = SEGMENT_MAGIC,
		.mapped = large_mapped(bytes, align),
		.base = start + large_offset(align),
	};
	for (unsigned u = 0; u < SEGMENT_UNITS; u++)
		segment_table(segment)[u] = slab;
	slab->cpu.owner = CPU_NONE;
	slab->cpu.base = segment->base;
	slab->remote = REMOTE_OWNED;
	slab->large = bytes;
	return slab;
}

/* Map a large allocation with its guard in front; NULL and ENOMEM. */
static char *map_large(size_t mapped)
{
	char *start = os_map(mapped, SEGMENT_SIZE);

	if (!start || os_protect(start, SEGMENT_HEAD_OFFSET, false))
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
	if (!account_charge(NULL, counted))
		return NULL;
	start = map_large(mapped);
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

bool segment_resize_large(struct slab *slab, size_t bytes)
{
	struct segment *segment = segment_of(slab);
	size_t mapped = os_pages((size_t)(segment->base - segment_start(segment)) + bytes);

	size_t before = segment->mapped, more = mapped > before ? mapped - before : 0;

	if (mapped < bytes || (more && !account_charge(NULL, more)))
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
	segment_count_large((long)(mapped - before));
	account_release(NULL, before + more - mapped);
	return true;
}

void segment_count_large(long bytes)
{
	__atomic_fetch_add(&slab_pages.large_bytes, (uint64_t)bytes, __ATOMIC_RELAXED);
}
