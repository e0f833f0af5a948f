/* SPDX-License-Identifier: MIT */
/*
 * The scan of slabs: reads the descriptors of a process segment by segment, and calls a function
 * for each slab of the loaded caches.
 */
#include "bug/layout.h"
#include "inspect/process.h"
#include "inspect/walk.h"

#include <errno.h>

#define SLABS_MAX (1u << (SEGMENT_SHIFT - SLAB_SHIFT_MIN))
#define DESCRIPTORS_MAX 16u /* read at once; they are on the stack, which may be small */

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

/* Some descriptors of a segment, from number `first` on, with their struct slab_debug. */
struct descriptors {
	struct segment head;
	unsigned first, count;
	struct slab slab[DESCRIPTORS_MAX];
	struct slab_debug debug[DESCRIPTORS_MAX];
};

static unsigned free_on_stack(const struct inspection *in, const struct slab *slab)
{
	return in->links ? (unsigned)(slab->freelist.local >> 16 & 0xffff)
			 : (uint32_t)slab->freelist.local;
}

static uint32_t owner_of(const struct inspection *in, const struct slab *slab)
{
	return in->links ? (uint32_t)(slab->freelist.local >> 32) : (uint32_t)slab->cpu.owner;
}

/* The number of objects in use, from copies; for tagged slabs as debug_used(). */
static unsigned used_of(const struct inspection *in, const struct inspect_slab *seen)
{
	const struct slab *slab = &seen->slab;
	unsigned late = slab->remote >> 16 & 0xffff;
	unsigned all = seen->tagged ? slab->legacy_used : slab->initialized;
	unsigned unused = seen->tagged ? late : free_on_stack(in, slab) + late;

	if (seen->tagged && slab->debug)
		return seen->debug.used;
	return unused < all ? all - unused : 0;
}

/* debug_has_present_layout() for copies. */
static bool has_present_layout(const struct slab_cache *copy, const struct slab_debug *debug)
{
	return copy->debug_flags & DEBUG_FLAGS_SLAB &&
	       debug->debug_flags == debug_flags_of_layout(copy->debug_flags) &&
	       debug->object_size == copy->object_size;
}

static void see(const struct inspection *in, const struct inspect_cache *cache,
		const struct descriptors *from, unsigned i, struct inspect_slab *seen)
{
	*seen = (struct inspect_slab){
		.descriptor = (uintptr_t)from->head.first +
			      (uint64_t)(from->first + i) * from->head.stride,
		.address = (uintptr_t)from->slab[i].cpu.base,
		.bytes = UINT64_C(1) << from->head.slab_shift,
		.side = from->head.side,
		.populated = slab_held(&from->slab[i]),
		.slab = from->slab[i],
		.tagged = (uintptr_t)from->slab[i].cpu.user & SLAB_TAG_DEBUG,
		.owner = owner_of(in, &from->slab[i]),
	};
	if (seen->tagged && seen->slab.debug)
		seen->debug = from->debug[i];
	seen->guarded = seen->slab.debug && seen->debug.guarded;
	seen->is_legacy = seen->tagged && !seen->guarded &&
			  (!seen->slab.debug || !has_present_layout(cache->copy, &seen->debug));
	seen->used = used_of(in, seen);
}

static int read_head(const struct inspection *in, uint64_t address, struct descriptors *to)
{
	int error = inspect_read(in, address, sizeof(to->head), &to->head);
	const struct segment *head = &to->head;

	if (!error && (head->magic != SEGMENT_MAGIC || head->slabs > SLABS_MAX ||
		       head->stride % 8 || head->slab_shift > SEGMENT_SHIFT))
		error = -EFAULT;
	to->first = to->count = 0;
	return error;
}

/* Read the next descriptors of the segment. */
static int read_descriptors(const struct inspection *in, struct descriptors *to)
{
	const struct segment *head = &to->head;
	unsigned first = to->first + to->count, left = head->slabs - first;
	uint64_t address = (uintptr_t)head->first + (uint64_t)first * head->stride;
	int error;

	to->first = first;
	to->count = left < DESCRIPTORS_MAX ? left : DESCRIPTORS_MAX;
	error = inspect_read_pieces(in, address, sizeof(struct slab), head->stride, to->count,
				    to->slab);
	if (!error && head->side && to->count)
		error = inspect_read_pieces(in, (uintptr_t)to->slab[0].debug,
					    sizeof(struct slab_debug), head->side, to->count,
					    to->debug);
	return error;
}

/* May the segment have slabs of the loaded caches? If one cache is loaded, its geometry tells. */
static bool is_of_interest(const struct inspection *in, const struct segment *head)
{
	return in->count != 1 || head->side || head->geometry == in->caches[0].copy->geometry;
}

typedef void see_slab(struct inspection *in, struct inspect_cache *cache,
		      const struct inspect_slab *slab, void *arg);

/* Call fn for the descriptors that were read and belong to a loaded cache. */
static void see_each(struct inspection *in, const struct descriptors *from, see_slab *fn, void *arg)
{
	struct inspect_slab seen;

	for (unsigned i = 0; i < from->count; i++) {
		uint64_t user = (uintptr_t)from->slab[i].cpu.user & ~SLAB_TAGS;
		struct inspect_cache *cache = user ? cache_at(in, user) : NULL;

		if (!cache)
			continue;
		see(in, cache, from, i, &seen);
		fn(in, cache, &seen, arg);
	}
}

int inspect_each_slab(struct inspection *in, see_slab *fn, void *arg)
{
	uint64_t address = (uintptr_t)in->pages.segments;
	struct walk walk = {.remembered = 0};
	struct descriptors from;

	for (; address; address = (uintptr_t)from.head.next) {
		int error = goes_round(&walk, address) ? -EFAULT : read_head(in, address, &from);

		if (error)
			return error;
		in->metadata_bytes += from.head.head_bytes;
		while (is_of_interest(in, &from.head) &&
		       from.first + from.count < from.head.slabs) {
			error = read_descriptors(in, &from);
			if (error)
				return error;
			see_each(in, &from, fn, arg);
		}
	}
	return 0;
}
