/* SPDX-License-Identifier: MIT */
/*
 * Lists of free slabs, split and joined as the blocks of a buddy allocator.
 *
 * A slab is an aligned power of two of bytes. So the halves of a free slab are slabs, and neighbours
 * that fill an aligned range are one larger slab. A slab is split or joined when a slab of another
 * size is needed, not when it is freed: most memory serves the same size again.
 *
 * A descriptor serves slabs of any size, but has room for the objects of its class. A free slab needs
 * no objects, so a piece has the smallest descriptor, until a cache takes it (free_slabs.c).
 */
#include "pages/free_lists.h"
#include "base/compiler.h"
#include "pages/account.h"
#include "pages/idle.h"
#include "pages/segment.h"

#include <slab/stats.h>

/* Slabs join that are at least 1/2^JOIN_ORDERS of the new one. */
#define JOIN_ORDERS 5u
/* The number of slabs of a list whose neighbours are looked at: less work than to populate a slab.
 * If none of them can join, the next attempt follows after as many frees. */
#define JOIN_TRIES 256u

/* Most machines have only node 0. */
static SLAB_EARLY struct slab_queue lists_of_node0[SLAB_SHIFTS];
static struct slab_queue lists[SLAB_SHIFTS][SLAB_STATS_MAX_NODES];

static SLAB_EARLY uint32_t freed; /* slabs that were listed so far */
static SLAB_EARLY uint32_t
	join_from[SLAB_SHIFTS]; /* the value of `freed` from which on slabs may join again */

struct slab_queue *free_list(unsigned shift, unsigned node)
{
	const unsigned i = shift - SLAB_SHIFT_MIN;

	return node ? &lists[i][node] : &lists_of_node0[i];
}

/* Free the units and the descriptor of a slab that holds no memory. */
static void dissolve(struct slab *slab)
{
	segment_lead_to(slab, &slab_none);
	segment_put_range(slab->cpu.base, slab->shift);
	metadata_put(slab, slab->idle_since ? slab->idle_since : decay_epoch() + 1);
}

/* Has this slab been idle for at least as long as the one at the end of the list? */
static bool is_oldest(const struct slab_queue *list, const struct slab *slab)
{
	const struct slab *last = list->last;

	if (!last || slab->idle_since == IDLE_PURGED)
		return true;
	return last->idle_since != IDLE_PURGED &&
	       (int32_t)(slab->idle_since - last->idle_since) <= 0;
}

/* Decay takes slabs from the end of the list up to the first that is not ripe. So a slab that was
 * idle before it was freed goes to the end only if none there is older. */
void free_list_add(struct slab *slab)
{
	struct slab_queue *list = free_list(slab->shift, slab->node);
	size_t held = slab_held(slab);

	if (!held) {
		dissolve(slab);
		return;
	}
	slab_pages.free_slab_bytes += held;
	slab->is_free = true;
	freed++;
	if (slab->idle_since && is_oldest(list, slab)) {
		queue_add_tail(list, slab);
		return;
	}
	/* The next pass is the first that can find the slab idle. */
	if (!slab->idle_since)
		slab_set_idle_since(slab, decay_epoch() + 1);
	queue_add_head(list, slab);
}

void free_list_remove(struct slab *slab)
{
	queue_remove(free_list(slab->shift, slab->node), slab);
	slab_pages.free_slab_bytes -= slab_held(slab);
	slab->is_free = false;
}

const struct geometry *free_piece_geometry(unsigned shift)
{
	return metadata_geometry(shift, 1, 0);
}

struct slab *free_describe(const struct geometry *geometry, unsigned node, char *base,
			   uint32_t populated)
{
	struct slab *slab = metadata_take(geometry->metadata, node);

	slab->geometry = geometry;
	slab->shift = (uint8_t)geometry->slab_shift;
	slab->cpu.base = base;
	slab->populated = populated;
	segment_lead_to(slab, slab);
	return slab;
}

/* Let a free slab that is on no list have another size. All of it up to `populated` may hold memory:
 * pages that it lacks are known no longer. */
