/* SPDX-License-Identifier: MIT */
/*
 * The scan of slabs: reads the descriptors of a process segment by segment, and calls a function
 * for each slab of the loaded caches.
 */
#include "debug/layout.h"
#include "process.h"
#include "regions.h"
#include "walk.h"

#include <errno.h>

/* Read at once. */
#define DESCRIPTORS_MAX 64u
#define ENTRIES_MAX SEGMENT_UNITS

static struct inspect_cache *last_found(const struct inspection *in)
{
	return in->found < in->count ? &in->caches[in->found] : NULL;
}

/* The loaded cache at an address, or NULL. Neighbouring slabs often have the same cache, so the
 * cache that was found last is tried first. */
static struct inspect_cache *cache_at(struct inspection *in, uint64_t address)
{
	struct inspect_cache *cache = last_found(in);

	if (cache && cache->address == address)
		return cache;
	if (in->count < 2)
		return NULL;
	in->found = inspect_number_at(in, address);
	return last_found(in);
}

/* The first members of a segment's head. Its maps are not read: they are large. */
struct head {
	uint64_t magic, next, mapped;
};
static_assert(offsetof(struct head, next) == offsetof(struct segment, next) &&
		      offsetof(struct head, mapped) == offsetof(struct segment, mapped),
	      "as in struct segment");

/* Some descriptors of a segment, `stride` bytes apart, with their struct slab_debug. */
__extension__ struct descriptors {
	struct head head;
	uint64_t entry[ENTRIES_MAX]; /* of the segment's table, the last ones read */
	unsigned unit; /* the next entry to look at */
	uint64_t before; /* the entry before that: the units of a slab are neighbours */
	unsigned count;
	uint64_t first, stride;
	struct slab slab[DESCRIPTORS_MAX];
	struct slab_debug debug[DESCRIPTORS_MAX];
};

/* debug_is_profiled() for copies. */
static bool is_profiled(const struct inspect_slab *seen)
{
	return seen->slab.debug && seen->debug.debug_flags & DEBUG_FLAG_PROFILE;
}

static void see(const struct inspect_cache *cache, const struct descriptors *from, unsigned i,
		struct inspect_slab *seen)
{
	*seen = (struct inspect_slab){
		.descriptor = from->first + i * from->stride,
		.address = (uintptr_t)from->slab[i].base,
		.bytes = UINT64_C(1) << from->slab[i].shift,
		.side = from->slab[i].side,
		.size = cache->copy->size,
		.populated = slab_held(&from->slab[i]),
		.slab = from->slab[i],
		.tagged = (uintptr_t)from->slab[i].user & SLAB_TAG_DEBUG,
		.used = from->slab[i].initialized > from->slab[i].free
				? from->slab[i].initialized - from->slab[i].free
				: 0,
	};
	if (seen->tagged && seen->slab.debug) {
		seen->debug = from->debug[i];
		seen->size = seen->debug.size;
		seen->used = seen->debug.used;
	}
	seen->guarded = seen->slab.debug && seen->debug.guarded;
	seen->is_legacy =
		seen->tagged && !seen->guarded && !is_profiled(seen) &&
		(!seen->slab.debug || !debug_has_present_layout(cache->copy, &seen->debug));
}

static int read_head(const struct inspection *in, uint64_t address, struct descriptors *to)
{
	int error = inspect_read(in, address, sizeof(to->head), &to->head);

	if (!error && to->head.magic != SEGMENT_MAGIC)
		error = -EFAULT;
	to->unit = 0;
	to->before = 0;
	return error;
}

/* The next entry of the table that leads to another slab than the one before; 0: there is none. The
 * caller moves on to the unit behind it. */
static int next_entry(const struct inspection *in, uint64_t segment, struct descriptors *from,
		      uint64_t *ret_entry)
{
	int error = 0;

	*ret_entry = 0;
	for (; from->unit < SEGMENT_UNITS; from->unit++) {
		unsigned i = from->unit % ENTRIES_MAX;

		if (!i)
			error = inspect_read(in,
					     segment - SEGMENT_HEAD_OFFSET + SEGMENT_TABLE_OFFSET +
						     from->unit * sizeof(uint64_t),
					     sizeof(from->entry), from->entry);
		if (error)
			return error;
		if (from->entry[i] && from->entry[i] != from->before) {
			*ret_entry = from->entry[i];
			return 0;
		}
		from->before = from->entry[i];
	}
	return 0;
}

