/* SPDX-License-Identifier: MIT */
/* Segments: the address space of slabs, and the way from any address to its slab's descriptor. The
 * page layer lays out descriptors and memory; it knows nothing about objects. */
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cpu_cache.h"

#define SEGMENT_SHIFT 24
#define SEGMENT_SIZE (UINT64_C(1) << SEGMENT_SHIFT)

/* Granule of the table that maps an address to its slab. */
#define SEGMENT_UNIT_SHIFT 14
#define SEGMENT_UNITS (1u << (SEGMENT_SHIFT - SEGMENT_UNIT_SHIFT))

/* The guard in front of the head has this size, whatever the page size. Behind the head lie two
 * tables with a word for each unit: the user of the slab that has the unit, and the slab's
 * descriptor. */
#define SEGMENT_HEAD_OFFSET 65536
#define SEGMENT_USERS_OFFSET (SEGMENT_HEAD_OFFSET + 4096)
#define SEGMENT_TABLE_OFFSET (SEGMENT_USERS_OFFSET + SEGMENT_UNITS * sizeof(uint64_t))
#define SEGMENT_HEAD_END (SEGMENT_TABLE_OFFSET + SEGMENT_UNITS * sizeof(struct slab *))

#define SEGMENT_MAGIC UINT64_C(0x7365676d656e7431) /* "segment1" */

#define SLAB_SHIFT_MIN 14
#define SLAB_SHIFT_MAX 19 /* of caches */
#define LARGE_SHIFT_MAX 23 /* of large allocations (large.c) */

struct shard;
struct slab_debug;

/*
 * The descriptor of a slab, with a bit for each object behind it. Descriptors are never unmapped or
 * reused for other data, so reading through a stale pointer is harmless.
 *
 * core/shard.h says which of the members a shard's lock protects: shard, next, prev, map, free,
 * initialized, up, bucket.
 */
__extension__ struct slab { /* for C++: a flexible array member */
	struct slab *next, *prev; /* the list that `bucket` names */
	const void *user; /* the cache, with a tag if frees must take the slow path: slab_user() */
	union {
		struct slab_debug *debug; /* debug slabs only, else NULL (debug_record.h) */
		size_t large; /* large allocations: bytes requested (slab_large()) */
	};
	uint32_t populated; /* bytes from base on that were populated */
	uint32_t idle_since; /* epoch since which decay finds it idle; 0: not idle */
	union {
		uint32_t side; /* bytes that `debug` has room for; 0: no debug slab */
		/* Large allocations: the site of a sampled one (profile.h), or 0. */
		uint32_t profiled;
	};
	union {
		uint32_t destroyer; /* the thread that destroys its objects (core/release.c) */
		uint32_t layout; /* of a vacant slab (space.h) */
	};
	uint16_t unbacked; /* number of UNBACKED_BYTES below `populated` without memory */
	uint8_t size_class; /* of the page layer: the size of the descriptor */
	uint8_t sealed; /* its addresses are inaccessible (space.c) */
	uint32_t spare[3];

	/* A cache line begins here, with all that a flush needs. */
	char *base; /* the first object */
	struct shard
		*shard; /* of an ordinary slab of a cache; NULL: of no slab, a debug slab, a large
				allocation. Changes with the locks of both shards */
	uint16_t objects; /* room for objects */
	uint16_t free; /* bits that are set in map */
	/* Objects that were in use before: the others were never touched, and their bits are 0. */
	uint16_t initialized;
	uint16_t up; /* with so many free objects a free lists the slab anew */
	uint8_t bucket; /* the list on which the slab is, or why it is on none (core/shard.h) */
	uint8_t shift; /* the slab has 1 << shift bytes */
	uint8_t node;
	uint64_t map
		[]; /* ordinary slabs: a bit for each object, 1 is free; then slab_waiting(). Large
			   allocations: LARGE_WORDS */
};

/* The map of a large allocation: the birth of a sampled one (profile.h), and its type
 * (large_type.c). */
#define LARGE_WORDS 3u

static_assert(offsetof(struct slab, base) == 64 && sizeof(struct slab) == 96,
	      "what a flush needs lies in one cache line, with a map of four words");

/* The words of a map with a bit for each object. */
static inline unsigned map_words(unsigned objects)
{
	return (objects + 63) / 64;
}

/* The smallest page size. All page sizes are multiples of it. */
#define UNBACKED_BYTES ((size_t)4096)

/* The maps of a segment: free units, and those of them that hold memory. */
enum { UNITS_FREE, UNITS_RESIDENT, UNITS_MAPS };

/* The place of a segment on a list of segments by their largest range (units.c), for one map. */
struct segment_room {
	struct segment *next, *prev;
	uint32_t orders; /* the largest range has 1 << (orders - 1) units; 0: there is none */
};

