/* SPDX-License-Identifier: MIT */
/*
 * What is known about the objects of a debug slab: data only.
 *
 * The debug flags belong to the slab. A debug slab is served under its node's lock,
 * one object at a time, so that nothing can race with a check. What is known
 * about its objects (struct slab_debug) stands apart from them, at the segment's
 * head behind a guard page: an overflow cannot reach it. The objects themselves
 * lie, each in cpu.size8 * 8 bytes, as
 *
 *   left red zone | object | right red zone | padding
 *   0             red_left  + object_size    + inuse      size
 *
 * frees of such objects miss the fast path, because cpu.user carries a tag.
 */
#ifndef SLAB_CORE_DEBUG_RECORD_H
#define SLAB_CORE_DEBUG_RECORD_H

#include <slab/slab.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pages/segment.h"
#include "report/track.h"

/* What stands where, with SLUB's values. */
#define POISON_INUSE 0x5a /* padding; fresh memory */
#define POISON_FREE 0x6b  /* an object that is free, or not yet written to */
#define POISON_END 0xa5   /* its last byte */
#define RED_INACTIVE 0xbb /* red zones of a free object … */
#define RED_ACTIVE 0xcc   /* … and of an allocated one */

/* Not for users: objects are announced to valgrind or ASan (annotate.h). */
#define DEBUG_FLAG_TOOL (UINT64_C(1) << 62)

/* Debug flags that decide about a slab's layout; any of the next makes it a debug
 * slab at all. */
#define DEBUG_FLAGS_LAYOUT (SLAB_RED_ZONE | SLAB_POISON | SLAB_STORE_USER | DEBUG_FLAG_TOOL)
#define DEBUG_FLAGS_SLAB (DEBUG_FLAGS_LAYOUT | SLAB_CONSISTENCY_CHECKS | SLAB_TRACE)

enum object_state {
	OBJECT_FREE = 0x46,      /* on the slab's freelist */
	OBJECT_ALLOCATED = 0x41, /* with the user */
	OBJECT_LOST = 0x4c,      /* damaged: never handed out again */
	OBJECT_WAITING = 0x57,   /* given to slab_free_rcu(), not free yet */
};

/* One object's record. With U, two tracks follow it; then, with P and a constructor, room for
 * a copy of the object. */
struct debug_object {
	uint32_t requested; /* bytes requested: less than object_size for slab_malloc() */
	uint16_t next;      /* free: index of the next free object + 1 */
	uint8_t state;      /* enum object_state */
	uint8_t spare;
};

enum { TRACK_ALLOC, TRACK_FREE };

/* A debug slab's own memory. Under the node's lock; debug flags, object_size, used and
 * guarded may be looked at without it, for what that is worth. */
struct slab_debug {
	uint64_t debug_flags;     /* debug_flags_of_layout() of the slab */
	uint32_t object_size;
	uint32_t inuse;       /* from the object's start to the end of its right red zone */
	uint32_t red_left;    /* bytes of the left red zone */
	uint16_t stride;      /* from record to record */
	uint16_t first, last; /* freelist: index + 1, oldest free object first */
	uint16_t used;        /* allocated (and lost) objects */
	uint8_t poisons;      /* object bodies are poisoned (P, and no constructor) */
	uint8_t disabled;     /* damaged: out of use for ever */
	uint8_t guarded;      /* one sampled object between guard pages (guard.c) */
	uint8_t counted;      /* among the node's nr_debug_empty */
	uint8_t copies;       /* P, and a constructor: free objects are compared with copies */
	uint8_t spare[3];
};

static inline struct debug_object *debug_record(const struct slab *slab, unsigned index)
{
	return (struct debug_object *)((char *)(slab->debug + 1) +
				       (size_t)index * slab->debug->stride);
}

static inline bool debug_is_guarded(const struct slab *slab)
{
	return slab->debug && __atomic_load_n(&slab->debug->guarded, __ATOMIC_RELAXED);
}

static inline void debug_set_used(const struct slab *slab, unsigned used)
{
	__atomic_store_n(&slab->debug->used, (uint16_t)used, __ATOMIC_RELAXED);
}

/* The object's tracks; only with U. */
static inline struct track *debug_track(const struct slab *slab, unsigned index, unsigned which)
{
	return (struct track *)(debug_record(slab, index) + 1) + which;
}

/* What a free object holds; only where the slab has copies. */
static inline char *debug_copy(const struct slab *slab, unsigned index)
{
	bool tracks = slab->debug->debug_flags & SLAB_STORE_USER;

	return (char *)(debug_track(slab, index, TRACK_ALLOC) + (tracks ? 2 : 0));
}

static inline char *debug_object_at(const struct slab *slab, unsigned index)
{
	return slab->cpu.base + (size_t)index * slab->cpu.size8 * 8 + slab->debug->red_left;
}

#endif /* SLAB_CORE_DEBUG_RECORD_H */
