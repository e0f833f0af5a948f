/* SPDX-License-Identifier: MIT */
/* The part of a slab that its owner CPU uses, list words, and functions on isolated slabs, which
 * need no sections. */
#ifndef CPU_CACHE_CPU_SLAB_H
#define CPU_CACHE_CPU_SLAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CPU_CACHELINE 64
/* Differs from everything that a thread reads as its CPU, registered (>= 0) or not. */
#define CPU_NONE UINT32_C(0x80000000)

/* A list word: a pointer to a slab, with a count in its upper 16 bits, so that one store commits
 * both. The count of a list may be too small after a chain was put on it. */
#define CPU_WORD_COUNT_SHIFT 48
#define CPU_WORD_POINTER ((UINT64_C(1) << CPU_WORD_COUNT_SHIFT) - 1)

/*
 * What CPUs read to free an object. It begins a cache line. The freelist, which the owner writes
 * with each allocation and free, follows 192 bytes after the start, so that a free on another CPU
 * does not take its line away from the owner. The layer above has the 144 bytes between.
 */
struct cpu_slab {
	char *base;          /* the first object */
	const void *user;    /* the slab's user, which frees compare */
	uint64_t owner;      /* rseq, mutex: the owner CPU, or CPU_NONE */
	uint64_t reciprocal; /* ceil(2^32 / size8): offset to index by multiplication */
	uint64_t next;       /* list word: the rest of the list that starts here */
	uint32_t size8;      /* bytes from object to object, divided by 8 */
	uint32_t room;       /* most objects that the freelist holds: those initialized */
};

#define CPU_SLAB_FREELIST 192

/* The head of the freelist. The stack, with a 16-bit entry per object, begins in the same cache
 * line: work on a slab with few free objects takes no other. */
struct cpu_freelist {
	/*
	 * rseq, mutex: height of the stack.
	 *
	 * cmpxchg16b: index of the first free object + 1 | number of free objects << 16 | owner
	 * << 32; links replace the stack.
	 */
	uint64_t local;
	uint64_t tid; /* cmpxchg16b: grows with each exchange of {local, tid} */
	char *base; /* the slab's, for allocations: they read no other line */
	uint16_t bottom; /* CPU_STACK_BOTTOM */
};

#define CPU_SLAB_STACK (CPU_SLAB_FREELIST + 26)
/* The 16 bits below the stack, so that a free can compare its top even if the stack is empty.
 * The value is no offset: no slab of 8-byte objects is so large. */
#define CPU_STACK_BOTTOM 0xffff

static inline struct cpu_freelist *cpu_slab_freelist(const struct cpu_slab *slab)
{
	return (struct cpu_freelist *)((char *)slab + CPU_SLAB_FREELIST);
}

static inline uint16_t *cpu_slab_stack(struct cpu_slab *slab)
{
	return (uint16_t *)((char *)slab + CPU_SLAB_STACK);
}

static inline unsigned cpu_slab_index(const struct cpu_slab *slab, uint16_t offset8)
{
	return (unsigned)((offset8 * slab->reciprocal) >> 32);
}

static inline uint16_t cpu_slab_offset8(const struct cpu_slab *slab, const void *obj)
{
	return (uint16_t)((size_t)((const char *)obj - slab->base) >> 3);
}

/* Changes while the slab is isolated; any thread may read it. */
static inline unsigned cpu_slab_room(const struct cpu_slab *slab)
{
	return __atomic_load_n(&slab->room, __ATOMIC_RELAXED);
}

static inline void cpu_slab_set_room(struct cpu_slab *slab, unsigned room)
{
	__atomic_store_n(&slab->room, room, __ATOMIC_RELAXED);
}

/* Is obj the start of one of the first `room` objects? */
static inline bool cpu_slab_is_object(const struct cpu_slab *slab, const void *obj)
{
	size_t offset = (size_t)((const char *)obj - slab->base);
	/* Upper 32 bits: the index. Lower 32 bits: below the reciprocal if no remainder is left. */
	uint64_t quotient = offset / 8 * slab->reciprocal;

	return !(offset & ~(size_t)0x7fff8) && (uint32_t)quotient < slab->reciprocal &&
	       quotient >> 32 < cpu_slab_room(slab);
}

static inline void *cpu_slab_object(const struct cpu_slab *slab, uint16_t offset8)
{
	return slab->base + ((size_t)offset8 << 3);
}

static inline struct cpu_slab *cpu_word_slab(uint64_t word)
{
	return (struct cpu_slab *)(uintptr_t)(word & CPU_WORD_POINTER);
}

static inline unsigned cpu_word_count(uint64_t word)
{
	return (unsigned)(word >> CPU_WORD_COUNT_SHIFT);
}

static inline uint64_t cpu_word(const struct cpu_slab *slab, unsigned count)
{
	return (uint64_t)(uintptr_t)slab | (uint64_t)count << CPU_WORD_COUNT_SHIFT;
}

/* Set the layout of all freelists (the engine's `links`), before there are slabs. */
void cpu_slab_set_layout(bool links);
/* The CPU that owns a slab, or CPU_NONE. */
uint32_t cpu_slab_owner(const struct cpu_slab *slab);
/* Initialize a slab: isolated, with an empty freelist. */
void cpu_slab_init(struct cpu_slab *slab, char *base, size_t size, unsigned room, const void *user);
/* The number of free objects on the freelist of an isolated slab; an estimate for others. */
unsigned cpu_slab_free_count(const struct cpu_slab *slab);
/* Put up to n free objects on the freelist, as many as fit; take up to n. The slab is
 * isolated. */
void cpu_slab_put(struct cpu_slab *slab, unsigned n, const uint16_t *offset8);
unsigned cpu_slab_take(struct cpu_slab *slab, unsigned n, uint16_t *offset8);
/* Call fn for every object on the freelist of an isolated slab. */
void cpu_slab_each(struct cpu_slab *slab, void (*fn)(void *arg, uint16_t offset8), void *arg);
/* Give an isolated slab an owner. The store is a release, which publishes the freelist. */
void cpu_slab_set_owner(struct cpu_slab *slab, uint32_t cpu);

#endif /* CPU_CACHE_CPU_SLAB_H */
