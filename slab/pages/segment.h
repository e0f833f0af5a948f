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
#define SEGMENT_UNIT_SHIFT 16
#define SEGMENT_UNITS (1u << (SEGMENT_SHIFT - SEGMENT_UNIT_SHIFT))

/* The guard in front of the head has this size, whatever the page size. */
#define SEGMENT_HEAD_OFFSET 65536
#define SEGMENT_TABLE_OFFSET (SEGMENT_HEAD_OFFSET + 256)

/* The first descriptor lies on the page of head and table. So a small process touches no other
 * page of descriptors. */
#define SEGMENT_FIRST_OFFSET (SEGMENT_TABLE_OFFSET + SEGMENT_UNITS * sizeof(struct slab *))
#define SEGMENT_MAGIC UINT64_C(0x7365676d656e7431) /* "segment1" */

#define SLAB_SHIFT_MIN 16
#define SLAB_SHIFT_MAX 19

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
	uint32_t legacy_used; /* legacy slabs without debug flags: objects in use */
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
	uint8_t node;
	uint8_t listed; /* on the node's partial list: under node->lock */
	struct cpu_freelist freelist __attribute__((aligned(CPU_CACHELINE)));
} __attribute__((aligned(CPU_CACHELINE)));

static_assert(offsetof(struct slab, freelist) == CPU_SLAB_FREELIST, "where cpu_cache has it");
static_assert(offsetof(struct slab, links) == CPU_CACHELINE, "the first line is full");

#define REMOTE_OWNED (UINT64_C(1) << 32)
#define REMOTE_FIRST(remote) ((unsigned)((remote) & 0xffff))
#define REMOTE_COUNT(remote) ((unsigned)((remote) >> 16 & 0xffff))

/* The smallest page size. All page sizes are multiples of it. */
#define UNBACKED_BYTES ((size_t)4096)

/* The head of a segment. It lies between guard pages, with descriptors, stacks and links. */
struct segment {
	uint64_t magic;
	struct segment *next; /* list of all segments, newest first; none is removed */
	struct geometry *geometry;
	uint64_t mapped; /* bytes: SEGMENT_SIZE, or more for a large allocation */
	uint32_t slabs; /* number of initialized descriptors */
	uint32_t room; /* the most descriptors */
	uint32_t stride; /* bytes from descriptor to descriptor */
	char *first; /* the first descriptor */
	char *base; /* the first slab's objects */
	uint32_t node;
	uint32_t slab_shift;
	uint64_t side; /* bytes of each slab's struct slab_debug; 0: no debug slabs */
	uint64_t head_bytes; /* of the head and of initialized descriptors with their areas */
	uint64_t red_zone; /* bytes before a large allocation (large_red.c); 0: none */
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

/* The number of bytes of a slab that hold memory. */
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

/* Find or create the geometry of slabs with 1 << slab_shift bytes and room for `objects`. */
struct geometry *geometry_get(unsigned slab_shift, unsigned objects);
/* The geometry of debug slabs, each of which has `side` bytes for its struct slab_debug. */
struct geometry *geometry_get_debug(unsigned slab_shift, unsigned objects, size_t side);
bool geometry_is_debug(const struct geometry *geometry);
/* One bit for each SEGMENT_SIZE bytes of the address space: does a segment start there? */
#define SEGMENT_KNOWN_WORDS (UINT32_C(1) << (48 - SEGMENT_SHIFT - 6))
extern uint64_t segment_known_map[SEGMENT_KNOWN_WORDS] __attribute__((visibility("hidden")));
/* Does this address lie in a segment? If so, segment_of() and slab_of() are valid. Lock-free;
 * async-signal-safe. */
static inline bool segment_known(const void *ptr)
{
	uintptr_t n = (uintptr_t)ptr >> SEGMENT_SHIFT;

	if (n / 64 >= SEGMENT_KNOWN_WORDS)
		return false;
	return __atomic_load_n(&segment_known_map[n / 64], __ATOMIC_ACQUIRE) >> n % 64 & 1;
}

/* Record that a segment was mapped or unmapped at this address. */
void segment_set_known(const char *start, bool is_known);
/* Take a slab of `node`, isolated. NULL and ENOMEM. slab->cpu.user is not set. */
struct slab *segment_take_slab(struct geometry *geometry, unsigned node);
/* Free a slab. It keeps its memory for the next segment_take_slab(), except with
 * SLAB_DECAY_MS=0. */
void segment_free_slab(struct slab *slab);
/* Return the memory of all free slabs to the OS. Returns the number of slabs that had memory, and
 * stores the bytes unless ret_bytes is NULL. */
unsigned segment_trim(size_t *ret_bytes);
/* segment_trim() for slabs that are ripe in this epoch (idle.h) and for which may_discard() returns
 * true; it runs with no lock held. Returns the number of bytes. */
size_t segment_decay(uint32_t epoch, bool (*may_discard)(const struct slab *slab));
/* With SLAB_DECAY_MS=0, return the memory of an isolated slab that the caller is about to free.
 * segment_free_slab() would do it too, but perhaps under a lock. */
void segment_discard_at_once(struct slab *slab);
/* In the child of a fork: list free slabs whose memory threads of the parent were returning. */
void segment_after_fork_child(void);
/* All segments, for scanning; newest first. */
struct segment *segment_first(void);
/* Map a segment for one large allocation. Its base is aligned to `align`. */
struct slab *segment_map_large(size_t bytes, size_t align);
/* The bytes of a large allocation that count for the limit: all but the guard in front. */
size_t segment_large_bytes(size_t bytes, size_t align);
void segment_unmap_large(struct slab *slab);
/* Grow or shrink a large allocation in place. false: this is impossible. */
bool segment_resize_large(struct slab *slab, size_t bytes);
/* Add to (or subtract from) the bytes of large allocations. */
void segment_count_large(long bytes);
/* Populate the slab's memory up to `bytes` in one batch of page faults. */
void slab_populate(struct slab *slab, size_t bytes);
void segment_lock(void);
void segment_unlock(void);

#endif /* SLAB_PAGES_SEGMENT_H */
