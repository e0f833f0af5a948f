/* SPDX-License-Identifier: MIT */
/*
 * The per-CPU layer: an array of free objects for each CPU and each user, and the engines that
 * commit changes to it.
 *
 * A *user* of this layer (a cache, which this layer does not know) has one *array* on each CPU:
 * pointers to free objects, the one that was freed last on top. Allocations pop, frees push; the
 * layer above moves many objects at once with take and put. Everything a CPU does here is a
 * *section*: reads, checks, and one committing store, which takes effect only if the thread stayed
 * on that CPU undisturbed. The three engines implement the same sections by different means:
 *
 *   rseq        restartable sequences
 *   cmpxchg16b  the newest object, the count and a transaction number in two words, which one
 *               locked double compare-and-exchange commits
 *   mutex       plain C under the array's lock
 *
 * A user reaches its arrays through a pointer of its own ("arrays" below), which sections read. To
 * *close* the arrays of a user, a thread lets that pointer lead to cpu_arrays_none(), calls
 * fence() once for any number of users, and then close() for each CPU. From then on the arrays are
 * empty and stay empty, and every section of the user misses, until open() and the pointer's own
 * value make them usable again.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lock.h"
#include "arrays.h"

#define CPU_CACHELINE 64

/* The result of a section. */
enum cpu_result {
	CPU_DONE,   /* committed */
	CPU_MISS,   /* full, empty or closed, or the section was aborted; nothing changed */
	CPU_DOUBLE, /* the object is the newest of the array: it is free already; nothing changed */
};

/* An engine. `arrays` is the address of the user's pointer. */
struct cpu_engine {
	const char *name;
	/* The CPU for which this thread can run sections; < 0: none. */
	int (*cpu)(void);
	/* Take the newest object. NULL: miss. */
	void *(*pop)(char *const *arrays);
	enum cpu_result (*push)(char *const *arrays, void *obj);
	/* Move up to n of the newest objects to objs, the newest last. Returns their number. */
	size_t (*take)(char *const *arrays, size_t n, void **objs);
	/* Push objs[0], objs[1] … as far as there is room; returns the number of those pushed. */
	size_t (*put)(char *const *arrays, size_t n, void *const *objs);
	/* After the fence: take all objects of one CPU's array, and keep sections from it that
	 * still reach it. The array is empty before this returns. `arrays` has row 0 of the user.
	 * Returns the number of objects, at most cpu_array_room(). */
	size_t (*close)(char *arrays, int cpu, void **objs);
	/* Let sections use a closed array again. */
	void (*open)(char *arrays, int cpu);
	/* Wait until no section that read the old value of a pointer can commit. false: the kernel
	 * refuses what this takes, and such a section may still commit. */
	bool (*fence)(void);
	bool locks; /* sections take the array's lock */
	bool pairs; /* an entry of an array has two words, and `count` another form (arrays.h) */
};

extern const struct cpu_engine cpu_engine_rseq;
extern const struct cpu_engine cpu_engine_cmpxchg16b;
extern const struct cpu_engine cpu_engine_mutex;

/* The engine in use. cpu_engine_init() sets it once, before any array exists. */
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
/* Do all operations of the engine in use work, on arrays of their own? */
bool cpu_engine_self_test(void);

/* For fork: keep other threads from creating and destroying arrays, and lock the arrays, with
 * engines that have locks. */
void cpu_arrays_lock_all(void);
void cpu_arrays_unlock_all(void);
