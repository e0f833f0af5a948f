/* SPDX-License-Identifier: MIT */
/*
 * Statistics of caches and of the process, as slabinfo shows them. slab(7) explains each number.
 *
 * The functions read counters and do not stop other threads. In a busy process each number
 * is right for some moment during the call, and numbers that belong together may differ by changes
 * made meanwhile. The fast paths count nothing: the event counters count operations off the fast
 * path.
 *
 * Unless its comment says otherwise, each function is MT-safe, fork-safe and cancel-safe, and not
 * async-signal-safe; <slab/slab.h> defines these words and the conventions of errors.
 */
#ifndef SLAB_STATS_H
#define SLAB_STATS_H

#include <slab/slab.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Events off the fast path, named as in SLUB where it has the event. */
enum slab_event {
	SLAB_EVENT_ALLOC_SLOWPATH,      /* allocations that left the fast path, bulk included */
	SLAB_EVENT_ALLOC_REFILL,        /* times that a CPU's array got objects from slabs */
	SLAB_EVENT_ALLOC_MAGAZINE,      /* times that it got them from a magazine */
	SLAB_EVENT_ALLOC_OTHER_SHARD,   /* slabs taken from CPUs that use another shard */
	SLAB_EVENT_ALLOC_SLAB,          /* slabs taken from the page layer */
	SLAB_EVENT_ALLOC_NODE_MISMATCH, /* slabs taken from another node than requested */
	SLAB_EVENT_FREE_SLOWPATH,       /* frees that left the fast path */
	SLAB_EVENT_FREE_FLUSH,          /* times that half a full array went to its slabs */
	SLAB_EVENT_FREE_MAGAZINE,       /* times that it went to a magazine */
	SLAB_EVENT_FREE_OTHER_NODE,     /* freed objects of other nodes */
	SLAB_EVENT_FREE_SLAB,           /* slabs released to the page layer */
	SLAB_EVENT_ARRAYS_CLOSED,       /* times that all arrays and magazines were emptied */
	SLAB_EVENT_COUNT
};

/* slab_event_name: the name of an event as the tools show it ("alloc_slowpath"), or NULL if
 * there is no such event. MT-safe, fork-safe, cancel-safe, async-signal-safe. */
SLAB_API const char *slab_event_name(unsigned event);

#define SLAB_STATS_MAX_NODES 64

/*
 * One cache at one moment. Counts are objects or slabs, sizes are bytes. Objects that CPUs and
 * magazines hold (cpu_objects) or that the reserve holds (reserve_left) are free, but their slabs
 * count them as allocated: node_objects includes them, objects does not.
 */
struct slab_stats {
	size_t struct_size;       /* set by the caller: sizeof(struct slab_stats) */
	char name[SLAB_MAX_NAME + 1];
	uint64_t flags;           /* SLAB_* flags, with the present debug flags */
	size_t object_size;       /* requested size */
	size_t slab_size;         /* bytes from one object to the next */
	size_t align;
	unsigned objects_per_slab; /* in the next slab: see order */
	unsigned order;           /* the next slab has 4096 << order bytes; a cache with few
				     slabs takes smaller ones */
	unsigned has_ctor;
	unsigned min_partial;     /* empty slabs that each shard keeps: see slab(7) */
	uint64_t slabs;           /* all slabs */
	uint64_t slab_bytes;      /* of all slabs, with one that a thread is just making */
	uint64_t partial;         /* some objects are free */
	uint64_t full;            /* no object is free */
	uint64_t empty;           /* all objects are free: kept for the next allocations */
	uint64_t objects;         /* allocated objects */
	uint64_t total_objects;   /* objects that fit into the slabs */
	uint64_t cpu_objects;     /* free objects in arrays of CPUs and in magazines */
	uint64_t debug_slabs;     /* slabs with debug flags */
	uint64_t legacy_slabs;    /* legacy-layout slabs: their debug flags differ from those of
				     the cache. libslab allocates nothing from them, and
				     releases each with its last object */
	uint64_t guarded_slabs;   /* sampled objects between guard pages */
	uint64_t errors;          /* problems found: misuse and damage, as reported */
	uint64_t limit;           /* the most bytes of slabs; 0: no limit */
	/* Allocations, while a client of the control socket counts (docs/control.md): */
	uint64_t counted;    /* allocations while counting was on */
	uint64_t counted_us; /* microseconds for which counting was on */
	uint64_t rcu_pending; /* objects (and slabs) that wait for a grace period */
	uint64_t rcu_freed; /* objects freed after a grace period (<slab/rcu.h>) */
	uint64_t rcu_helped; /* frees that were delayed because too many objects waited */
	uint64_t limit_hits; /* allocations that failed because of a limit (<slab/memory.h>) */
	uint64_t reserve; /* objects held back for allocations that would otherwise fail */
	uint64_t reserve_left; /* the number of these objects that is available */
	uint64_t reclaims; /* calls of args.reclaim */
	uint64_t reclaimed; /* objects that these calls reported as freed */
	uint64_t moved; /* objects that libslab moved to denser slabs */
	uint64_t event[SLAB_EVENT_COUNT];
	unsigned nodes; /* NUMA nodes: the number of used entries of the next three arrays */
	uint64_t node_slabs[SLAB_STATS_MAX_NODES];
	uint64_t node_partial[SLAB_STATS_MAX_NODES];
	uint64_t node_objects[SLAB_STATS_MAX_NODES];
	uint64_t address_bytes; /* with SLAB_APART: of address space, which no other cache gets */
};

