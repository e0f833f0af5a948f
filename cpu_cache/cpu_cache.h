/* SPDX-License-Identifier: MIT */
/*
 * The per-CPU layer: slots, owned slabs, and the engines that commit changes to them.
 *
 * A *slot* belongs to one CPU and one user of this layer (a cache, which this layer does not
 * know). It names the *current* slab, from which the CPU allocates, a list of further slabs that
 * the CPU owns (*partial*), and a *remote batch*: objects that the CPU has freed, of one slab
 * that another CPU owns.
 *
 * An *owned slab* has a freelist that only its owner CPU changes: a stack of 16-bit offsets
 * beside the objects, not in them.
 *
 * Beside its slot a CPU has a *LIFO*: pointers to freed objects of any slabs. Allocations and frees
 * use it first, the current slab and the owned slabs only when it is empty or full. So a load with
 * random lifetimes seldom touches slabs, and an allocation returns the object that was freed last,
 * whose memory is in the CPU's cache. Random allocations and frees make the number of its objects
 * rise and fall, so few operations find it full or empty. The layer above can then take many
 * objects out of it, or fill it, in one section.
 *
 * A free detects a double free when the object is the newest of the LIFO, of its stack or of the
 * remote batch. Each check is one comparison with a word that is loaded anyway. A freelist that
 * holds all objects of its slab accepts no other: one of them was freed twice, and the stack would
 * overflow.
 *
 * Everything a CPU does here is a *section*: reads, checks, and one committing store. The store
 * takes effect only if the thread stayed on that CPU undisturbed. pseudocode.h specifies each
 * section; the three engines (rseq.c, cmpxchg16b.c, mutex.c) implement exactly that by different
 * means.
 *
 * An *isolated* slab has no owner, is on no list and is known to one thread only.
 * cpu_slab_put(), cpu_slab_take() and cpu_slab_each() work on it without sections.
 */
#ifndef CPU_CACHE_H
#define CPU_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cpu_slab.h"
#include "slots.h"

#define CPU_BATCH_MAX 64
/* 63 cache lines with count and limit: so those of several LIFOs share no set of the cache. */
#define CPU_LIFO_MAX 502u
#define CPU_EVENTS 16

/* One CPU's slot. Only sections of that CPU write the first three words, until it is revoked. */
struct cpu_slot {
	struct cpu_slab *current; /* the slab to allocate from */
	uint64_t partial;         /* list word of owned slabs with free objects */
	uint64_t remote_batch;          /* slab | count << 48: describes remote_batch_buf */
	uint64_t handed_off;        /* stack of slabs pushed by any CPU; taken as a whole */
	uint64_t closed;          /* non-zero while a thread revokes this slot */
	uint32_t lock;            /* for engines with locked sections */
	uint32_t partial_limit;   /* of the user: length of `partial` that starts a scan */
	uint32_t counted;         /* of the user: allocations counted (tally.h) */
	uint32_t counted_before;  /* of the user: those that were added up */
	uint16_t remote_batch_buf[CPU_BATCH_MAX]; /* offsets in units of 8 bytes */
	uint64_t event[CPU_EVENTS];          /* of the user: counters without locks */
	uint64_t unused; /* up to a whole number of cache lines; always 0 */
} __attribute__((aligned(CPU_CACHELINE)));

/*
 * One CPU's LIFO of one user. Only sections of that CPU write it, until it is revoked.
 *
 * pop and push of the rseq engine use it if count <= limit. A limit of 0 closes it for them: in new
 * memory, after a revocation, and while the slot is closed. lifo_push, which the slow path calls,
 * opens it again. A limit that falls below the count leaves the LIFO to lifo_pop.
 *
 * Allocations use LIFOs with the rseq engine only: with a locked push it would cost as much as it
 * saves. With the other engines, slots that serve no allocation have LIFOs.
 */
struct cpu_lifo {
	uint64_t count;
	uint64_t limit;
	void *obj[CPU_LIFO_MAX];
};

/* The result of a section. */
enum cpu_result {
	CPU_DONE,   /* committed */
	CPU_MISS,   /* a condition was false, nothing changed */
	CPU_MOVED,  /* the thread is not on that CPU, nothing changed: retry */
	CPU_DOUBLE, /* the object is free already (double free), nothing changed */
	CPU_FULL,   /* all objects of the slab are free already, nothing changed */
};

/* Offsets that were taken out of a remote batch. */
struct cpu_batch {
	struct cpu_slab *slab;
	unsigned count;
	uint16_t offset8[CPU_BATCH_MAX];
};

/*
 * An engine. `cpu` is the CPU of the slot or the slab. Sections on a closed slot return
 * CPU_MISS, except pop, push, pop_bulk and push_bulk, and except lifo_pop and lifo_push while the
 * LIFO has a limit (pseudocode.h). "Miss", "moved" and "double" mean CPU_MISS, CPU_MOVED and
 * CPU_DOUBLE.
 */