/* The head of a segment. It lies between guard pages, with the tables. */
struct segment {
	uint64_t magic;
	struct segment *next; /* list of all segments, newest first; none is removed */
	/* Bytes: SEGMENT_SIZE, less of one in parts, or more for a large allocation. */
	uint64_t mapped;
	uint64_t red_zone; /* bytes before a large allocation (large_red.c); 0: none */
	char *base; /* large allocations: the first byte */
	struct segment *next_room; /* giants; segments whose units are unmapped */
	struct segment_room room[UNITS_MAPS];
	uint32_t node;
	uint32_t pool; /* which slabs its units serve (units.h) */
	uint64_t free[SEGMENT_UNITS / 64]; /* units that no slab has, but any slab may get */
	uint64_t resident[SEGMENT_UNITS / 64]; /* of the free ones: those that hold memory */
	uint64_t busy[SEGMENT_UNITS / 64]; /* units whose memory a thread returns or populates */
	uint16_t since[SEGMENT_UNITS]; /* resident units: the epoch since which they are idle */
	bool holes_stay; /* atomic: the kernel does not fill holes in its memory (trim.c) */
};

static_assert(SEGMENT_HEAD_OFFSET + sizeof(struct segment) <= SEGMENT_USERS_OFFSET,
	      "one page, before the tables");

static inline char *segment_start(const void *ptr)
{
	return (char *)((uintptr_t)ptr & ~(SEGMENT_SIZE - 1));
}

static inline struct segment *segment_of(const void *ptr)
{
	return (struct segment *)(segment_start(ptr) + SEGMENT_HEAD_OFFSET);
}

extern struct slab slab_none;

/* The slab that contains an address of a segment. slab_none for the segment's own pages and for
 * units that no slab has. */
static inline struct slab *slab_of(const void *ptr)
{
	struct slab **table = (struct slab **)(segment_start(ptr) + SEGMENT_TABLE_OFFSET);
	struct slab *slab =
		__atomic_load_n(&table[(uintptr_t)ptr >> SEGMENT_UNIT_SHIFT & (SEGMENT_UNITS - 1)],
				__ATOMIC_RELAXED);

	return slab ? slab : &slab_none;
}

/* The word of the user of the slab that has this address of a segment; 0: no slab has it, or one
 * without a user. Frees read it and not the descriptor, which saves a cache miss. */
static inline uintptr_t *segment_user_word(const void *ptr)
{
	uintptr_t *users = (uintptr_t *)(segment_start(ptr) + SEGMENT_USERS_OFFSET);

	return &users[(uintptr_t)ptr >> SEGMENT_UNIT_SHIFT & (SEGMENT_UNITS - 1)];
}

static inline uintptr_t segment_user(const void *ptr)
{
	return __atomic_load_n(segment_user_word(ptr), __ATOMIC_RELAXED);
}

static inline struct slab **segment_table(const struct segment *segment)
{
	return (struct slab **)(segment_start(segment) + SEGMENT_TABLE_OFFSET);
}

/* The slab that has a unit of a segment, or slab_none. */
static inline struct slab *segment_slab(const struct segment *segment, unsigned unit)
{
	struct slab *slab = __atomic_load_n(&segment_table(segment)[unit], __ATOMIC_ACQUIRE);

	return slab ? slab : &slab_none;
}

/* An arena, which has descriptors (metadata.c). It is aligned to its size. Its struct begins
 * SEGMENT_HEAD_OFFSET bytes behind its start, with the pointer to the next older arena of the node
 * and the number of its bytes. */
struct arena;
#define METADATA_ARENA_BYTES (UINT64_C(4) << 20)
extern struct arena *metadata_arenas[] __attribute__((visibility("hidden"))); /* of each node */

/* --- a slab's memory --------------------------------------------------------------------- */

static inline size_t slab_bytes(const struct slab *slab)
{
	return (size_t)1 << slab->shift;
}

/* The bytes of a large allocation. 0: it is being freed, or the slab has objects. */
static inline size_t slab_large(const struct slab *slab)
{
	return __atomic_load_n(&slab->objects, __ATOMIC_RELAXED)
		       ? 0
		       : __atomic_load_n(&slab->large, __ATOMIC_RELAXED);
}

/* The number of bytes of a slab that hold memory. */
static inline size_t slab_held(const struct slab *slab)
{
	return __atomic_load_n(&slab->populated, __ATOMIC_RELAXED) -
	       __atomic_load_n(&slab->unbacked, __ATOMIC_RELAXED) * UNBACKED_BYTES;
}

static inline uint32_t slab_idle_since(const struct slab *slab)
{
	return __atomic_load_n(&slab->idle_since, __ATOMIC_RELAXED);
}

static inline void slab_set_idle_since(struct slab *slab, uint32_t epoch)
{
	__atomic_store_n(&slab->idle_since, epoch, __ATOMIC_RELAXED);
}

/* --- address space (segment.c) ----------------------------------------------------------- */

