/* SPDX-License-Identifier: MIT */
/*
 * The data about a debug slab and its objects: struct slab_debug and one record per object.
 *
 * Debug flags belong to the slab. Allocations and frees of a debug slab run under its node's lock,
 * one object at a time, so nothing races with a check. The slab's user has a tag, so the frees miss
 * the fast path. The records lie at the segment's head, behind a guard page, where an overflow of
 * an object cannot reach them. Each object takes `size` bytes:
 *
 *   left red zone | object | right red zone | padding
 *   0             red_left  + object_size    + inuse      size
 */
#pragma once

#include <assert.h>
#include <slab/slab.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pages/segment.h"
#include "report/profile.h"
#include "report/track.h"

/* The bytes of poison and red zones; the values are SLUB's. */
#define POISON_INUSE 0x5a /* padding; fresh memory */
#define POISON_FREE 0x6b  /* a free object, or an allocated one before its first write */
#define POISON_END 0xa5   /* the last byte of such an object */
#define RED_INACTIVE 0xbb /* red zones of a free object */
#define RED_ACTIVE 0xcc   /* red zones of an allocated object */

/* Internal: objects are announced to valgrind or ASan (annotate.h). */
#define DEBUG_FLAG_TOOL (UINT64_C(1) << 62)

/* Internal: the slab has the objects that the heap profile samples (report/profile.h). Only slabs
 * have this flag, never a cache. */
#define DEBUG_FLAG_PROFILE (UINT64_C(1) << 61)

/* The flags that change a slab's layout, and all flags that make a slab a debug slab. */
#define DEBUG_FLAGS_LAYOUT                                                                         \
	(SLAB_RED_ZONE | SLAB_POISON | SLAB_STORE_USER | DEBUG_FLAG_TOOL | DEBUG_FLAG_PROFILE)
#define DEBUG_FLAGS_SLAB (DEBUG_FLAGS_LAYOUT | SLAB_CONSISTENCY_CHECKS | SLAB_TRACE)

enum object_state {
	OBJECT_FREE = 0x46,      /* on the slab's freelist */
	OBJECT_ALLOCATED = 0x41, /* the application has it */
	OBJECT_LOST = 0x4c,      /* damaged: never allocated again */
	OBJECT_WAITING = 0x57,   /* passed to slab_free_rcu(), waits for a grace period */
};

/* The record of an object. With SLAB_STORE_USER two tracks follow it, and with SLAB_POISON and a
 * constructor a copy of the object follows these. With DEBUG_FLAG_PROFILE the free track is a
 * struct profile_sample: the heap profile tracks no frees. */
struct debug_object {
	uint32_t requested; /* bytes requested; fewer than object_size for slab_malloc() */
	uint16_t next;      /* free objects: index of the next free object + 1 */
	uint8_t state;      /* enum object_state */
	uint8_t pair;       /* enum slab_pair: what has allocated it */
};

enum { TRACK_ALLOC, TRACK_FREE };

/* The data of a debug slab. The node's lock protects it. debug_flags, object_size, used and
 * guarded may be read without the lock; they may change at any time then. */
struct slab_debug {
	uint64_t debug_flags;     /* debug_flags_of_layout() of the slab */
	uint32_t object_size;
	uint32_t size;        /* bytes from object to object */
	uint32_t inuse;       /* from the object's start to the end of its right red zone */
	uint32_t red_left;    /* bytes of the left red zone */
	uint16_t stride;      /* bytes from record to record */
	uint16_t first, last; /* freelist: index + 1, oldest free object first */
	uint16_t used;        /* number of objects that are allocated or lost */
	uint8_t poisons;      /* object bodies are poisoned (P, and no constructor) */
	uint8_t disabled;     /* damaged: the slab is out of use permanently */
	uint8_t guarded;      /* one sampled object between guard pages (guard.c) */
	uint8_t counted;      /* included in the node's nr_debug_empty */
	uint8_t copies;       /* P and a constructor: free objects are compared with copies */
	uint8_t listed;       /* on one of the node's lists */
	uint8_t spare[2];
};

static inline struct debug_object *debug_record(const struct slab *slab, unsigned index)
{
	return (struct debug_object *)((char *)(slab->debug + 1) +
				       (size_t)index * slab->debug->stride);
}

static inline bool debug_is_guarded(const struct slab *slab)
{
	const struct slab_debug *debug = __atomic_load_n(&slab->debug, __ATOMIC_RELAXED);

	return debug && __atomic_load_n(&debug->guarded, __ATOMIC_RELAXED);
}

static inline void debug_set_used(const struct slab *slab, unsigned used)
{
	__atomic_store_n(&slab->debug->used, (uint16_t)used, __ATOMIC_RELAXED);
}

/* Only the first n objects of a debug slab are usable. */
static inline void debug_set_initialized(struct slab *slab, unsigned n)
{
	__atomic_store_n(&slab->initialized, (uint16_t)n, __ATOMIC_RELAXED);
}

/* The object's tracks; only with SLAB_STORE_USER. */
static inline struct track *debug_track(const struct slab *slab, unsigned index, unsigned which)
{
	return (struct track *)(debug_record(slab, index) + 1) + which;
}

/* The copy of a free object; only in slabs with copies. */
static inline char *debug_copy(const struct slab *slab, unsigned index)
{
	bool tracks = slab->debug->debug_flags & SLAB_STORE_USER;

	return (char *)(debug_track(slab, index, TRACK_ALLOC) + (tracks ? 2 : 0));
}

static inline bool debug_is_profiled(const struct slab *slab)
{
	return slab->debug->debug_flags & DEBUG_FLAG_PROFILE;
}

static inline bool debug_tracks_frees(const struct slab *slab)
{
	return slab->debug->debug_flags & SLAB_STORE_USER && !debug_is_profiled(slab);
}

static_assert(sizeof(struct profile_sample) == sizeof(struct track) &&
		      offsetof(struct profile_sample, tid) == offsetof(struct track, tid),
	      "as an empty track");

/* Only in slabs with DEBUG_FLAG_PROFILE. */
static inline struct profile_sample *debug_sample(const struct slab *slab, unsigned index)
{
	return (struct profile_sample *)debug_track(slab, index, TRACK_FREE);
}

/* The layout of slab_needs. An ordinary slab has 0. */
static inline uint32_t debug_layout_number(size_t size, size_t red_left)
{
	return (uint32_t)(size / 8 << 13 | red_left / 8);
}

static inline char *debug_object_at(const struct slab *slab, unsigned index)
{
	return slab->base + (size_t)index * slab->debug->size + slab->debug->red_left;
}
