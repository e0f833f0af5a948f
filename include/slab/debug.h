/* SPDX-License-Identifier: MIT */
/*
 * Hunting corruption: debug letters of a cache, reports, call sites, sampling
 * and fault injection. docs/hunting-corruption.md shows how to use them.
 *
 * A report is what libslab says about a misuse or a damage that it found. It
 * goes to stderr, or is appended to the file that SLAB_LOG names, in one write;
 * after it the program goes on with the damage contained, unless
 * SLAB_DEBUG_ABORT=1.
 *
 * Conventions (errors, threads, signals) are those of <slab/slab.h>.
 */
#ifndef SLAB_DEBUG_H
#define SLAB_DEBUG_H

#include <slab/slab.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- letters ---------------------------------------------------------------- */

/* Letters that slab_cache_debug() takes, and those that "on" stands for: FZPU. */
#define SLAB_DEBUG_LETTERS                                                                         \
	(SLAB_CONSISTENCY_CHECKS | SLAB_RED_ZONE | SLAB_POISON | SLAB_STORE_USER | SLAB_TRACE |    \
	 SLAB_FAILSLAB)
#define SLAB_DEBUG_DEFAULT (SLAB_CONSISTENCY_CHECKS | SLAB_RED_ZONE | SLAB_POISON | SLAB_STORE_USER)

/*
 * slab_cache_debug: change the letters of a cache while it is in use.
 *
 * @letters  any of SLAB_DEBUG_LETTERS, or 0 to switch debugging off.
 *
 * The layout belongs to the slab: objects handed out before stay valid and are
 * freed as they were made; their slabs are not allocated from again and go back
 * when their last object is freed. From now on allocations come from slabs with
 * the new layout. All names of a merged cache change together.
 *
 * Returns 0, or -EINVAL for other flags and for a cache that was destroyed.
 * Other threads may use the cache meanwhile. Not async-signal-safe.
 */
SLAB_API int slab_cache_debug(struct slab_cache *cache, uint64_t letters);

/* --- reports ---------------------------------------------------------------- */

/* What a report is about. New ones are added at the end. */
enum slab_problem {
	SLAB_PROBLEM_LEFT_REDZONE,      /* "Left Redzone overwritten" */
	SLAB_PROBLEM_RIGHT_REDZONE,     /* "Right Redzone overwritten" */
	SLAB_PROBLEM_MALLOC_REDZONE,    /* "slab_malloc Redzone overwritten" */
	SLAB_PROBLEM_ALIGNMENT_PADDING, /* "Alignment padding overwritten" */
	SLAB_PROBLEM_POISON,            /* "Poison overwritten": written to after it was freed;
					 * "Free object overwritten": with a constructor */
	SLAB_PROBLEM_END_POISON,        /* "End Poison overwritten": its last byte */
	SLAB_PROBLEM_OBJECT_PADDING,    /* "Object padding overwritten" */
	SLAB_PROBLEM_SLAB_PADDING,      /* "Padding overwritten": behind a slab's last object */
	SLAB_PROBLEM_FREELIST,          /* "Freepointer corrupt", "Freechain corrupt" */
	SLAB_PROBLEM_COUNT,             /* "Wrong object count …", "Wrong number of objects …" */
	SLAB_PROBLEM_DOUBLE_FREE,       /* "Object already free", "More objects freed …" */
	SLAB_PROBLEM_INVALID_POINTER,   /* "Invalid object pointer …": e.g. into an object */
	SLAB_PROBLEM_WRONG_CACHE,       /* "Wrong slab cache …" */
	SLAB_PROBLEM_NOT_A_SLAB,        /* "Attempt to free object … outside of slab" */
	SLAB_PROBLEM_WRONG_SIZE,        /* slab_free_sized() with a size it cannot have */
	SLAB_PROBLEM_LEAK,              /* "Objects remaining in …" */
	SLAB_PROBLEM_OUT_OF_BOUNDS,     /* a sampled object's guard page was accessed */
	SLAB_PROBLEM_USE_AFTER_FREE,    /* a sampled object was accessed after its free */
};

/* The innermost return addresses that are remembered. */
#define SLAB_STACK_MAX 16

/* Who allocated or freed an object, as remembered by the letter U. */
struct slab_track {
	int tid;         /* thread id; 0: nothing is remembered, the rest is 0 too */
	int cpu;         /* -1: not known */
	uint64_t age_ms; /* how long before the report */
	char thread[16]; /* the thread's name then */
	unsigned frames;
	const void *frame[SLAB_STACK_MAX]; /* return addresses, the caller of libslab first */
};

