/* SPDX-License-Identifier: MIT */
/* Segments: the address space of slabs, and the way from any address to its slab's descriptor. The
 * page layer lays out descriptors and memory; it knows nothing about objects. */
#ifndef SLAB_PAGES_SEGMENT_H
#define SLAB_PAGES_SEGMENT_H

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

/* The guard in front of the head has this size, whatever the page size. Behind the head lie a byte
 * and then a pointer for each unit: segment_number() and slab_of(). */
#define SEGMENT_HEAD_OFFSET 65536
#define SEGMENT_NUMBERS_OFFSET (SEGMENT_HEAD_OFFSET + 512)
#define SEGMENT_TABLE_OFFSET (SEGMENT_NUMBERS_OFFSET + SEGMENT_UNITS)
#define SEGMENT_HEAD_END (SEGMENT_TABLE_OFFSET + SEGMENT_UNITS * sizeof(struct slab *))

#define SEGMENT_MAGIC UINT64_C(0x7365676d656e7431) /* "segment1" */

#define SLAB_SHIFT_MIN 14
#define SLAB_SHIFT_MAX 19 /* of caches */
#define LARGE_SHIFT_MAX 23 /* of large allocations (large.c) */
#define SLAB_SHIFTS (LARGE_SHIFT_MAX + 1 - SLAB_SHIFT_MIN)

struct geometry;
struct slab_debug;

/*
 * The descriptor of a slab. Descriptors are never unmapped or reused for other data, so reading
 * through a stale pointer is harmless.
 *
 * cpu.user is the cache, with a tag if frees must take the slow path: read it through slab_user().
 *
 * `remote` belongs to all CPUs but the owner. It has the remote freelist (index of the first object
 * + 1 | number of objects << 16; links[] links the objects) and REMOTE_OWNED. Without REMOTE_OWNED
 * the slab is full and on no list; the thread that sets the flag isolates the slab.
 */
struct slab {
	struct cpu_slab cpu;
	/* In the line of `cpu`: what frees to a full slab and refills use besides the freelist. */
	uint64_t remote;
	uint16_t objects; /* room for objects */
	uint16_t initialized; /* see slab_initialized() */
	uint32_t idle_since; /* epoch since which decay.c finds it idle; 0: not idle */

	uint16_t *links;
	struct slab *next, *prev; /* node's partial list or a free list; the lock is the list's */
	size_t large; /* large allocations: bytes requested */
	struct slab_debug *debug; /* debug slabs only, else NULL (debug_record.h) */
	uint32_t populated; /* bytes from base on that were populated */
	union {
		uint32_t legacy_used; /* legacy slabs without debug flags: objects in use */
		uint32_t
			profiled; /* large allocations: the site of a sampled one (profile.h), or 0 */
	};
	/* Objects that wait for a grace period, for each of the two phases (free_rcu.c). links[]
	 * links them; the word is index of the first + 1 | of the last + 1 << 16 | number <<
	 * 32. */
	uint64_t waiting[2];
	struct slab *next_waiting[2];
	uint64_t unbacked[2]; /* a bit for each UNBACKED_BYTES below `populated` without memory */
	union {
		uint64_t validated_seq; /* number of the last validation that checked the slab */
		uint64_t destroyer; /* the thread that destroys its objects (release.c) */
	};
	const struct geometry *geometry; /* NULL: a large allocation with a mapping of its own */
	uint32_t side; /* bytes that `debug` has room for; 0: no debug slab */
	uint8_t shift; /* the slab has 1 << shift bytes */
	uint8_t node;
	uint8_t listed; /* on the node's partial list: under node->lock */
	uint8_t is_free; /* on a list of free slabs: under segment_lock() */
	struct cpu_freelist freelist __attribute__((aligned(CPU_CACHELINE)));
} __attribute__((aligned(CPU_CACHELINE)));

static_assert(offsetof(struct slab, freelist) == CPU_SLAB_FREELIST, "where cpu_cache has it");
static_assert(offsetof(struct slab, links) == CPU_CACHELINE, "the first line is full");

#define REMOTE_OWNED (UINT64_C(1) << 32)
#define REMOTE_FIRST(remote) ((unsigned)((remote) & 0xffff))
#define REMOTE_COUNT(remote) ((unsigned)((remote) >> 16 & 0xffff))

/* The smallest page size. All page sizes are multiples of it. */
#define UNBACKED_BYTES ((size_t)4096)

/* The head of a segment. It lies between guard pages, with the table. */
struct segment {
	uint64_t magic;
	struct segment *next; /* list of all segments, newest first; none is removed */
	uint64_t
		mapped; /* bytes: SEGMENT_SIZE, less of one in parts, or more for a large allocation */
	uint64_t red_zone; /* bytes before a large allocation (large_red.c); 0: none */
	char *base; /* large allocations: the first byte */
	struct segment *next_room, *prev_room; /* a list of segments with free units, or giants */
	uint32_t node;
	uint32_t orders; /* the largest free range has 1 << (orders - 1) units; 0: none is free */
	uint64_t free[SEGMENT_UNITS / 64]; /* units that no slab has; they hold no memory */
};

static inline char *segment_start(const void *ptr)
{
	return (char *)((uintptr_t)ptr & ~(SEGMENT_SIZE - 1));
}

static inline struct segment *segment_of(const void *ptr)
{
	return (struct segment *)(segment_start(ptr) + SEGMENT_HEAD_OFFSET);
}

