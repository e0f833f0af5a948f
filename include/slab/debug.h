/* SPDX-License-Identifier: MIT */
/*
 * Finding memory corruption: debug flags of a cache, reports, call sites, sampling and fault
 * injection. docs/hunting-corruption.md shows how to use them.
 *
 * A report describes misuse or damage that libslab found. libslab writes each report in one write
 * to stderr, or appends it to the file that SLAB_LOG names. Then it contains the damage, and the
 * program continues. With SLAB_DEBUG_ABORT=1 libslab aborts the program after the first report.
 *
 * <slab/slab.h> defines the conventions of errors and safety.
 */
#ifndef SLAB_DEBUG_H
#define SLAB_DEBUG_H

#include <slab/slab.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- debug flags ------------------------------------------------------------- */

/* The flags of slab_cache_debug(): all; and those of "FZPU", the default of SLAB_DEBUG and of
 * slabinfo -da. */
#define SLAB_DEBUG_FLAGS                                                                           \
	(SLAB_CONSISTENCY_CHECKS | SLAB_RED_ZONE | SLAB_POISON | SLAB_STORE_USER | SLAB_TRACE |    \
	 SLAB_FAILSLAB)
#define SLAB_DEBUG_DEFAULT (SLAB_CONSISTENCY_CHECKS | SLAB_RED_ZONE | SLAB_POISON | SLAB_STORE_USER)

/*
 * slab_cache_debug: change the debug flags of a cache while it is in use.
 *
 * @debug_flags  any of SLAB_DEBUG_FLAGS, or 0 to switch debugging off
 *
 * Each slab keeps the layout that it was created with (in SLUB the layout belongs to the cache).
 * Objects allocated before the call stay valid, and libslab frees them with their old layout.
 * libslab does not allocate from their slabs again, and releases each when its last object is
 * freed. After the call, allocations come from slabs with the new layout. The first use of debug
 * flags installs a handler of SIGSEGV and SIGBUS, as slab_cache_sample() does.
 *
 * Returns 0, or -EINVAL: a flag is no debug flag, or the cache was destroyed.
 * MT-safe, fork-safe, cancel-safe, not async-signal-safe.
 */
SLAB_API int slab_cache_debug(struct slab_cache *cache, uint64_t debug_flags);

/* --- reports ---------------------------------------------------------------- */

/* The kind of problem of a report (slab_set_report_handler()). Later versions add new ones at the
 * end. */
enum slab_problem {
	SLAB_PROBLEM_LEFT_REDZONE,      /* "Left Redzone overwritten" */
	SLAB_PROBLEM_RIGHT_REDZONE,     /* "Right Redzone overwritten" */
	SLAB_PROBLEM_MALLOC_REDZONE,    /* "slab_malloc Redzone overwritten" */
	SLAB_PROBLEM_ALIGNMENT_PADDING, /* "Alignment padding overwritten" */
	SLAB_PROBLEM_POISON,            /* "Poison overwritten": write after the free;
					 * "Free object overwritten": with a constructor */
	SLAB_PROBLEM_END_POISON,        /* "End Poison overwritten": its last byte */
	SLAB_PROBLEM_OBJECT_PADDING,    /* "Object padding overwritten" */
	SLAB_PROBLEM_SLAB_PADDING,      /* "Padding overwritten": behind a slab's last object */
	SLAB_PROBLEM_FREELIST,          /* "Map of free objects corrupt", "Freepointer corrupt" */
	SLAB_PROBLEM_COUNT,             /* "Wrong object count …", "Wrong number of objects …" */
	SLAB_PROBLEM_DOUBLE_FREE,       /* "Object already free" */
	SLAB_PROBLEM_INVALID_POINTER,   /* "Invalid object pointer …": e.g. into an object */
	SLAB_PROBLEM_WRONG_CACHE,       /* "Wrong slab cache …" */
	SLAB_PROBLEM_NOT_A_SLAB,        /* "Attempt to free object … outside of slab" */
	SLAB_PROBLEM_WRONG_SIZE,        /* "Wrong size …", "Freed as … bytes, …" */
	SLAB_PROBLEM_LEAK,              /* "Objects remaining in …" */
	SLAB_PROBLEM_OUT_OF_BOUNDS,     /* access to a sampled object's guard page */
	SLAB_PROBLEM_USE_AFTER_FREE,    /* access to a sampled object after its free */
	SLAB_PROBLEM_DESTROYED_CACHE,   /* "Allocation from a destroyed cache", and the like */
	SLAB_PROBLEM_WRONG_PAIR,        /* "Freed by …, allocated by …": delete of new[] */
};

/* The most return addresses of a recorded stack. The last one is NULL if the stack has more. */
#define SLAB_STACK_MAX 32