/* One report. Pointers are valid during the call of the handler. */
struct slab_report {
	size_t struct_size; /* sizeof(struct slab_report) of this library: grows at the end */
	enum slab_problem problem;
	const char *cache;  /* name of the cache */
	const char *reason; /* the heading: "Right Redzone overwritten" */
	const char *text;   /* the whole report, as it would be written */
	const void *object; /* NULL: the problem is not with one object */
	size_t object_size; /* as asked for */
	size_t offset;      /* of the object in its slab */
	const void *first, *last; /* the damaged bytes, inclusive; NULL: none */
	unsigned char found, expected; /* at `first` */
	uint64_t letters;         /* of the slab */
	unsigned objects, used;   /* of the slab: room, and allocated */
	struct slab_track allocated, freed;
	struct slab_track detected; /* who came upon it, like the second of two frees */
	unsigned fixes;      /* "FIX …" lines: what was done about it */
	unsigned long leaked; /* SLAB_PROBLEM_LEAK: objects that remain */
};

/*
 * slab_set_report_handler: call `handler` with every report instead of writing
 * it; NULL restores the default. Any thread may call the handler. For the last two
 * problems a signal handler calls it: there it must not call libslab, nor fork (system()
 * and popen() do). For all others libslab holds no lock: the handler may fork, and may use
 * every cache but the one that the report is about.
 */
SLAB_API void slab_set_report_handler(void (*handler)(const struct slab_report *report, void *arg),
				      void *arg);

/* --- call sites (letter U) --------------------------------------------------- */

enum slab_traces {
	SLAB_TRACES_ALLOCATED, /* who allocated the objects that are allocated now */
	SLAB_TRACES_FREED,     /* who freed those that are free now */
};

#define SLAB_CALL_SITE_CPUS 1024
#define SLAB_CALL_SITE_NODES 64

/* All objects with the same stack. */
struct slab_call_site {
	size_t struct_size;
	uint64_t count; /* objects */
	uint64_t waste; /* bytes: room that slab_malloc's callers did not ask for, of all of them */
	uint64_t age_min_ms, age_avg_ms, age_max_ms;
	int tid_min, tid_max;
	uint64_t cpus[SLAB_CALL_SITE_CPUS / 64]; /* bit c: CPU c */
	uint64_t nodes; /* bit n: node n */
	unsigned frames;
	const void *frame[SLAB_STACK_MAX];
};

/*
 * slab_mark: a point in time, for slab_cache_traces(). Objects allocated after
 * the call count as younger.
 */
SLAB_API uint64_t slab_mark(void);

/*
 * slab_cache_traces: call fn for each call site of a cache, that with the most
 * objects first, until fn returns non-zero.
 *
 * @since  0, or a slab_mark(): only what happened after it.
 *
 * Only slabs with the letter U count. Returns the number of call sites that fn
 * saw, or -errno: EINVAL (destroyed, not a kind), ENODATA (no slab of this cache
 * has the letter U), ENOMEM. Threads: any; not async-signal-safe.
 */
SLAB_API long slab_cache_traces(struct slab_cache *cache, enum slab_traces kind, uint64_t since,
				int (*fn)(const struct slab_call_site *site, void *arg), void *arg);

/* --- sampling ------------------------------------------------------------------ */

/*
 * slab_cache_sample: put one allocation in `n` between guard pages; 0 switches
 * it off. An access beyond such an object, or after it was freed, is reported
 * with both stacks, and the program dies as it would have.
 *
 * The first use installs a handler for SIGSEGV and SIGBUS that calls the one it
 * found; so do debug letters. Up to 1000, n is exact. Above, it is counted on the
 * slow path and estimated from there, and not more than 1000 allocations are
 * taken in a second; objects that are allocated and freed in turns never come to
 * the slow path and are reached ten times a second, by the control thread or
 * slab_control_dispatch(), so not with SLAB_CONTROL=off, nor in a fork's child
 * before it has a control thread. At most 1024 objects of a process are guarded at a time;
 * objects of more than 24 KiB never are.
 *
 * Returns 0, or -EINVAL: the cache was destroyed.
 */
SLAB_API int slab_cache_sample(struct slab_cache *cache, unsigned long n);

/* --- fault injection -------------------------------------------------------------- */

/*
 * slab_set_fail: replace the fault injection of SLAB_FAIL, by the same syntax:
 * a comma list of probability=PERCENT, interval=N, times=N, cache=NAME. NULL or ""
 * switches it off. Without cache=, page allocations and objects of caches with
 * the letter A fail; with it, only allocations from caches that match (a
 * trailing * matches any end).
 *
 * Returns 0, or -EINVAL, and nothing changes.
 */
SLAB_API int slab_set_fail(const char *spec);

#ifdef __cplusplus
}
#endif

#endif /* SLAB_DEBUG_H */