static void step(struct descriptors *from, uint64_t entry)
{
	from->before = entry;
	from->unit++;
}

/* Find descriptors at equal distances, which can be read in one call. */
static int find_descriptors(const struct inspection *in, uint64_t segment, struct descriptors *to)
{
	uint64_t entry;
	int error = next_entry(in, segment, to, &entry);

	to->first = entry;
	to->stride = sizeof(struct slab);
	for (to->count = 0; !error && entry && to->count < DESCRIPTORS_MAX; to->count++) {
		if (to->count == 1 && entry > to->first)
			to->stride = entry - to->first;
		if (entry != to->first + to->count * to->stride)
			return 0;
		step(to, entry);
		error = next_entry(in, segment, to, &entry);
	}
	return error;
}

/* Read the next descriptors of the segment. */
static int read_descriptors(const struct inspection *in, uint64_t segment, struct descriptors *to)
{
	int error = find_descriptors(in, segment, to);

	if (!error)
		error = inspect_read_pieces(in, to->first, sizeof(struct slab), to->stride,
					    to->count, to->slab);
	for (unsigned i = 0; i < to->count && !error; i++) {
		const struct slab *slab = &to->slab[i];

		if (slab->shift > SEGMENT_SHIFT)
			error = -EFAULT;
		else if ((uintptr_t)slab->user & SLAB_TAG_DEBUG && slab->debug)
			error = inspect_read(in, (uintptr_t)slab->debug, sizeof(struct slab_debug),
					     &to->debug[i]);
	}
	return error;
}

typedef void see_slab(struct inspection *in, struct inspect_cache *cache,
		      const struct inspect_slab *slab, void *arg);

/* Call fn for the descriptors that were read and belong to a loaded cache. */
static void see_each(struct inspection *in, const struct descriptors *from, see_slab *fn, void *arg)
{
	struct inspect_slab seen;

	for (unsigned i = 0; i < from->count; i++) {
		uint64_t user = (uintptr_t)from->slab[i].user & ~SLAB_TAGS;
		struct inspect_cache *cache = user ? cache_at(in, user) : NULL;

		if (!cache)
			continue;
		see(cache, from, i, &seen);
		fn(in, cache, &seen, arg);
	}
}

/* What a scan calls: for slabs of caches, for large allocations, and for segments. */
struct scan {
	see_slab *slab;
	see_region *region;
	void *arg;
};

static void see_large(const struct descriptors *from, const struct scan *scan)
{
	for (unsigned i = 0; i < from->count; i++) {
		const struct slab *slab = &from->slab[i];

		/* A debug slab that is being made has `debug` in its place, an address. */
		if (slab->large && slab->large <= slab_bytes(slab) && !slab->user)
			scan->region(REGION_LARGE, (uintptr_t)slab->base, slab->large, scan->arg);
	}
}

/* Read the descriptors of a segment, some at a time. */
static int scan_segment(struct inspection *in, uint64_t address, struct descriptors *from,
			const struct scan *scan)
{
	int error;

	do {
		error = read_descriptors(in, address, from);
		if (!error && scan->slab)
			see_each(in, from, scan->slab, scan->arg);
		if (!error && scan->region)
			see_large(from, scan);
	} while (!error && from->count);
	return error;
}

static int scan_segments(struct inspection *in, const struct scan *scan)
{
	uint64_t address = (uintptr_t)in->pages.segments;
	struct walk walk = {.remembered = 0};
	struct descriptors from;
	int error = 0;

	for (; address && !error; address = from.head.next) {
		error = goes_round(&walk, address) ? -EFAULT : read_head(in, address, &from);
		if (!error && scan->region)
			scan->region(REGION_SEGMENT, address - SEGMENT_HEAD_OFFSET,
				     from.head.mapped, scan->arg);
		if (!error)
			error = scan_segment(in, address, &from, scan);
	}
	return error;
}

int inspect_each_slab(struct inspection *in, see_slab *fn, void *arg)
{
	return scan_segments(in, &(struct scan){.slab = fn, .arg = arg});
}

int inspect_each_listed_segment(struct inspection *in, see_region *fn, void *arg)
{
	return scan_segments(in, &(struct scan){.region = fn, .arg = arg});
}
