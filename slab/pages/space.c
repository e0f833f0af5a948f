/* SPDX-License-Identifier: MIT */
/* The address space of caches with SLAB_APART: their vacant slabs. */
#include "pages/space.h"
#include "base/compiler.h"
#include "pages/free_slabs.h"
#include "pages/os.h"

/* The most vacant slabs whose addresses are inaccessible. Each may split a mapping into three, and
 * the kernel allows a process 65,530. Those of further ones read as zeros. */
#define SEALED_MAX 8192u
static SLAB_EARLY unsigned sealed; /* atomic */

static struct slab **list_of(struct space *space, unsigned shift, unsigned node, uint32_t layout)
{
	return &space->vacant[(shift + node + layout) * 2654435761u >> 28];
}

/* The link to a vacant slab, or to NULL. */
static struct slab **find(const struct slab_needs *needs)
{
	struct slab **at = list_of(needs->space, needs->shift, needs->node, needs->layout);

	while (*at && ((*at)->shift != needs->shift || (*at)->node != needs->node ||
		       (*at)->layout != needs->layout || (*at)->side != needs->side))
		at = &(*at)->next;
	return at;
}

bool space_has_vacant(const struct slab_needs *needs)
{
	return *find(needs);
}

struct slab *space_take_vacant(const struct slab_needs *needs)
{
	struct slab **at = find(needs), *slab = *at;

	if (slab)
		*at = slab->next;
	return slab;
}

static void put(struct space *space, struct slab *slab)
{
	struct slab **first = list_of(space, slab->shift, slab->node, slab->layout);

	segment_lock();
	slab->next = *first;
	*first = slab;
	segment_unlock();
}

bool space_has_room(const struct space *space, unsigned shift)
{
	return !space->limit || space->bytes + ((uint64_t)1 << shift) <= space->limit;
}

void space_grow(struct space *space, unsigned shift)
{
	__atomic_store_n(&space->bytes, space->bytes + ((uint64_t)1 << shift), __ATOMIC_RELAXED);
}

static void seal(struct slab *slab)
{
	if (slab->sealed)
		return;
	slab->sealed = __atomic_add_fetch(&sealed, 1, __ATOMIC_RELAXED) <= SEALED_MAX &&
		       os_protect(slab->base, slab_bytes(slab), false);
	if (!slab->sealed)
		__atomic_fetch_sub(&sealed, 1, __ATOMIC_RELAXED);
}

bool space_open(struct space *space, struct slab *slab)
{
	if (!slab->sealed)
		return true;
	if (!os_protect(slab->base, slab_bytes(slab), true)) {
		put(space, slab);
		return false;
	}
	__atomic_fetch_sub(&sealed, 1, __ATOMIC_RELAXED);
	return true;
}

void space_discard(struct slab *slab)
{
	segment_discard(slab);
	seal(slab);
}

void space_free_slab(struct space *space, struct slab *slab, uint32_t layout)
{
	segment_set_user(slab, NULL);
	space_discard(slab);
	slab->layout = layout;
	put(space, slab);
}