/* The process as a whole. */
struct slab_process_stats {
	size_t struct_size; /* set by the caller: sizeof(struct slab_process_stats) */
	const char *engine; /* as slab_engine() */
	unsigned cpus; /* possible CPUs */
	unsigned nodes;
	unsigned caches;
	uint64_t segments; /* number of segments, blocks of address space of segment_size bytes */
	uint64_t segment_size;
	uint64_t slab_bytes; /* bytes of slabs in use by caches, with one that is just being made */
	uint64_t cached_bytes; /* bytes of free slabs that still hold memory */
	uint64_t large_bytes; /* bytes of large allocations of <slab/malloc.h> */
	uint64_t metadata_bytes; /* descriptors, maps, arrays of CPUs: an upper bound */
};

/*
 * slab_cache_stats: read the statistics of one cache.
 *
 * @stats  the result; the caller sets struct_size before the call
 *
 * Returns 0, or
 *   -EINVAL  the cache was destroyed, or struct_size is not one that this library knows
 * The function allocates no memory and takes no snapshot: while any thread, the control thread
 * included, moves free objects between lists, `objects` may include some of them. Its time grows
 * with the CPUs and nodes alone; for a cache that has or had debug flags, or was sampled, with the
 * slabs of the process.
 */
SLAB_API int slab_cache_stats(struct slab_cache *cache, struct slab_stats *stats);

/*
 * slab_for_each_cache: call fn for every cache, in order of creation, until fn returns non-zero.
 * libslab holds no lock while fn runs: fn may use, create and destroy caches. It cannot destroy the
 * cache that it is called for (-EBUSY); another thread that destroys this cache waits until fn
 * returns. The walk includes caches that are created meanwhile and skips those that are being
 * destroyed.
 *
 * @arg  passed to fn
 *
 * Returns fn's last value, or 0 after the last cache.
 */
SLAB_API int slab_for_each_cache(int (*fn)(struct slab_cache *cache, void *arg), void *arg);

/*
 * slab_stat_name: the name with the number i, from 0 on, and NULL after the last one. The names are
 * those of the numeric members of struct slab_stats (without struct_size and the arrays), "sample",
 * "remote_node_defrag_ratio", and those of the events; slab(7) explains each.
 *
 *	for (unsigned i = 0; (name = slab_stat_name(i)); i++)
 *		if (slab_stat_read(cache, name, &value) == 0)
 *			printf("%s: %ju\n", name, (uintmax_t)value);
 *
 * MT-safe, fork-safe, cancel-safe, async-signal-safe.
 */
SLAB_API const char *slab_stat_name(unsigned i);

/*
 * slab_stat_read: store one number in *value by its name (slab_stat_name()), for servers that show
 * the numbers in their own monitoring, as 389-ds does under cn=monitor. slab_cache_stats() is
 * faster for many numbers.
 *
 * Returns 0, or -ENOENT: the name does not exist; or an error as slab_cache_stats().
 */
SLAB_API int slab_stat_read(struct slab_cache *cache, const char *name, uint64_t *value);

/*
 * slab_stat_write: change a number at once by its name.
 *   min_partial  0 to 65535 slabs; libslab releases the surplus over a smaller number
 *   limit        bytes, at least one slab, 0: no limit; see struct slab_cache_args. A limit
 *                below the slabs in use frees nothing; allocations that need another slab fail
 *   sample       N: guard one in N allocations, 0: none; as slab_cache_sample()
 *   remote_node_defrag_ratio  0 to 100: the percentage of cases in which a CPU whose node has
 *                no free object takes objects of another node, rather than a fresh slab of its
 *                own
 *   events       0, which clears it; concurrent increments may be lost
 *
 * Returns 0, or
 *   -ENOENT  the name does not exist
 *   -EINVAL  the cache was destroyed
 *   -EACCES  the program can only read the number
 *   -ERANGE  the value is out of range
 */
SLAB_API int slab_stat_write(struct slab_cache *cache, const char *name, uint64_t value);

/*
 * slab_write_stderr: write text to stderr as libslab writes its reports: without a signal such as
 * SIGPIPE, and for a second at most, if a pipe is full; the rest is dropped. errno keeps its value.
 * MT-safe, fork-safe, cancel-safe, async-signal-safe.
 */
SLAB_API void slab_write_stderr(const char *text, size_t length);

/*
 * slab_process_stats: read the statistics of the process.
 *
 * @stats  the result; the caller sets struct_size before the call
 *
 * Returns 0, or
 *   -EINVAL  struct_size is not one that this library knows
 */
SLAB_API int slab_process_stats(struct slab_process_stats *stats);

#ifdef __cplusplus
}
#endif

#endif /* SLAB_STATS_H */
