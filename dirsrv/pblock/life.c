/* SPDX-License-Identifier: MIT */
/* Creating, clearing and destroying the split pblock. */
#include <string.h>

#include "split.h"

/* The parts that may contain strings that the pblock owns. */
enum {
	OWNING_PARTS = 0
#define PBLOCK_PART(name)
#define PBLOCK_PARAMETER(number, name, kind, group, part, preset)                                  \
	| (uint32_t)(PBLOCK_##kind >= PBLOCK_OWNED) << PBLOCK_PART_##part
#define PBLOCK_END(part)
#include "parameters.def"
#undef PBLOCK_PARAMETER
};

_Static_assert(!(OWNING_PARTS & ((1u << PBLOCK_DIRECT) - 1)), "none but rare parts own strings");

/* Free the strings that a pblock owns, and forget them. */
static void free_owned(Slapi_PBlock *pb)
{
#define PBLOCK_PARAMETER(number, name, kind, group, part, preset)                                  \
	if (PBLOCK_##kind >= PBLOCK_OWNED)                                                         \
		pblock_value_free(pblock_stored(pb, (number)));
#include "parameters.def"
}

/* From the last part to the first: `rare` is freed after the parts that it points to. */
static __attribute__((noinline)) void remove_rare(Slapi_PBlock *pb)
{
	uint32_t left = pb->present >> PBLOCK_PART_rare;

	if (pb->present & OWNING_PARTS)
		free_owned(pb);
	while (left) {
		unsigned last = 31 - (unsigned)__builtin_clz(left);

		pblock_part_remove(pb, PBLOCK_PART_rare + last);
		left &= ~(1u << last);
	}
}

static __attribute__((noinline)) void remove_parts(Slapi_PBlock *pb)
{
	if (pb->present >> PBLOCK_PART_rare)
		remove_rare(pb);
	if (pb->present & (1u << PBLOCK_PART_operation))
		pblock_part_remove_operation(pb);
	pb->present = 0;
}

/* Return the pblock to its constructed state. */
static inline void clear(Slapi_PBlock *pb)
{
	if (pb->present)
		remove_parts(pb);
	memset(&pb->top, 0, sizeof(pb->top));
}

Slapi_PBlock *pblock_make(void)
{
	return pblock_part_alloc(PBLOCK_PART_top);
}

static __attribute__((noinline)) Slapi_PBlock *new_recorded(void)
{
	Slapi_PBlock *pb = pblock_make();

	if (pb)
		pblock_record(CALL_NEW, pb, 0);
	return pb;
}

Slapi_PBlock *slapi_pblock_new(void)
{
	if (pblock_is_recording())
		return new_recorded();
	return pblock_part_alloc(PBLOCK_PART_top);
}

void slapi_pblock_init(Slapi_PBlock *pb)
{
	if (!pb)
		return;
	if (pblock_is_recording())
		pblock_record(CALL_INIT, pb, 0);
	clear(pb);
}

static __attribute__((noinline)) void destroy_slow(Slapi_PBlock *pb)
{
	if (pblock_is_recording())
		pblock_record(CALL_DESTROY, pb, 0);
	clear(pb);
	slab_free(pblock_caches[PBLOCK_PART_top], pb);
}

void slapi_pblock_destroy(Slapi_PBlock *pb)
{
	if (PBLOCK_UNLIKELY(!pb))
		return;
	if (PBLOCK_UNLIKELY(pb->present) || pblock_is_recording()) {
		destroy_slow(pb);
		return;
	}
	memset(&pb->top, 0, sizeof(pb->top));
	slab_free(pblock_caches[PBLOCK_PART_top], pb);
}

size_t slab_pblock_size(const Slapi_PBlock *pb)
{
	size_t size = pb ? sizeof(*pb) : 0;

	for (uint32_t present = pb ? pb->present : 0; present; present &= present - 1)
		size += pblock_part_types[__builtin_ctz(present)].size;
	return size;
}
