/* SPDX-License-Identifier: MIT */
/*
 * A slab as its owner CPU sees it, words that name lists of slabs, and the functions for
 * slabs that one thread has to itself: they need no section.
 */
#ifndef CPU_CACHE_CPU_SLAB_H
#define CPU_CACHE_CPU_SLAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CPU_CACHELINE 64
/* Never equal to what a thread reads as its CPU, registered (>= 0) or not. */
#define CPU_NONE UINT32_C(0x80000000)

/* A pointer to a slab with a count in its upper 16 bits: one word, one commit.
 * The count of a list may fall short after a chain was put on it. */
#define CPU_WORD_COUNT_SHIFT 48
#define CPU_WORD_POINTER ((UINT64_C(1) << CPU_WORD_COUNT_SHIFT) - 1)

/*
 * The owner's cache line of a slab. 192 bytes after its start stands the stack,
 * one 16-bit entry per object; the layer above keeps its own 126 bytes between.
 */
struct cpu_slab {
	/*
	 * rseq, mutex: height of the stack.
	 * cmpxchg16b: index of the first free object + 1 | number of free
	 * objects << 16 | owner << 32; links stand in the stack's place.
	 */
	uint64_t local;
	uint64_t tid; /* cmpxchg16b: grows with each exchange of {local, tid} */
	char *base;         /* the first object */
	const void *user;   /* whose slab this is: compared by frees */
	uint64_t next;      /* the rest of the list that starts here: a list word */
	uint64_t reciprocal; /* ceil(2^32 / size8): offset to index by multiplication */
	uint64_t owner;     /* rseq, mutex: the CPU, or CPU_NONE */
	uint32_t size8;     /* bytes from object to object, divided by 8 */
	uint32_t room; /* objects that the freelist holds at most: all that were handed out */
} __attribute__((aligned(CPU_CACHELINE)));

#define CPU_SLAB_STACK 192
/* The 16 bits below the stack, so that its top can be compared whatever its height:
 * not an offset, since no slab of 8-byte objects is as large as that. */
#define CPU_STACK_BOTTOM 0xffff

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

/* Changes while the slab is isolated, read by any thread. */
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
	size_t offset = (size_t)((const char *)obj - slab->base), offset8 = offset / 8;
	size_t index = (uint32_t)((uint16_t)offset8 * slab->reciprocal >> 32);

	return offset % 8 == 0 && index < cpu_slab_room(slab) && index * slab->size8 == offset8;
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

/* The layout of all freelists: the engine's `links`. Before there are slabs. */
void cpu_slab_set_layout(bool links);
/* The CPU that owns a slab, or CPU_NONE. */
uint32_t cpu_slab_owner(const struct cpu_slab *slab);
/* Initialize a slab: empty, isolated. */
void cpu_slab_init(struct cpu_slab *slab, char *base, size_t size, unsigned room, const void *user);
/* Free objects on the owner's side, of an isolated slab (a guess otherwise). */
unsigned cpu_slab_free_count(const struct cpu_slab *slab);
/* Put n free objects in, or as many as fit; take up to n out; only while it is isolated. */
void cpu_slab_put(struct cpu_slab *slab, unsigned n, const uint16_t *offset8);
unsigned cpu_slab_take(struct cpu_slab *slab, unsigned n, uint16_t *offset8);
/* Call fn for every free object on the owner's side of an isolated slab. */
void cpu_slab_each(struct cpu_slab *slab, void (*fn)(void *arg, uint16_t offset8), void *arg);
/* An isolated slab gets an owner: the release that publishes what was put in. */
void cpu_slab_set_owner(struct cpu_slab *slab, uint32_t cpu);

#endif /* CPU_CACHE_CPU_SLAB_H */
