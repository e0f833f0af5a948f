/* SPDX-License-Identifier: MIT */
/*
 * The per-CPU layer: slots, owned slabs, and the engines that commit to them.
 *
 * A *slot* belongs to one CPU and one user of this layer (a cache, which this
 * layer does not know). It names the slab that the CPU allocates from
 * (current), a list of further slabs that the CPU owns (partial), and a buffer
 * of objects that the CPU has freed into somebody else's slab (gather).
 *
 * An *owned slab* has a freelist that only its owner CPU changes: a stack of
 * 16-bit offsets that stands beside the objects, not in them. In front of all
 * stacks the slot holds one *hot* object, freed last and allocated next, of
 * whatever slab.
 *
 * An object that is freed while it is the hot one, or on top of its stack, or the
 * last one gathered, is seen to be free already: that costs one comparison with
 * what is at hand anyway. A freelist that holds all objects of its slab takes no
 * further one: one of them was freed twice, and the stack would overflow.
 *
 * Everything a CPU does here is a *section*: reads, checks, and one committing
 * store, which takes effect only if the thread stayed on that CPU undisturbed.
 * pseudocode.h says what each section does; the three engines (rseq.c,
 * cmpxchg16b.c, mutex.c) do exactly that with different means.
 *
 * A slab *in hand* is owned by nobody and known to one thread only; the
 * cpu_slab_hand_*() functions change it without sections.
 */
#ifndef CPU_CACHE_H
#define CPU_CACHE_H

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
	uint32_t room;      /* objects that the freelist holds at most: all of the slab's */
} __attribute__((aligned(CPU_CACHELINE)));

#define CPU_SLAB_STACK 192
/* The 16 bits below the stack, so that its top can be compared whatever its height:
 * not an offset, since no slab of 8-byte objects is as large as that. */
#define CPU_STACK_BOTTOM 0xffff

#define CPU_GATHER_MAX 64
#define CPU_EVENTS 16

/* One CPU's slot. Only sections of that CPU write the first four words. */
struct cpu_slot {
	uint64_t hot;             /* the object freed last, or 0; rseq only */
	struct cpu_slab *current; /* allocated from */
	uint64_t partial;         /* list word of owned slabs with free objects */
	uint64_t gather;          /* slab | count << 48: whose objects gather_buf holds */
	uint64_t incoming;        /* slabs listed from elsewhere: exchanged, never popped */
	uint64_t closed;          /* non-zero while somebody revokes this slot */
	uint32_t lock;            /* engines that lock their slow sections */
	uint32_t partial_limit;   /* the user's: when to look through partial again */
	uint32_t counted;         /* the user's: allocations while it counts (tally.h) … */
	uint32_t counted_before;  /* … and how many of them it has taken in */
	uint16_t gather_buf[CPU_GATHER_MAX]; /* offsets in units of 8 bytes */
	uint64_t event[CPU_EVENTS];          /* the user's counters, kept without locks */
} __attribute__((aligned(CPU_CACHELINE)));

/* Slots lie [cpu][user]: a CPU's slots share pages, an unused CPU has none. */
#define CPU_AREA_SHIFT 16
#define CPU_AREA_SLOTS ((UINT32_C(1) << CPU_AREA_SHIFT) / sizeof(struct cpu_slot))

static inline struct cpu_slot *cpu_slot(char *slots, long cpu)
{
	return (struct cpu_slot *)(slots + cpu * (1L << CPU_AREA_SHIFT));
}

/* What became of a section. */
enum cpu_result {
	CPU_DONE,   /* committed */
	CPU_MISS,   /* a condition did not hold, nothing changed */
	CPU_MOVED,  /* not on that CPU (any more), nothing changed: look again */
	CPU_DOUBLE, /* the object is free already, nothing changed */
	CPU_FULL,   /* all objects of the slab are free already, nothing changed */
};

/* A batch of offsets that was taken out of a gather buffer. */
struct cpu_batch {
	struct cpu_slab *slab;
	unsigned count;
	uint16_t offset8[CPU_GATHER_MAX];
};

/*
 * An engine. `cpu` is the CPU whose slot or slab is meant; result as above.
 * Sections on a closed slot miss.
 */
struct cpu_engine {
	const char *name;
	/* The CPU this thread can run sections for, < 0 when it cannot. */
	int (*cpu)(void);
	/* One object off the current slab; NULL: miss or moved. */
	void *(*pop)(char *slots);
	/* The hot object, whether or not there is a current slab. */
	void *(*pop_hot)(char *slots);
	/* Push onto a slab that `cpu` owns; double: it is hot, or on top. */
	enum cpu_result (*push)(char *slots, int cpu, struct cpu_slab *slab, uint16_t offset8);
	/* Up to n objects off the current slab: how many. */
	size_t (*pop_bulk)(char *slots, size_t n, void **objs);
	enum cpu_result (*push_bulk)(char *slots, int cpu, struct cpu_slab *slab, unsigned n,
				     const uint16_t *offset8);
	/* current = slab if there is none. */
	enum cpu_result (*install)(char *slots, int cpu, struct cpu_slab *slab);
	/* current = none if it is `slab` and that is exhausted. */
	enum cpu_result (*retire)(char *slots, int cpu, struct cpu_slab *slab);
	/* owner = none, if owned by `cpu` (and exhausted, when asked for). */
	enum cpu_result (*disown)(char *slots, int cpu, struct cpu_slab *slab, bool exhausted);
	/* owner = none whatever else goes on; the slot is closed. Fence after it. */
	void (*revoke)(char *slots, int cpu, struct cpu_slab *slab);
	/* Put a chain of `n` slabs on the list: first … last, linked by next. */
	enum cpu_result (*partial_push)(char *slots, int cpu, struct cpu_slab *first,
					struct cpu_slab *last, unsigned n);
	enum cpu_result (*partial_pop)(char *slots, int cpu, struct cpu_slab **ret_slab);
	/* The whole list: its word. */
	enum cpu_result (*partial_take)(char *slots, int cpu, uint64_t *ret_word);
	/* Append to the gather buffer; a miss means: full or another slab's; double:
	 * it was appended last. */
	enum cpu_result (*gather)(char *slots, int cpu, struct cpu_slab *slab, uint16_t offset8);
	/* Empty the gather buffer into *batch; a miss means it was empty. */
	enum cpu_result (*gather_take)(char *slots, int cpu, struct cpu_batch *batch);
	/* Wait until no section on these slots that began before is still running. */
	void (*fence)(char *slots);
	bool links; /* freelists are links beside the objects, not stacks (cpu_slab.c) */
	bool locks; /* sections take their slot's lock */
};

