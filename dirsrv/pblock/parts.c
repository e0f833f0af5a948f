/* SPDX-License-Identifier: MIT */
/*
 * The parts of the split pblock, and their caches.
 *
 * The caches are created when the library is loaded, so that no call has to check for them.
 * If that failed, no pblock can be created.
 */
#include <errno.h>
#include <string.h>

#include "split.h"

const union pblock_absent pblock_absent;
static const struct pblock_rare pblock_absent_rare = {
	.part = {ABSENT, ABSENT, ABSENT, ABSENT, ABSENT, ABSENT, ABSENT, ABSENT, ABSENT, ABSENT,
		 ABSENT, ABSENT},
};
_Static_assert(PBLOCK_RARE == 12, "each of them is absent");
#define ABSENT_RARE ((void *)&pblock_absent_rare)

struct slab_cache *pblock_caches[PBLOCK_PARTS];

const struct pblock_part_type pblock_part_types[PBLOCK_PARTS] = {
	[PBLOCK_PART_rare] = {"pblock_rare", sizeof(struct pblock_rare)},
#define PBLOCK_PART(name) [PBLOCK_PART_##name] = {"pblock_" #name, sizeof(struct pblock_##name)},
#define PBLOCK_PARAMETER(number, name, kind, group, part, preset)
#define PBLOCK_END(part)
#include "parameters.def"
#undef PBLOCK_PART
#undef PBLOCK_PARAMETER
#undef PBLOCK_END
};

static int construct_top(void *obj, void *arg)
{
	Slapi_PBlock *pb = obj;

	(void)arg;
	memset(pb, 0, sizeof(*pb));
	pb->part[PBLOCK_PART_top] = pb;
	pb->part[PBLOCK_PART_operation] = ABSENT;
	pb->part[PBLOCK_PART_rare] = ABSENT_RARE;
	return 0;
}

static int construct_rare(void *obj, void *arg)
{
	(void)arg;
	memcpy(obj, ABSENT_RARE, sizeof(struct pblock_rare));
	return 0;
}

static int construct_part(void *obj, void *arg)
{
	const struct pblock_part_type *type = arg;

	memset(obj, 0, type->size);
	return 0;
}

static void make_cache(enum pblock_part part)
{
	const struct pblock_part_type *type = &pblock_part_types[part];
	struct slab_cache_args args = {
		.align = type->size % CACHE_LINE ? _Alignof(uint64_t) : CACHE_LINE,
		.ctor = part == PBLOCK_PART_rare ? construct_rare : construct_part,
		.arg = (void *)type,
	};

	pblock_caches[part] = slab_cache_create(type->cache, type->size, &args, 0);
}

__attribute__((constructor)) static void make_caches(void)
{
	struct slab_cache_args args = {.align = CACHE_LINE, .ctor = construct_top};

	pblock_caches[PBLOCK_PART_top] =
		slab_cache_create("pblock", sizeof(Slapi_PBlock), &args, 0);
	for (enum pblock_part part = PBLOCK_PART_operation; part < PBLOCK_PARTS; part++)
		make_cache(part);
}

void *pblock_no_cache(void)
{
	errno = ENOMEM;
	return NULL;
}

/* The place of the pointer to a part: in the pblock, or in `rare`. */
static void **place_of(Slapi_PBlock *pb, enum pblock_part part)
{
	struct pblock_rare *rare = pb->part[PBLOCK_PART_rare];

	return part < PBLOCK_DIRECT ? &pb->part[part] : &rare->part[part - PBLOCK_DIRECT];
}

void *pblock_part_add(Slapi_PBlock *pb, enum pblock_part part)
{
	bool needs_rare = part >= PBLOCK_DIRECT && !(pb->present & (1u << PBLOCK_PART_rare));

	if (needs_rare && !pblock_part_add(pb, PBLOCK_PART_rare))
		return NULL;
	void *new = pblock_part_alloc(part);

	if (!new)
		return NULL; /* a new `rare` may stay: its pointers lead to the absent part */
	*place_of(pb, part) = new;
	pb->present |= 1u << part;
	return new;
}

void pblock_part_remove(Slapi_PBlock *pb, enum pblock_part part)
{
	void **place = place_of(pb, part), *old = *place;

	*place = part == PBLOCK_PART_rare ? ABSENT_RARE : ABSENT;
	if (part != PBLOCK_PART_rare)
		memset(old, 0, pblock_part_types[part].size);
	slab_free(pblock_caches[part], old);
}
