/* SPDX-License-Identifier: MIT */
/*
 * The interface between the files of the memory benchmark.
 *
 * The program is linked once per contestant: contestant_malloc.c calls malloc, which
 * LD_PRELOAD may replace, and contestant_slab.c calls libslab. All other code is the same, so
 * all contestants do the same work in the same order. The program's own data are in shared
 * mappings (bench_map()), which are not anonymous memory: except for some stacks, the
 * anonymous memory that the runner measures belongs to the allocator.
 *
 * The runner and the program exchange lines: the program reports its phase and waits for a
 * line while the runner measures (bench_hold()).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "process.h"

/*
 * Objects of fixed size: structs of a directory server (389-ds 2.3), and the sizes of
 * the object benchmark alone.
 */
enum type {
	TYPE_BACKENTRY,
	TYPE_ENTRY,
	TYPE_ATTR,
	TYPE_VALUE,
	TYPE_DN,
	TYPE_PBLOCK,
	TYPE_OPERATION,
	TYPE_64,
	TYPE_240,
	TYPE_712,
	TYPE_2112,
	TYPES
};

struct type_info {
	const char *name;
	size_t size;
	bool movable; /* part of a record, which knows where it stands */
};

extern const struct type_info types[TYPES];

/* --- the contestant ------------------------------------------------------------------------- */

/* What a contestant calls that moves objects (record.h). */
struct movers {
	bool (*isolate)(void *obj); /* true: it may be moved */
	bool (*migrate)(void *from, void *to, size_t size); /* true: it was */
	void (*moved)(void);        /* all have moved */
	void (*untag)(void *obj);   /* this object is in no record */
};

/* contestant_begin: get ready; movers: objects may be moved. False: one line was printed. */
bool contestant_begin(const struct movers *movers);
/* contestant_allocator: what serves the memory, for the record: a path or a version. */
const char *contestant_allocator(void);
void *contestant_alloc(enum type type);
void contestant_free(enum type type, void *obj);
void *contestant_malloc(size_t size);
void contestant_mfree(void *ptr);
/* contestant_single: the only object of a new type. */
void *contestant_single(const struct type_info *type);
/* contestant_fits: the size of the object's size class is `size`; malloc does not tell. */
bool contestant_fits(void *ptr, size_t size);
/* contestant_defrag: move objects of sparse slabs together; how many were moved. */
long contestant_defrag(void);

/* --- help ------------------------------------------------------------------------------------- */

/* bench_hold: as bench_say(), and wait for the runner's answer. */
void bench_hold(const char *what);

/* bench_mix: any number to a random one, the same each time, never 0. */
static inline uint64_t bench_mix(uint64_t x)
{
	x = (x + 1) * 0x9e3779b97f4a7c15;
	x = (x ^ x >> 32) * 0xd6e8feb86659fd93;
	return (x ^ x >> 32) | 1;
}

/* bench_touch: write to memory, so that it is resident. */
void bench_touch(void *ptr, size_t size);

/* --- the cases -------------------------------------------------------------------------------- */

/* peak: N objects, 90 % of them freed at random, idle. what: entries, objects, or a size. */
void peak_run(const char *what, size_t bytes);
/* churn: what a directory server does to its entry cache, for `seconds`. */
void churn_run(unsigned seconds);
/* small: one object of each of many types or size classes. what: caches or classes. */
void small_run(const char *what);
/* aging: loads that leave memory behind. false: `what` is not the name of one. */
bool aging_run(const char *what);