/* The lock of the page layer (lock.c): segments, descriptors, free slabs. */
void segment_lock(void);
void segment_unlock(void);
/*
 * Set the user of a slab of units, in its descriptor and for each unit; without the lock, while no
 * other thread does. A release: who reads the user sees the slab. A free reads the word of its own
 * unit alone. The first unit's word changes last: if a fork interrupts this, the child sees by it
 * that it is not done, and a second call does all of it.
 */
void segment_set_user(struct slab *slab, const void *user);

/* Unmap the units of segments in which all units are free. Their addresses are used again when a
 * segment is needed. Returns the number of bytes. */
size_t segment_unmap_free(void);

/*
 * What SEGMENT_SIZE bytes of the address space have. Bit 0 is set if a segment starts there.
 * Segments of slabs keep their heads for ever. Those of large allocations are unmapped, and behind
 * their last byte may be memory of others, so their marks change under the lock
 * (segment_find_large()).
 */
enum segment_mark {
	SEGMENT_MARK_NONE,
	SEGMENT_MARK_SLABS,
	SEGMENT_MARK_LARGE_REST, /* of a large allocation that starts in a lower one */
	SEGMENT_MARK_LARGE,
};

/*
 * The marks, a byte each. The kernel gives out addresses close to each other, so a table of 2 TiB
 * of them, the window, has nearly all. It starts at segment_window << SEGMENT_SHIFT, which the
 * first segment of the process decides. Marks elsewhere are in tables for 2 TiB each, mapped when
 * they are needed.
 */
#define SEGMENT_MARKS (UINT32_C(1) << 17)
#define SEGMENT_FAR_TABLES (UINT32_C(1) << (48 - SEGMENT_SHIFT - 17))
extern uintptr_t segment_window __attribute__((visibility("hidden")));
extern uint8_t segment_marks[SEGMENT_MARKS] __attribute__((visibility("hidden")));
extern void *segment_far_marks[SEGMENT_FAR_TABLES] __attribute__((visibility("hidden")));
/* The mark of an address outside the window. */
enum segment_mark segment_far_mark(const void *ptr);

/* The index of an address in segment_marks; SEGMENT_MARKS or more: it is outside the window. */
static inline uintptr_t segment_in_window(const void *ptr)
{
	return ((uintptr_t)ptr >> SEGMENT_SHIFT) -
	       __atomic_load_n(&segment_window, __ATOMIC_RELAXED);
}

/* segment_mark_of() for fast paths: SEGMENT_MARK_NONE if the address is outside the window. */
static inline enum segment_mark segment_near_mark(const void *ptr)
{
	const uintptr_t i = segment_in_window(ptr);

	if (i >= SEGMENT_MARKS)
		return SEGMENT_MARK_NONE;
	return (enum segment_mark)__atomic_load_n(&segment_marks[i], __ATOMIC_ACQUIRE);
}

/* Any address may be looked up. Lock-free; async-signal-safe. */
static inline enum segment_mark segment_mark_of(const void *ptr)
{
	return segment_in_window(ptr) < SEGMENT_MARKS ? segment_near_mark(ptr)
						      : segment_far_mark(ptr);
}

/* Does this address lie in the first SEGMENT_SIZE bytes of a segment? If so, segment_of() and
 * slab_of() are valid, as long as no thread unmaps the segment of a large allocation. */
static inline bool segment_known(const void *ptr)
{
	return segment_mark_of(ptr) & 1;
}

/* The most bytes of a large allocation that have marks: so marking takes the same time whatever its
 * size is. Larger ones, the giants, are on a list, by next_room: under the lock. */
#define SEGMENT_MARKED_MAX (64 * SEGMENT_SIZE)
extern struct segment *segment_giants __attribute__((visibility("hidden")));

/* May an address without a mark lie in a large allocation? Lock-free. */
static inline bool segment_has_giants(void)
{
	return __atomic_load_n(&segment_giants, __ATOMIC_ACQUIRE);
}

/* The slab of the large allocation that has this address; NULL: none has it. The address may be
 * memory of others. */
struct slab *segment_find_large(const void *ptr);
/* Does this address of a segment of slabs lie in a unit that no slab has, but any slab may get? */
bool segment_unit_is_free(const void *ptr);
/* All segments, for scanning; newest first. */
struct segment *segment_first(void);
/* Map a segment for one large allocation. Its base is aligned to `align`, any power of two. */
struct slab *segment_map_large(size_t bytes, size_t align);
/* The bytes of a large allocation that count for the limit: all but the guard in front. */
size_t segment_large_bytes(size_t bytes, size_t align);
void segment_unmap_large(struct slab *slab);
/* Grow or shrink a large allocation in place. false: this is impossible. */
bool segment_resize_large(struct slab *slab, size_t bytes);
/* Move a large allocation, with its pages, to where it can have `bytes`. Returns its descriptor,
 * which has moved, too. NULL: there is no address space, and nothing has changed. */
struct slab *segment_move_large(struct slab *slab, size_t bytes);
/* Add to (or subtract from) the bytes of large allocations. */
void segment_count_large(long bytes);
