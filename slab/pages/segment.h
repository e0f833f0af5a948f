/* SPDX-License-Identifier: MIT */
/*
 * Segments: the address space of slabs. The page layer lays out descriptors and memory; it
 * knows nothing about a slab's objects.
 */
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
#define SEGMENT_UNIT_SHIFT 16
#define SEGMENT_UNITS (1u << (SEGMENT_SHIFT - SEGMENT_UNIT_SHIFT))

/* Behind guard pages of its own, whatever the size of a page. */
#define SEGMENT_HEAD_OFFSET 65536
#define SEGMENT_TABLE_OFFSET (SEGMENT_HEAD_OFFSET + 256)

/* The first descriptor, on the page of head and table: a small process touches only this
 * page. */
#define SEGMENT_FIRST_OFFSET (SEGMENT_TABLE_OFFSET + SEGMENT_UNITS * sizeof(struct slab *))
#define SEGMENT_MAGIC UINT64_C(0x7365676d656e7431) /* "segment1" */

#define SLAB_SHIFT_MIN 16
#define SLAB_SHIFT_MAX 19

struct geometry;
struct slab_debug;

/*
 * A slab's descriptor. Descriptors are never unmapped and never become
 * anything else, so a stale pointer to one is harmless to read.
 *
 * cpu.user is the cache, with a tag when frees have to take the slow path: read
 * it through slab_user().
 *
 * remote is for all CPUs but the owner: index of the first object + 1 |
 * number of objects << 16 | REMOTE_OWNED. The objects are linked by links[].
 * Without REMOTE_OWNED the slab is full, and on no list; the thread that sets the
 * flag isolates it.
 */
struct slab {
	struct cpu_slab cpu;
	uint64_t remote;
	uint16_t *links;
	struct slab *next, *prev; /* node's partial list or a free list; the lock is the list's */
	size_t large;             /* large allocations: requested bytes */
	struct slab_debug *debug; /* of slabs with debug flags (debug_record.h), else NULL */
	uint32_t populated;       /* bytes from base on that are backed by memory */
	uint32_t legacy_used;     /* of a legacy slab without debug flags: objects in use */
	uint32_t idle_since;      /* epoch in which decay.c found it idle; 0: in none */
	/* Objects that wait for a grace period, for each of two phases (free_rcu.c): index of
	 * the first + 1 | of the last + 1 << 16 | number << 32, linked by links[]. */
	uint64_t waiting[2];
	struct slab *next_waiting[2];
	uint64_t unbacked[2]; /* a bit for each UNBACKED_BYTES below `populated` without memory */
	union {
		uint64_t validated_seq; /* number of the last validation that checked it */
		uint64_t destroyer;     /* the thread that destroys its objects (release.c) */
	};
	uint16_t objects;         /* room */
	uint16_t initialized;          /* see slab_initialized() */
	uint8_t node;
	uint8_t listed;  /* on the node's partial list: under node->lock */
	uint16_t bottom; /* of the stack, which follows: CPU_STACK_BOTTOM */
};

static_assert(sizeof(struct slab) == CPU_SLAB_STACK, "the stack stands behind the descriptor");

#define REMOTE_OWNED (UINT64_C(1) << 32)
#define REMOTE_FIRST(remote) ((unsigned)((remote) & 0xffff))
#define REMOTE_COUNT(remote) ((unsigned)((remote) >> 16 & 0xffff))

/* The smallest page size; others are multiples of it. */
#define UNBACKED_BYTES ((size_t)4096)

/* The head of a segment, between guard pages with descriptors, stacks, links. */
struct segment {
	uint64_t magic;
	struct segment *next; /* all segments, newest first; never removed */
	struct geometry *geometry;
	uint64_t mapped; /* bytes: SEGMENT_SIZE, more for one large allocation */
	uint32_t slabs;  /* with initialized descriptors */
	uint32_t room;   /* … at most */
	uint32_t stride; /* bytes from descriptor to descriptor */
	char *first;     /* the first descriptor */
	char *base;      /* the first slab's objects */
	uint32_t node;
	uint32_t slab_shift;
	uint64_t side;       /* of each slab's struct slab_debug; 0: without debug flags */
	uint64_t head_bytes; /* of the head and of initialized descriptors with their areas */
	uint64_t red_zone;   /* bytes before a large allocation (large_red.c); 0: none */
};

static inline char *segment_start(const void *ptr)
{
	return (char *)((uintptr_t)ptr & ~(SEGMENT_SIZE - 1));
}

static inline struct segment *segment_of(const void *ptr)
{
	return (struct segment *)(segment_start(ptr) + SEGMENT_HEAD_OFFSET);
}

