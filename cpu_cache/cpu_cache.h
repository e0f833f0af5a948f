/* SPDX-License-Identifier: MIT */
/*
 * The per-CPU layer: slots, owned slabs, and the engines that commit to them.
 *
 * A *slot* belongs to one CPU and one user of this layer (a cache, which this
 * layer does not know). It names the slab that the CPU allocates from
 * (current), a list of further slabs that the CPU owns (partial), and a remote
 * batch: objects that the CPU has freed, of one slab that another CPU owns.
 *
 * An *owned slab* has a freelist that only its owner CPU changes: a stack of
 * 16-bit offsets beside the objects, not in them. The slot also holds the
 * *last-freed* object, of any slab: the next allocation returns it.
 *
 * Beside its slot a CPU has a *LIFO* of freed objects: pointers to objects of slabs that it
 * does not own. A free goes there when neither the last-freed word nor an owned slab takes
 * the object; an allocation comes from there when the current slab is exhausted. So a load
 * with random lifetimes, in which nearly all slabs are full, seldom moves slabs. A full LIFO
 * stays full: further objects go to their slabs. As allocations and frees make the number of
 * its objects rise and fall at random, one in CPU_LIFO_MAX operations finds it full or empty.
 *
 * A free detects a double free when the object is the last-freed one, on top of
 * its stack, or the newest of the LIFO or of the remote batch: one comparison with a word that
 * is loaded anyway. A freelist that holds all objects of its slab accepts no
 * further one: one of them was freed twice, and the stack would overflow.
 *
 * Everything a CPU does here is a *section*: reads, checks, and one committing
 * store, which takes effect only if the thread stayed on that CPU undisturbed.
 * pseudocode.h says what each section does; the three engines (rseq.c,
 * cmpxchg16b.c, mutex.c) do exactly that with different means.
 *
 * An *isolated* slab has no owner, is on no list and is known to one thread only;
 * cpu_slab_put(), cpu_slab_take() and cpu_slab_each() change it without sections.
 */
#ifndef CPU_CACHE_H
#define CPU_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cpu_slab.h"
#include "slots.h"

#define CPU_BATCH_MAX 64
#define CPU_LIFO_MAX 63u
#define CPU_EVENTS 16

/* One CPU's slot. Only sections of that CPU write the first four words. */
struct cpu_slot {
	uint64_t last_freed;             /* the object freed last, or 0; rseq only */
	struct cpu_slab *current; /* allocated from */
	uint64_t partial;         /* list word of owned slabs with free objects */
	uint64_t remote_batch;          /* slab | count << 48: of remote_batch_buf */
	uint64_t handed_off;        /* slabs listed from elsewhere: exchanged, never popped */
	uint64_t closed;          /* non-zero while a thread revokes this slot */
	uint32_t lock;            /* engines that lock their slow sections */
	uint32_t partial_limit;   /* the user's: when to look through partial again */
	uint32_t counted;         /* the user's: allocations while it counts (tally.h) … */
	uint32_t counted_before;  /* … and how many of them it has taken in */
	uint16_t remote_batch_buf[CPU_BATCH_MAX]; /* offsets in units of 8 bytes */
	uint64_t event[CPU_EVENTS];          /* the user's counters, kept without locks */
} __attribute__((aligned(CPU_CACHELINE)));

/* One CPU's LIFO of one user. Only sections of that CPU write it, until it is revoked. Only
 * restartable sequences have one: a locked push would cost as much as it spares. */
struct cpu_lifo {
	uint64_t count;
	void *obj[CPU_LIFO_MAX];
};

/* What became of a section. */
enum cpu_result {
	CPU_DONE,   /* committed */
	CPU_MISS,   /* a condition did not hold, nothing changed */
	CPU_MOVED,  /* not on that CPU (any more), nothing changed: look again */
	CPU_DOUBLE, /* the object is free already, nothing changed */
	CPU_FULL,   /* all objects of the slab are free already, nothing changed */
};

/* A batch of offsets that was taken out of a remote batch. */
struct cpu_batch {
	struct cpu_slab *slab;
	unsigned count;
	uint16_t offset8[CPU_BATCH_MAX];
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
	/* The last-freed object, or else the newest of the LIFO, whether or not there is a
	 * current slab. */
	void *(*pop_held)(char *slots);
	/* The newest object of the LIFO, while there is a current slab. */
	void *(*lifo_pop)(char *slots);
	/* An object of a slab that `cpu` does not own; a miss means that it does, or that there
	 * are `max` objects in the LIFO; double: it is the last-freed object, or the newest. */
	enum cpu_result (*lifo_push)(char *slots, int cpu, struct cpu_slab *slab, uint16_t offset8,
				     uint64_t max);
	/* Push onto a slab that `cpu` owns; double: it is the last-freed object, or on top. */
	enum cpu_result (*push)(char *slots, int cpu, struct cpu_slab *slab, uint16_t offset8);
	/* Up to n objects off the current slab: how many. */
	size_t (*pop_bulk)(char *slots, size_t n, void **objs);
	enum cpu_result (*push_bulk)(char *slots, int cpu, struct cpu_slab *slab, unsigned n,
				     const uint16_t *offset8);
	/* current = slab if there is none. */
	enum cpu_result (*install)(char *slots, int cpu, struct cpu_slab *slab);
	/* current = none if it is `slab` and that is exhausted. */
	enum cpu_result (*retire)(char *slots, int cpu, struct cpu_slab *slab);
	/* owner = none, if owned by `cpu` and, with `exhausted`, without free objects. */
	enum cpu_result (*disown)(char *slots, int cpu, struct cpu_slab *slab, bool exhausted);
	/* owner = none, whatever other sections do; the slot is closed. Fence after it. */
	void (*revoke)(char *slots, int cpu, struct cpu_slab *slab);
	/* Put a chain of `n` slabs on the list: first … last, linked by next. */
	enum cpu_result (*partial_push)(char *slots, int cpu, struct cpu_slab *first,
					struct cpu_slab *last, unsigned n);
	enum cpu_result (*partial_pop)(char *slots, int cpu, struct cpu_slab **ret_slab);
	/* The whole list: its word. */
	enum cpu_result (*partial_take)(char *slots, int cpu, uint64_t *ret_word);
	/* Append to the remote batch; a miss means: full or another slab's; double:
	 * it was appended last. */
	enum cpu_result (*batch_add)(char *slots, int cpu, struct cpu_slab *slab, uint16_t offset8);
	/* Empty the remote batch into *batch; a miss means it was empty. */
	enum cpu_result (*batch_take)(char *slots, int cpu, struct cpu_batch *batch);
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
 * path misses and the slow path calls the engine.
 */
extern long cpu_rseq_offset __attribute__((visibility("hidden")));

/*
 * cpu_engine_init: choose an engine. `wanted` is a name, or NULL for the best
 * one that passes its self-test. Falls back to the next engine, never fails;
 * returns false when the wanted one was not to be had. Call once.
 */
bool cpu_engine_init(const char *wanted);

/* Fork: engines with locks hold all of them over it. The caller keeps slots from
 * being created or destroyed meanwhile. */
void cpu_slots_lock_all(void);
void cpu_slots_unlock_all(void);

#endif /* CPU_CACHE_H */