/* An allocation or a free of an object, as debug flag U records it, in a report
 * (slab_set_report_handler()). */
struct slab_track {
	int tid;         /* thread id; 0: nothing is recorded, all members are 0 */
	int cpu;         /* -1: unknown */
	uint64_t age_ms; /* milliseconds before the report */
	char thread[16]; /* the thread's name at that time */
	unsigned frames; /* number of return addresses */
	const void *frame[SLAB_STACK_MAX]; /* return addresses, the caller of libslab first */
};

/* One report, for slab_set_report_handler(). The struct and what its pointers lead to are valid
 * during the handler's call. */
struct slab_report {
	size_t struct_size; /* sizeof(struct slab_report) of this library: grows at the end */
	enum slab_problem problem;
	const char *cache;    /* name of the cache */
	const char *reason;   /* the heading: "Right Redzone overwritten" */
	const char *text;     /* the whole report, as libslab would write it */
	const void *object;   /* NULL: the problem does not concern one object */
	size_t object_size;   /* requested size */
	size_t offset;        /* of the object in its slab */
	const void *first, *last; /* the damaged bytes, inclusive; NULL: none */
	unsigned char found, expected; /* at `first` */
	uint64_t debug_flags; /* debug flags of the slab */
	unsigned objects, used;   /* of the slab: objects that fit, allocated objects */
	struct slab_track allocated, freed; /* the object's allocation and its last free; freed:
					     * of a destroyed cache, its destruction */
	struct slab_track detected; /* the call in which libslab found the problem */
	unsigned fixes;      /* "FIX …" lines: repairs */
	unsigned long leaked; /* SLAB_PROBLEM_LEAK: objects that remain */
};

/*
 * slab_set_report_handler: set a function that libslab calls with every report, instead of writing
 * the report.
 *
 * @handler  NULL restores the default. libslab calls the handler in the thread that finds the
 *           problem, possibly in several threads at once. libslab holds no lock: the handler may
 *           fork, and may use every cache except the one that the report is about. For
 *           SLAB_PROBLEM_OUT_OF_BOUNDS and SLAB_PROBLEM_USE_AFTER_FREE libslab calls it in a signal
 *           handler: there it must not call libslab, and must not fork (system() and popen() fork).
 * @arg      passed to the handler
 *
 * Another thread may still be in a call of the previous handler when the function returns. So a
 * library with a handler must stay loaded. The child of a fork has its parent's handler. With
 * SLAB_DEBUG_ABORT=1 libslab aborts the program after the handler returned. The lines of the debug
 * flag T are no reports.
 * MT-safe, fork-safe, cancel-safe, not async-signal-safe.
 */
SLAB_API void slab_set_report_handler(void (*handler)(const struct slab_report *report, void *arg),
				      void *arg);

/* --- call sites (debug flag U) ------------------------------------------------ */

/* What slab_cache_traces() looks for. */
enum slab_traces {
	SLAB_TRACES_ALLOCATED, /* allocations of the objects in use */
	SLAB_TRACES_FREED,     /* frees of the free objects */
};

#define SLAB_CALL_SITE_CPUS 1024
#define SLAB_CALL_SITE_NODES 64

/* All objects whose allocation, or whose free, has the same stack. */
struct slab_call_site {
	size_t struct_size; /* sizeof(struct slab_call_site) of this library: grows at the end */
	uint64_t count; /* objects */
	uint64_t waste; /* bytes of all of them beyond the sizes requested of slab_malloc() */
	uint64_t age_min_ms, age_avg_ms, age_max_ms; /* milliseconds before the call */
	int tid_min, tid_max; /* the lowest and the highest thread id */
	uint64_t cpus[SLAB_CALL_SITE_CPUS / 64]; /* bit c: CPU c */
	uint64_t nodes; /* bit n: node n */
	unsigned frames; /* number of return addresses; 0: the stack is unknown */
	const void *frame[SLAB_STACK_MAX]; /* return addresses, the caller of libslab first */
};

/*
 * slab_mark: the current time, for slab_cache_traces(), in milliseconds of a clock that only goes
 * forward. The call waits until the next millisecond, so that objects allocated after it count as
 * younger.
 * MT-safe, fork-safe, cancel-safe, not async-signal-safe.
 */
SLAB_API uint64_t slab_mark(void);

/*
 * slab_cache_traces: call fn for each call site of a cache, from the most objects to the fewest,
 * until fn returns non-zero. Only slabs with the debug flag U count. libslab holds no lock while fn
 * runs.
 *
 * @kind   allocations or frees
 * @since  0, or a slab_mark(): only operations after it count
 * @arg    passed to fn
 *
 * Returns the number of call sites passed to fn, or
 *   -EINVAL           the cache was destroyed, or the kind is invalid
 *   -ENODATA          no slab of this cache has the debug flag U
 *   -ENOMEM           no memory
 * MT-safe, fork-safe, cancel-safe, not async-signal-safe.
 */
