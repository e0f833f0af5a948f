/* SPDX-License-Identifier: MIT */
/*
 * The split pblock: a top of one cache line, and parts that are created when one of their
 * parameters is set.
 *
 *	top         parameters of every pblock, pointers to parts       64 bytes
 *	operation   parameters of every operation and of searches      192
 *	rare        pointers to all other parts                         96
 *	  update, internal, request …                                    76 to 308
 *
 * The pointer of an absent part leads to a read-only part of zeros that all pblocks share. For
 * parameters in the top, there is a pointer to the top itself. So a get needs no branch, whether or
 * not the part exists: it loads the table entry, the part's pointer (from the top, or from `rare`,
 * whose address it loads first) and the value.
 *
 * The caches of all these objects have a constructor: all values are zero, and all pointers lead to
 * the absent part. Objects are freed in that state, so an allocation initializes nothing, and
 * unused members are never cleared.
 */
#pragma once

#include "parameter.h"

#include <string.h>

/* In the order of their pointers: first those in the top, then those in `rare`. */
enum pblock_part {
	PBLOCK_PART_top,
	PBLOCK_PART_operation,
	PBLOCK_PART_rare,
	PBLOCK_PART_update,
	PBLOCK_PART_internal,
	PBLOCK_PART_request,
	PBLOCK_PART_connection,
	PBLOCK_PART_plugin,
	PBLOCK_PART_callbacks,
	PBLOCK_PART_backend,
	PBLOCK_PART_database,
	PBLOCK_PART_matching,
	PBLOCK_PART_syntax,
	PBLOCK_PART_task,
	PBLOCK_PART_server,
	PBLOCK_PARTS,
};

#define PBLOCK_DIRECT PBLOCK_PART_update /* parts of which the top has pointers */
#define PBLOCK_RARE (PBLOCK_PARTS - PBLOCK_DIRECT)

/* Packed: no padding at the end. Members stand at multiples of their size anyway. */
#define PBLOCK_PART(part) struct pblock_##part {
#define PBLOCK_PARAMETER(number, name, kind, group, part, preset) PBLOCK_STORED_##kind(name);
#define PBLOCK_END(part)                                                                           \
	}                                                                                          \
	__attribute__((packed));
#include "parameters.def"
#undef PBLOCK_PART
#undef PBLOCK_PARAMETER
#undef PBLOCK_END

struct pblock_rare {
	void *part[PBLOCK_RARE];
};

struct slapi_pblock {
	void *part[PBLOCK_DIRECT]; /* the first one points to this pblock */
	struct pblock_top top;
	uint32_t present; /* bit p: part p exists; the top has no bit */
};

_Static_assert(sizeof(struct slapi_pblock) == 64, "the top is one cache line");
_Static_assert(sizeof(struct pblock_operation) == 192, "and this three");

/* The absent part, which reads as zeros: as large as the largest part. */
union pblock_absent {
#define PBLOCK_PART(name) struct pblock_##name name;
#define PBLOCK_PARAMETER(number, name, kind, group, part, preset)
#define PBLOCK_END(part)
#include "parameters.def"
#undef PBLOCK_PART
#undef PBLOCK_PARAMETER
#undef PBLOCK_END
};

#pragma GCC visibility push(hidden)

extern const union pblock_absent pblock_absent;

/* pblock_part_add: add an absent part to pb, and `rare` if the part's pointer is there. NULL: no
 * memory; pb reads as before. */
void *pblock_part_add(Slapi_PBlock *pb, enum pblock_part part);

#pragma GCC visibility pop

/* --- parts ---------------------------------------------------------------------------------- */

/* The parts of the split pblock: their caches, and adding and removing parts. */

#define CACHE_LINE 64
#define ABSENT ((void *)&pblock_absent)

struct pblock_part_type {
	const char *cache;
	size_t size;
};

#pragma GCC visibility push(hidden)

extern const struct pblock_part_type pblock_part_types[PBLOCK_PARTS];
/* NULL: the cache could not be created. */
extern struct slab_cache *pblock_caches[PBLOCK_PARTS];

/* There is no cache: set ENOMEM and return NULL. */
void *pblock_no_cache(void);

/* Remove a part that pb has, and free it. */
void pblock_part_remove(Slapi_PBlock *pb, enum pblock_part part);

#pragma GCC visibility pop

/* Allocate a part in its constructed state; NULL: no memory. */
static inline void *pblock_part_alloc(enum pblock_part part)
{
	struct slab_cache *cache = pblock_caches[part];

	return PBLOCK_LIKELY(cache) ? slab_alloc(cache) : pblock_no_cache();
}

/* Remove the part `operation`, often the only part of a pblock. It is cleared one cache line at a
 * time: for a line the compiler emits stores, for the whole part a slower string instruction. */
static inline void pblock_part_remove_operation(Slapi_PBlock *pb)
{
	char *old = pb->part[PBLOCK_PART_operation];

	pb->part[PBLOCK_PART_operation] = ABSENT;
	for (size_t at = 0; at < sizeof(struct pblock_operation); at += CACHE_LINE)
		memset(old + at, 0, CACHE_LINE);
	slab_free(pblock_caches[PBLOCK_PART_operation], old);
}