extern const struct cpu_engine cpu_engine_rseq;
extern const struct cpu_engine cpu_engine_cmpxchg16b;
extern const struct cpu_engine cpu_engine_mutex;

/* The engine in use: set once by cpu_engine_init(), before any slot exists. */
extern const struct cpu_engine *cpu_engine __attribute__((visibility("hidden")));

/*
 * Where a thread finds its struct rseq, relative to the thread pointer. Points
 * at a stand-in that says "no CPU" unless the rseq engine runs: then every fast
 * path misses and the slow path asks the engine.
 */
extern long cpu_rseq_offset __attribute__((visibility("hidden")));

/*
 * cpu_engine_init: choose an engine. `wanted` is a name, or NULL for the best
 * one that passes its self-test. Falls back to the next engine, never fails;
 * returns false when the wanted one was not to be had. Call once.
 */
bool cpu_engine_init(const char *wanted);

/* Words of the largest mask of CPUs that is understood: 8192 CPUs. */
#define CPU_MASK_WORDS (8192 / (8 * sizeof(unsigned long)))

/*
 * cpu_possible: CPUs that threads may run on are 0 … cpu_possible()-1: what walks over
 * slots go by. Grows at most once, when cpu_met() proves it wrong.
 * cpu_met: a thread runs on this CPU. Async-signal-safe.
 * cpu_rows_cover: is there a row of slots for this CPU, and for each other that the kernel
 * may run a thread on?
 */
unsigned cpu_possible(void);
void cpu_possible_is_wrong(void);
bool cpu_rows_cover(int cpu);
/* What cpu_possible() returns, once it was called. */
extern unsigned cpu_possible_count __attribute__((visibility("hidden")));

static inline void cpu_met(int cpu)
{
	if (__builtin_expect(cpu >= (int)__atomic_load_n(&cpu_possible_count, __ATOMIC_RELAXED),
			     0) &&
	    cpu >= (int)cpu_possible())
		cpu_possible_is_wrong();
}

#ifdef SLAB_TESTING
/* Believe in n possible CPUs, on more of which threads may run: before there are slots. */
void cpu_set_possible(unsigned n);
#endif

/*
 * cpu_slots_create: slots for one more user, all empty; NULL and errno ENOMEM.
 * cpu_slots_destroy: the slots must be empty. Callers serialise both.
 */
char *cpu_slots_create(void);
void cpu_slots_destroy(char *slots);
/* Calls fn for the slot of each user and each CPU that threads may run on. */
void cpu_slots_each(void (*fn)(struct cpu_slot *slot));
/* Slots of a user who never gets past the slow path: always empty, read-only. */
char *cpu_slots_none(void);
/* Address space in use for slots: so many areas of so many rows, of which two stand
 * before those of the CPUs. */
extern unsigned cpu_area_count;
#define CPU_AREA_ROWS_BEFORE 2u

static inline uint64_t cpu_area_bytes(unsigned areas, unsigned cpus)
{
	return (uint64_t)areas * (cpus + CPU_AREA_ROWS_BEFORE) << CPU_AREA_SHIFT;
}

/* Fork: engines with locks hold all of them over it. The caller keeps slots from
 * being created or destroyed meanwhile. */
void cpu_slots_lock_all(void);
void cpu_slots_unlock_all(void);

/* --- slabs in hand -------------------------------------------------------- */

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
/* Make an empty slab, in hand. */
void cpu_slab_init(struct cpu_slab *slab, char *base, size_t size, unsigned room, const void *user);
/* Free objects on the owner's side, of a slab in hand (a guess otherwise). */
unsigned cpu_slab_free_count(const struct cpu_slab *slab);
/* Put n free objects in, or as many as fit; take up to n out; only while it is isolated. */
void cpu_slab_hand_put(struct cpu_slab *slab, unsigned n, const uint16_t *offset8);
unsigned cpu_slab_hand_take(struct cpu_slab *slab, unsigned n, uint16_t *offset8);
/* Call fn for every free object on the owner's side of a slab in hand. */
void cpu_slab_hand_each(struct cpu_slab *slab, void (*fn)(void *arg, uint16_t offset8), void *arg);
/* From hand to a CPU: the release that publishes what was put in. */
void cpu_slab_set_owner(struct cpu_slab *slab, uint32_t cpu);

#endif /* CPU_CACHE_H */