struct cpu_engine {
	const char *name;
	/* The CPU for which this thread can run sections; < 0: none. */
	int (*cpu)(void);
	/* Take one object off the current slab. NULL: miss or moved. */
	void *(*pop)(char *slots);
	/* Take the newest object of the LIFO, with or without a current slab. */
	void *(*lifo_pop)(char *slots);
	/* Open the LIFO for `max` objects, and push an object of any slab. Miss: the LIFO has `max`
	 * objects. Double: the object is the newest. */
	enum cpu_result (*lifo_push)(char *slots, int cpu, void *obj, uint64_t max);
	/* Move the n newest objects of the LIFO to objs, the newest last. Miss: it has fewer. */
	enum cpu_result (*lifo_take)(char *slots, int cpu, size_t n, void **objs);
	/* Open the LIFO for `max` objects, and push n objects of any slabs. Miss: it would have more
	 * than `max`, and is not empty. Double: the first object is the newest of the LIFO. */
	enum cpu_result (*lifo_push_bulk)(char *slots, int cpu, size_t n, void *const *objs,
					  uint64_t max);
	/* Push an object onto a slab that `cpu` owns. Double: it is on top. */
	enum cpu_result (*push)(char *slots, int cpu, struct cpu_slab *slab, uint16_t offset8);
	/* Take up to n objects off the current slab, the one on top last; returns their number. */
	size_t (*pop_bulk)(char *slots, size_t n, void **objs);
	enum cpu_result (*push_bulk)(char *slots, int cpu, struct cpu_slab *slab, unsigned n,
				     const uint16_t *offset8);
	/* Make the slab current if there is no current slab. */
	enum cpu_result (*install)(char *slots, int cpu, struct cpu_slab *slab);
	/* Clear current if it is `slab` and the slab is exhausted. */
	enum cpu_result (*retire)(char *slots, int cpu, struct cpu_slab *slab);
	/* Clear the owner, if it is `cpu` and, with `exhausted`, the slab has no free
	 * objects. */
	enum cpu_result (*disown)(char *slots, int cpu, struct cpu_slab *slab, bool exhausted);
	/* Clear the owner, whatever other sections do. The slot is closed; a fence must
	 * follow. */
	void (*revoke)(char *slots, int cpu, struct cpu_slab *slab);
	/* Put a chain of `n` slabs, from `first` to `last` and linked by next, on the list. */
	enum cpu_result (*partial_push)(char *slots, int cpu, struct cpu_slab *first,
					struct cpu_slab *last, unsigned n);
	enum cpu_result (*partial_pop)(char *slots, int cpu, struct cpu_slab **ret_slab);
	/* Take the whole list; *ret_word is its list word. */
	enum cpu_result (*partial_take)(char *slots, int cpu, uint64_t *ret_word);
	/* Append to the remote batch. Miss: it is full or of another slab. Double: the object
	 * was appended last. */
	enum cpu_result (*batch_add)(char *slots, int cpu, struct cpu_slab *slab, uint16_t offset8);
	/* Move the remote batch to *batch. Miss: it was empty. */
	enum cpu_result (*batch_take)(char *slots, int cpu, struct cpu_batch *batch);
	/* Wait until no section on these slots that began before the call can commit. false: the
	 * kernel refuses what this takes, and such a section may still commit. */
	bool (*fence)(char *slots);
	bool links; /* freelists are links, not stacks (cpu_slab.c) */
	bool locks; /* sections take the slot's lock */
	bool lifos; /* allocations take objects from LIFOs */
};

extern const struct cpu_engine cpu_engine_rseq;
extern const struct cpu_engine cpu_engine_cmpxchg16b;
extern const struct cpu_engine cpu_engine_mutex;

/* The engine in use. cpu_engine_init() sets it once, before any slot exists. */
extern const struct cpu_engine *cpu_engine __attribute__((visibility("hidden")));

/*
 * The offset of a thread's struct rseq from the thread pointer. With other engines than rseq it
 * leads to a stand-in whose CPU is "none". Then every fast path misses, and the slow path calls
 * the engine.
 */
extern long cpu_rseq_offset __attribute__((visibility("hidden")));

/*
 * cpu_engine_init: choose an engine. `wanted` is a name, or NULL for the best engine that passes
 * its self-test. If an engine fails, the next one is used. Returns false if the wanted engine is
 * not available. Called once.
 */
bool cpu_engine_init(const char *wanted);
/* What cpu_engine_init() found missing for the engine rseq, if it tried that engine. */
enum cpu_rseq_lack {
	CPU_RSEQ_LACKS_NOTHING,
	CPU_RSEQ_UNREGISTERED,
	CPU_RSEQ_NOT_RESTARTED,
	CPU_RSEQ_NOT_FENCED,
};

extern enum cpu_rseq_lack cpu_rseq_lack __attribute__((visibility("hidden")));
/* NULL: nothing is missing. */
const char *cpu_rseq_lack_text(enum cpu_rseq_lack lack);
/* Do all operations of the engine in use work, on slots of their own? */
bool cpu_engine_self_test(void);

/* For fork: lock the slots, with engines that have locks. The caller prevents the creation and
 * destruction of slots meanwhile. */
void cpu_slots_lock_all(void);
void cpu_slots_unlock_all(void);

#endif /* CPU_CACHE_H */