SLAB_API long slab_cache_traces(struct slab_cache *cache, enum slab_traces kind, uint64_t since,
				int (*fn)(const struct slab_call_site *site, void *arg), void *arg);

/* --- sampling ------------------------------------------------------------------ */

/*
 * slab_cache_sample: guard one in `n` allocations with guard pages; 0 switches sampling off.
 *
 * When the program accesses memory beyond such an object, or the object after its free, libslab
 * reports the access with the stacks of allocation and free. Then the program dies by the signal.
 * With n of some thousands the cost is negligible. The first use installs a handler of SIGSEGV and
 * SIGBUS that calls the previous handler; so do debug flags. libslab guards at most 1024 objects of
 * a process at a time. It never guards allocations of slab_malloc() from the cache size-32k, whose
 * alignment leaves no room for guard pages. It never guards objects of type-safe caches
 * (<slab/rcu.h>); for a type-safe cache the function has no effect.
 *
 * Up to 1000, n is exact. Above 1000, libslab counts allocations on the slow path alone, estimates
 * the others, and guards at most 1000 allocations per second. A program that allocates and frees
 * alternately stays on the fast path; so ten times a second the control thread or
 * slab_control_dispatch() sends the next allocation to the slow path. This does not happen with
 * SLAB_CONTROL=off, and not before the process, or the child of a fork, has a control thread
 * (<slab/control.h>).
 * Algorithm: as the kernel's KFENCE and GWP-ASan.
 *
 * Returns 0, or -EINVAL: the cache was destroyed.
 * MT-safe, fork-safe, cancel-safe, not async-signal-safe.
 */
SLAB_API int slab_cache_sample(struct slab_cache *cache, unsigned long n);

/* --- heap profile ----------------------------------------------------------------- */

/*
 * slab_set_profile: switch the heap profile of this process on or off, as SLAB_PROFILE does.
 *
 * @period  the mean number of bytes between two samples, as 512 * 1024; 0: off
 *
 * libslab samples allocations of all caches and large allocations at random, one of `size` bytes
 * with the probability 1 - exp(-size / period), and records their stacks. slabinfo --pprof and
 * --flame write them as a profile (docs/profiling.md). Objects that were allocated before are
 * not in it. Samples stay in the profile when it is switched off; their frees are still counted.
 * After a change of the period, older samples count as many allocations as they did before. Each
 * call with a period begins a new peak (slabinfo --profile=peak). A forked child continues, with
 * the samples of the parent.
 *
 * While the profile is on, allocations leave the fast path to count their bytes, which takes some
 * nanoseconds. A sample takes some microseconds.
 *
 * Returns 0, or -ENOMEM: no memory for the table of samples, and nothing has changed.
 * MT-safe, fork-safe, cancel-safe, not async-signal-safe.
 */
SLAB_API int slab_set_profile(size_t period);

/* --- fault injection -------------------------------------------------------------- */

/*
 * slab_set_fail: replace the fault injection of SLAB_FAIL.
 *
 * @spec  a comma-separated list as in SLAB_FAIL and in the kernel's failslab; NULL or "" switches
 *        fault injection off
 *
 *   interval=N           every Nth allocation is a candidate; 1 by default
 *   probability=PERCENT  a candidate fails with this probability; 100 by default
 *   times=N              injection ends after N failures; -1, the default: never
 *   cache=NAME           only allocations from this cache fail; a * at the end of NAME matches any
 *                        rest of a name. The list may have several, of 1023 bytes together
 *
 * Without cache=, two kinds of allocations fail: of pages, and of objects in caches with the debug
 * flag A. libslab gives matching caches the flag A, which takes their allocations off the fast path
 * until slab_cache_debug() clears it. Whether a candidate fails depends only on its number: a
 * program that repeats the same allocations fails at the same places.
 * A test that runs every error path:
 *
 *	for (int n = 1; n < 1000; n++) {
 *		snprintf(spec, sizeof(spec), "interval=%d,times=1,cache=entry", n);
 *		slab_set_fail(spec);
 *		run_the_test();
 *	}
 *
 * Returns 0, or -EINVAL: the syntax is wrong, and the previous setting stays.
 * MT-safe, fork-safe, cancel-safe, not async-signal-safe.
 */
SLAB_API int slab_set_fail(const char *spec);

#ifdef __cplusplus
}
#endif

#endif /* SLAB_DEBUG_H */