/* The slab that contains an address of a segment. slab_none for the segment's own pages and for
 * slabs whose descriptor is not initialized. */
static inline struct slab *slab_of(const void *ptr)
{
	struct slab **table = (struct slab **)(segment_start(ptr) + SEGMENT_TABLE_OFFSET);

	return __atomic_load_n(&table[(uintptr_t)ptr >> SEGMENT_UNIT_SHIFT & (SEGMENT_UNITS - 1)],
			       __ATOMIC_RELAXED);
}

/* The number of the slab that contains an address of a segment: the user of the slab chose it, 0 by
 * default. Frees read it and not the descriptor, which saves a cache miss. */
static inline unsigned segment_number(const void *ptr)
{
	const uint8_t *numbers = (const uint8_t *)segment_start(ptr) + SEGMENT_NUMBERS_OFFSET;

	return __atomic_load_n(&numbers[(uintptr_t)ptr >> SEGMENT_UNIT_SHIFT & (SEGMENT_UNITS - 1)],
			       __ATOMIC_RELAXED);
}

static inline struct slab **segment_table(const struct segment *segment)
{
	return (struct slab **)(segment_start(segment) + SEGMENT_TABLE_OFFSET);
}

/* The slab that has a unit of a segment, or slab_none. */
static inline struct slab *segment_slab(const struct segment *segment, unsigned unit)
{
	return __atomic_load_n(&segment_table(segment)[unit], __ATOMIC_ACQUIRE);
}

extern struct slab slab_none;

/* An arena, which has descriptors (metadata.c). It is aligned to its size. Its struct begins
 * SEGMENT_HEAD_OFFSET bytes behind its start, with the pointer to the next older arena of the node
 * and the number of its bytes. */
struct arena;
#define METADATA_ARENA_BYTES (UINT64_C(4) << 20)
extern struct arena *metadata_arenas[] __attribute__((visibility("hidden"))); /* of each node */

/* --- a slab's memory --------------------------------------------------------------------- */

static inline size_t slab_size(const struct slab *slab)
{
	return (size_t)slab->cpu.size8 * 8;
}

static inline size_t slab_bytes(const struct slab *slab)
{
	return (size_t)1 << slab->shift;
}

/* The number of bytes of a slab that hold memory. */
static inline size_t slab_held(const struct slab *slab)
{
	unsigned unbacked = 0;

	/* Most slabs lack no page, and counting bits may be a function call. */
	if (slab->unbacked[0] | slab->unbacked[1])
		unbacked = (unsigned)(__builtin_popcountll(slab->unbacked[0]) +
				      __builtin_popcountll(slab->unbacked[1]));
	return slab->populated - unbacked * UNBACKED_BYTES;
}

static inline void slab_set_unbacked(struct slab *slab, uint64_t low, uint64_t high)
{
	__atomic_store_n(&slab->unbacked[0], low, __ATOMIC_RELAXED);
	__atomic_store_n(&slab->unbacked[1], high, __ATOMIC_RELAXED);
}

static inline void slab_set_idle_since(struct slab *slab, uint32_t epoch)
{
	__atomic_store_n(&slab->idle_since, epoch, __ATOMIC_RELAXED);
}

/* Where space is short: unmap the guard in front of a segment's or an arena's head but for its last
 * page. */
void segment_trim_guard(void *start);

/* --- address space (segment.c) ----------------------------------------------------------- */

/* The lock of the page layer (lock.c): segments, descriptors, free slabs. */
void segment_lock(void);
void segment_unlock(void);
/* Under the lock: take 1 << shift bytes that no slab has, aligned to their size; they hold no
 * memory. NULL: no segment of the node has such a range; then segment_map() makes one. */
char *segment_take_range(unsigned shift, unsigned node);
bool segment_has_range(unsigned shift, unsigned node);
void segment_put_range(char *start, unsigned shift);
/* Under the lock: let the table lead from the addresses of a slab to its descriptor, or to
 * another one. */
void segment_lead_to(const struct slab *slab, struct slab *descriptor);
/* Set the number of a slab; without the lock, while no other thread does. */
void segment_set_number(const struct slab *slab, unsigned number);
/* Map a segment, without the lock, unless the node has got such a range meanwhile. false and
 * ENOMEM. */
bool segment_map(unsigned shift, unsigned node);

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

/* Before a segment at `start` is marked: map the tables of its marks. false and ENOMEM. */
bool segment_marks_ready(const char *start, size_t bytes);
/* Mark the segment of slabs that was mapped at this address. */
void segment_mark_slabs(const char *start);
/* The most bytes of a large allocation that have marks: so marking takes the same time whatever its
 * size is. Larger ones, the giants, are on a list, by next_room: under the lock. */
#define SEGMENT_MARKED_MAX (64 * SEGMENT_SIZE)
extern struct segment *segment_giants __attribute__((visibility("hidden")));

/* May an address without a mark lie in a large allocation? Lock-free. */
static inline bool segment_has_giants(void)
{
	return __atomic_load_n(&segment_giants, __ATOMIC_ACQUIRE);
}

/* Under the lock: a large allocation at `start` has grown from `from` to `to` bytes or shrunk. 0:
 * it did not exist, or is about to be unmapped. */
void segment_mark_large(const char *start, size_t from, size_t to);
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

#endif /* SLAB_PAGES_SEGMENT_H */