static void resize(struct slab *slab, unsigned shift, uint32_t populated)
{
	slab->geometry = metadata_geometry_of(slab->geometry->metadata, shift);
	slab->shift = (uint8_t)shift;
	slab->populated = populated;
	slab_set_unbacked(slab, 0, 0);
}

/* --- splitting --- */

/* The smallest slab that is larger; NULL: there is none. */
static struct slab *find_larger(unsigned shift, unsigned node)
{
	struct slab *slab = NULL;

	while (!slab && ++shift <= LARGE_SHIFT_MAX)
		slab = free_list(shift, node)->first;
	return slab;
}

/* Split a listed slab, and list its halves, the lower one first. There is a descriptor for a piece
 * and no free slab of this size. */
static void split(struct slab *slab)
{
	const unsigned shift = slab->shift - 1u;
	const uint32_t half = UINT32_C(1) << shift, populated = slab->populated;
	struct slab *upper;

	free_list_remove(slab);
	resize(slab, shift, populated < half ? populated : half);
	upper = free_describe(free_piece_geometry(shift), slab->node, slab->cpu.base + half,
			      populated > half ? populated - half : 0);
	slab_set_idle_since(upper, slab->idle_since);
	free_list_add(slab);
	free_list_add(upper);
}

/* --- joining --- */

static bool may_join(const struct slab *slab, unsigned shift)
{
	return slab->is_free && slab_held(slab) == slab_bytes(slab) &&
	       slab->shift + JOIN_ORDERS >= shift;
}

/* Does the aligned range of 1 << shift bytes around the slab consist of free slabs? */
static bool all_may_join(const struct slab *slab, unsigned shift)
{
	const size_t bytes = (size_t)1 << shift;
	char *start = (char *)((uintptr_t)slab->cpu.base & ~(bytes - 1));

	for (char *at = start; at < start + bytes; at += slab_bytes(slab)) {
		slab = slab_of(at);
		if (!may_join(slab, shift))
			return false;
	}
	return true;
}

static struct slab *join_around(const struct slab *slab, unsigned shift)
{
	const size_t bytes = (size_t)1 << shift;
	char *start = (char *)((uintptr_t)slab->cpu.base & ~(bytes - 1)), *at;
	struct slab *first = slab_of(start), *other;

	free_list_remove(first);
	for (at = start + slab_bytes(first); at < start + bytes; at += slab_bytes(other)) {
		other = slab_of(at);
		free_list_remove(other);
		metadata_put(other, decay_epoch() + 1);
	}
	resize(first, shift, (uint32_t)bytes);
	segment_lead_to(first, first);
	free_list_add(first);
	return first;
}

/* Join smaller slabs to one of this size; NULL: no neighbours are free. */
static struct slab *join(unsigned shift, unsigned node)
{
	uint32_t *again_from = &join_from[shift - SLAB_SHIFT_MIN], tries = 0;

	if ((int32_t)(freed - *again_from) < 0)
		return NULL;
	for (unsigned n = 1; n <= JOIN_ORDERS && shift >= SLAB_SHIFT_MIN + n; n++) {
		struct slab *slab = free_list(shift - n, node)->first;

		for (unsigned i = 0; slab && i < JOIN_TRIES; i++, tries++, slab = slab->next)
			if (all_may_join(slab, shift))
				return join_around(slab, shift);
	}
	*again_from = freed + tries;
	return NULL;
}

struct slab *free_list_find(unsigned shift, unsigned node, enum missing *ret_missing)
{
	struct slab *larger;

	*ret_missing = MISSING_NOTHING;
	while (!free_list(shift, node)->first && (larger = find_larger(shift, node))) {
		const struct geometry *piece = free_piece_geometry(larger->shift - 1u);

		if (!piece || !metadata_has(piece->metadata, node)) {
			*ret_missing = MISSING_PIECES;
			return NULL;
		}
		split(larger);
	}
	if (free_list(shift, node)->first)
		return free_list(shift, node)->first;
	return join(shift, node);
}
