/* SPDX-License-Identifier: MIT */
/*
 * The life of the split pblock and its parts, and their caches.
 *
 * The caches are made when the library is loaded, so that nobody has to ask later
 * whether they are there. Where that failed, no pblock can be made.
 */
#include <errno.h>
#include <string.h>

#include "v3.h"

const union pblock_absent pblock_absent;

#define ABSENT ((void *)&pblock_absent)
static const struct pblock_rare pblock_absent_rare = {
	.part = {ABSENT, ABSENT, ABSENT, ABSENT, ABSENT, ABSENT, ABSENT, ABSENT, ABSENT, ABSENT,
		 ABSENT, ABSENT},
};
_Static_assert(PBLOCK_RARE == 12, "each of them is absent");
#define ABSENT_RARE ((void *)&pblock_absent_rare)

#define CACHE_LINE 64

static struct slab_cache *caches[PBLOCK_PARTS];

static const struct part_type {
	const char *cache;
	size_t size;
} part_types[PBLOCK_PARTS] = {
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
	const struct part_type *type = arg;

	memset(obj, 0, type->size);
	return 0;
}

static void make_cache(enum pblock_part part)
{
	const struct part_type *type = &part_types[part];
	struct slab_cache_args args = {
		.align = type->size % CACHE_LINE ? _Alignof(uint64_t) : CACHE_LINE,
		.ctor = part == PBLOCK_PART_rare ? construct_rare : construct_part,
		.arg = (void *)type,
	};

	caches[part] = slab_cache_create(type->cache, type->size, &args, 0);
}

__attribute__((constructor)) static void make_caches(void)
{
	struct slab_cache_args args = {.align = CACHE_LINE, .ctor = construct_top};

	caches[PBLOCK_PART_top] = slab_cache_create("pblock", sizeof(Slapi_PBlock), &args, 0);
	for (enum pblock_part part = PBLOCK_PART_operation; part < PBLOCK_PARTS; part++)
		make_cache(part);
}

/* With errno ENOMEM also where a cache could not be made. */
static __attribute__((noinline)) void *no_cache(void)
{
	errno = ENOMEM;
	return NULL;
}

static inline void *allocate(enum pblock_part part)
{
	return PBLOCK_LIKELY(caches[part]) ? slab_alloc(caches[part]) : no_cache();
}

/* Where the pointer to a part is. */
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
	void *new = allocate(part);

	if (!new)
		return NULL; /* a `rare` without parts reads like none */
	*place_of(pb, part) = new;
	pb->present |= 1u << part;
	return new;
}

static void remove_part(Slapi_PBlock *pb, enum pblock_part part)
{
	void **place = place_of(pb, part), *old = *place;

	*place = part == PBLOCK_PART_rare ? ABSENT_RARE : ABSENT;
	if (part != PBLOCK_PART_rare)
		memset(old, 0, part_types[part].size);
	slab_free(caches[part], old);
}

/* The part that most pblocks with parts have, and often the only one. A line at a time:
 * the compiler makes stores of that, and of the whole a string instruction that takes
 * longer to start. */
static void remove_operation(Slapi_PBlock *pb)
{
	char *old = pb->part[PBLOCK_PART_operation];

	pb->part[PBLOCK_PART_operation] = ABSENT;
	for (size_t at = 0; at < sizeof(struct pblock_operation); at += CACHE_LINE)
		memset(old + at, 0, CACHE_LINE);
	slab_free(caches[PBLOCK_PART_operation], old);
}

/* Parts in which there may be strings that the pblock owns. */
enum {
	OWNING_PARTS = 0
#define PBLOCK_PART(name)
#define PBLOCK_PARAMETER(number, name, kind, group, part, preset)                                  \
	| (uint32_t)(PBLOCK_##kind >= PBLOCK_OWNED) << PBLOCK_PART_##part
#define PBLOCK_END(part)
#include "parameters.def"
};

/* From the last: `rare` goes after those that it leads to. */
static __attribute__((noinline)) void remove_rare(Slapi_PBlock *pb)
{
	uint32_t left = pb->present >> PBLOCK_PART_rare;

	if (pb->present & OWNING_PARTS)
		pblock_free_owned(pb);
	while (left) {
		unsigned last = 31 - (unsigned)__builtin_clz(left);

		remove_part(pb, PBLOCK_PART_rare + last);
		left &= ~(1u << last);
	}
}

static __attribute__((noinline)) void remove_parts(Slapi_PBlock *pb)
{
	if (pb->present >> PBLOCK_PART_rare)
		remove_rare(pb);
	if (pb->present & (1u << PBLOCK_PART_operation))
		remove_operation(pb);
	pb->present = 0;
}

/* As it was constructed. */
static inline void clear(Slapi_PBlock *pb)
{
	if (pb->present)
		remove_parts(pb);
	memset(&pb->top, 0, sizeof(pb->top));
}

Slapi_PBlock *pblock_make(void)
{
	return allocate(PBLOCK_PART_top);
}

static __attribute__((noinline)) Slapi_PBlock *new_recorded(void)
{
	Slapi_PBlock *pb = pblock_make();

	if (pb)
		pblock_record_new(pb);
	return pb;
}

Slapi_PBlock *slapi_pblock_new(void)
{
	if (pblock_is_recording())
		return new_recorded();
	return allocate(PBLOCK_PART_top);
}

void slapi_pblock_init(Slapi_PBlock *pb)
{
	if (!pb)
		return;
	if (pblock_is_recording())
		pblock_record_init(pb);
	clear(pb);
}

static __attribute__((noinline)) void destroy_slow(Slapi_PBlock *pb)
{
	if (pblock_is_recording())
		pblock_record_end(pb);
	clear(pb);
	slab_free(caches[PBLOCK_PART_top], pb);
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
	slab_free(caches[PBLOCK_PART_top], pb);
}

size_t slab_pblock_size(const Slapi_PBlock *pb)
{
	size_t size = pb ? sizeof(*pb) : 0;

	for (uint32_t present = pb ? pb->present : 0; present; present &= present - 1)
		size += part_types[__builtin_ctz(present)].size;
	return size;
}