/* The slab that contains an address; slab_none for a segment's own pages, and for pages
 * without an initialized slab. */
static inline struct slab *slab_of(const void *ptr)
{
	struct slab **table = (struct slab **)(segment_start(ptr) + SEGMENT_TABLE_OFFSET);

	return __atomic_load_n(&table[(uint8_t)((uintptr_t)ptr >> SEGMENT_UNIT_SHIFT)],
			       __ATOMIC_RELAXED);
}

static inline struct slab **segment_table(const struct segment *segment)
{
	return (struct slab **)(segment_start(segment) + SEGMENT_TABLE_OFFSET);
}

static inline struct slab *segment_slab(const struct segment *segment, unsigned i)
{
	return (struct slab *)(segment->first + (size_t)i * segment->stride);
}

extern struct slab slab_none;

/* --- a slab's memory --------------------------------------------------------------------- */

static inline size_t slab_size(const struct slab *slab)
{
	return (size_t)slab->cpu.size8 * 8;
}

static inline size_t slab_bytes(const struct slab *slab)
{
	return (size_t)1 << segment_of(slab)->slab_shift;
}

/* Bytes of memory behind the slab. */
static inline size_t slab_held(const struct slab *slab)
{
	unsigned unbacked = (unsigned)(__builtin_popcountll(slab->unbacked[0]) +
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

/* --- the page layer (segment.c) ---------------------------------------------------------- */

/* A layout of segments: slabs of 1 << slab_shift bytes with room for `objects`. */
struct geometry *geometry_get(unsigned slab_shift, unsigned objects);
/* The same for slabs with debug flags: each has `side` bytes for its struct slab_debug. */
struct geometry *geometry_get_debug(unsigned slab_shift, unsigned objects, size_t side);
bool geometry_is_debug(const struct geometry *geometry);
/* One bit for each SEGMENT_SIZE bytes of the address space: is there a segment? */
#define SEGMENT_KNOWN_WORDS (UINT32_C(1) << (48 - SEGMENT_SHIFT - 6))
extern uint64_t segment_known_map[SEGMENT_KNOWN_WORDS] __attribute__((visibility("hidden")));
/* Does this address lie in a segment? If so, segment_of() and slab_of() are valid.
 * Lock-free; async-signal-safe. */
static inline bool segment_known(const void *ptr)
{
	uintptr_t n = (uintptr_t)ptr >> SEGMENT_SHIFT;

	if (n / 64 >= SEGMENT_KNOWN_WORDS)
		return false;
	return __atomic_load_n(&segment_known_map[n / 64], __ATOMIC_ACQUIRE) >> n % 64 & 1;
}

/* A segment begins, or ends, at this address. */
void segment_set_known(const char *start, bool is_known);
/* One slab, isolated, from `node`; NULL and ENOMEM. slab->cpu.user is not set. */
struct slab *segment_take_slab(struct geometry *geometry, unsigned node);
/* Free a slab; it keeps its memory for the next segment_take_slab(). */
void segment_free_slab(struct slab *slab);
/* Return the memory of all free slabs to the OS; returns the number of slabs that had some,
 * and, unless ret_bytes is NULL, the bytes. */
unsigned segment_trim(size_t *ret_bytes);
/* … of those that are ripe in this epoch (idle.h), and for which may_discard() is true: how
 * many bytes. may_discard() runs with no lock held. */
size_t segment_decay(uint32_t epoch, bool (*may_discard)(const struct slab *slab));
/* With SLAB_DECAY_MS=0: return the memory of an isolated slab that is on its way to
 * segment_free_slab(), which does the same. */
void segment_discard_at_once(struct slab *slab);
/* In the child of a fork: free slabs whose memory threads were returning are listed again. */
void segment_after_fork_child(void);
/* All segments, for scanning; newest first. */
struct segment *segment_first(void);
/* A segment of its own for one large allocation; base is aligned to align. */
struct slab *segment_map_large(size_t bytes, size_t align);
/* … its bytes that count for the limit: without the guard in front. */
size_t segment_large_bytes(size_t bytes, size_t align);
void segment_unmap_large(struct slab *slab);
/* Grow or shrink it in place; false: cannot be done. */
bool segment_resize_large(struct slab *slab, size_t bytes);
/* Add to the bytes of large allocations, or subtract. */
void segment_count_large(long bytes);
/* Populate the slab's memory up to `bytes`; batches page faults. */
void slab_populate(struct slab *slab, size_t bytes);
void segment_lock(void);
void segment_unlock(void);

#endif /* SLAB_PAGES_SEGMENT_H */
