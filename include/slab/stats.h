/* SPDX-License-Identifier: MIT */
/*
 * Statistics of caches: the numbers that slabinfo shows.
 *
 * They are read by scanning slab descriptors without stopping anybody: on a
 * busy process each number is right for some moment during the call, and
 * totals that belong together may differ by what happened meanwhile. Nothing is
 * counted on the fast paths; the event counters count what leaves them.
 *
 * Threads: any. Signals: not async-signal-safe. Cancellation: as in <slab/slab.h>.
 */
#ifndef SLAB_STATS_H
#define SLAB_STATS_H

#include <slab/slab.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Events that leave the fast path; names as in SLUB where it has the event. */
enum slab_event {
	SLAB_EVENT_ALLOC_SLOWPATH,       /* allocations that left the fast path */
	SLAB_EVENT_ALLOC_REFILL,         /* slab went on with objects freed by other CPUs */
	SLAB_EVENT_ALLOC_FROM_PARTIAL,   /* slabs taken from this CPU's partial list */
	SLAB_EVENT_ALLOC_FROM_NODE,      /* slabs taken from a node's partial list */
	SLAB_EVENT_ALLOC_SLAB,           /* slabs taken from the page layer */
	SLAB_EVENT_ALLOC_NODE_MISMATCH,  /* slabs taken from another node than wanted */
	SLAB_EVENT_FREE_SLOWPATH,        /* frees that left the fast path */
	SLAB_EVENT_FREE_REMOTE,          /* objects handed to a slab of another CPU */
	SLAB_EVENT_FREE_REMOTE_BATCH,    /* exchanges that handed them over */
	SLAB_EVENT_FREE_OWN,             /* full slabs owned by the first CPU freeing into them */
	SLAB_EVENT_FREE_ADD_PARTIAL,     /* slabs put on a node's partial list */
	SLAB_EVENT_FREE_SLAB,            /* slabs given to the page layer */
	SLAB_EVENT_DEACTIVATE_FULL,      /* slabs that became full: on no list */
	SLAB_EVENT_CPU_PARTIAL_DRAIN,    /* CPU partial lists moved to their node */
	SLAB_EVENT_FLUSH,                /* CPUs revoked by shrink, validate, destroy */
	SLAB_EVENT_INCOMING,             /* slabs handed to a CPU from elsewhere */
	SLAB_EVENT_COUNT
};

/* The name of an event as the tools show it ("alloc_slowpath"), NULL if there
 * is no such event. */
SLAB_API const char *slab_event_name(unsigned event);

#define SLAB_STATS_MAX_NODES 64
#define SLAB_STATS_MAX_ALIASES 64

/*
 * One cache at one moment. Counts are objects or slabs, sizes are bytes. Gathered objects
 * were freed, but their slabs do not know yet: objects_partial and node_objects
 * count them, objects does not.
 */
struct slab_stats {
	size_t struct_size;       /* set by the caller: sizeof(struct slab_stats) */
	char name[SLAB_MAX_NAME + 1];
	uint64_t flags;           /* SLAB_* flags, with the letters that hold now */
	size_t object_size;       /* as asked for */
	size_t slab_size;         /* bytes from one object to the next */
	size_t align;
	unsigned objects_per_slab;
	unsigned order;           /* a slab has 4096 << order bytes */
	unsigned has_ctor;
	unsigned merged;          /* other names that share this cache */
	unsigned min_partial;     /* empty slabs kept per node */
	unsigned cpu_partial;     /* slabs that one CPU's partial list may hold */
	uint64_t slabs;           /* all slabs */
	uint64_t cpu_slabs;       /* owned by a CPU: current or on its partial list */
	uint64_t partial;         /* on a node's partial list */
	uint64_t full;            /* no free object, on no list */
	uint64_t objects;         /* allocated objects */
	uint64_t total_objects;   /* objects that the slabs have room for */
	uint64_t objects_partial; /* allocated objects in slabs on a node's partial list */
	uint64_t gathered;        /* freed objects that CPUs hold beside their slabs */
	uint64_t populated;       /* bytes of slabs that have been touched */
	uint64_t debug_slabs;     /* slabs with debug letters */
	uint64_t draining_slabs;  /* slabs of other letters than the cache has now: not allocated
				     from, given back with their last object */
	uint64_t guarded_slabs;   /* sampled objects between guard pages */
	uint64_t errors;          /* problems found: misuse and damage, as reported */
	uint64_t limit;           /* bytes of slabs at most, 0: none */
	/* docs/control.md, "count": */
	uint64_t counted;    /* allocations while counting was on; of busy caches an estimate */
	uint64_t counted_us; /* how long counting was on, in microseconds */
	uint64_t counted_variance; /* of the estimate in `counted`; 0: `counted` is exact */
	uint64_t rcu_pending; /* objects (and slabs) that wait for a grace period */
	uint64_t rcu_freed; /* objects that have waited for one (<slab/rcu.h>) */
	uint64_t rcu_helped; /* frees that were held up because too much waited */
	uint64_t limit_hits; /* allocations that failed because of a limit (<slab/memory.h>) */
	uint64_t reserve; /* objects kept for when there is no memory … */
	uint64_t reserve_left; /* … and how many of them are there now */
	uint64_t reclaims; /* times that args.reclaim was called … */
	uint64_t reclaimed; /* … and objects that it said it freed */
	uint64_t moved; /* objects that were moved to denser slabs */
	uint64_t event[SLAB_EVENT_COUNT];
	unsigned nodes; /* how many entries of the next three are used */
	uint64_t node_slabs[SLAB_STATS_MAX_NODES];
	uint64_t node_partial[SLAB_STATS_MAX_NODES];
	uint64_t node_objects[SLAB_STATS_MAX_NODES];
};

/* The process as a whole. */
struct slab_process_stats {
	size_t struct_size; /* set by the caller */
	const char *engine; /* as slab_engine() */
	unsigned cpus; /* possible CPUs */
	unsigned nodes;
	unsigned caches;
	uint64_t segments; /* address space in use: segments of segment_size bytes */
	uint64_t segment_size;
	uint64_t slab_bytes; /* bytes of slabs in use by caches */
	uint64_t cached_bytes; /* bytes of free slabs that still hold memory */
	uint64_t large_bytes; /* bytes of large allocations of <slab/malloc.h> */
	uint64_t metadata_bytes; /* descriptors, index stacks, per-CPU areas: an upper bound */
};

/*
 * slab_cache_stats: read the statistics of one cache. Returns 0, or -EINVAL: the cache
 * was destroyed, or struct_size is not one that this library knows; -ENOENT: it was
 * destroyed meanwhile; -EFAULT, -EPROTO: what it stands in was overwritten. Errors are
 * also in errno. It takes no memory but 32 KiB of stack.
 */
SLAB_API int slab_cache_stats(struct slab_cache *cache, struct slab_stats *stats);

/*
 * slab_for_each_cache: call fn for every cache, in order of creation, until fn
 * returns non-zero, which is then returned; 0 at the end. libslab holds no lock: fn may
 * use, create and destroy caches, but not destroy the one it is called for (-EBUSY).
 * The walk includes caches that are created meanwhile and skips those that are being
 * destroyed.
 */
SLAB_API int slab_for_each_cache(int (*fn)(struct slab_cache *cache, void *arg), void *arg);

/*
 * slab_cache_aliases: the further names of a merged cache: fills names[0 … max)
 * with pointers that are valid until that name's cache is destroyed; returns
 * how many there are. Call it from slab_for_each_cache() or own the cache.
 */
SLAB_API size_t slab_cache_aliases(struct slab_cache *cache, const char **names, size_t max);

/*
 * One number by its name, for servers that show the numbers in a monitor of their
 * own (as 389-ds does under cn=monitor). Names are the members of struct slab_stats
 * that are numbers, "sample", "remote_node_defrag_ratio", and the names of the events;
 * slab(7) explains each. Besides, a cache has the counters that were attached to it (see
 * below), which can only be read.
 *
 * slab_stat_name: name number i, NULL behind the last one; those of counters are not among
 * them.
 *
 * slab_stat_read: one number; whoever wants many calls slab_cache_stats(). Returns
 * 0 and *value, or -ENOENT: there is no such name; -EINVAL: the cache was destroyed;
 * else as slab_cache_stats().
 *
 * slab_stat_write: change what can be changed, effective at once:
 *   min_partial  0 to 65535 slabs; what a smaller number leaves over is given back
 *   cpu_partial  0 to 32767 slabs; lowered, CPUs' lists are moved to the nodes
 *   limit        bytes, at least one slab, 0: none; see struct slab_cache_args. A limit
 *                below what is in use takes nothing away; allocations that need another
 *                slab fail
 *   sample       one allocation in so many, 0: none; as slab_cache_sample()
 *   remote_node_defrag_ratio  0 to 100: in so many of 100 cases in which a CPU's node has
 *                no partial slab, it takes one of a node that has more than min_partial,
 *                rather than a fresh one of its own
 *   events       0 alone, which clears them; what happens meanwhile may get lost
 * A merged cache has one value under all its names. Returns 0, or -ENOENT or -EINVAL
 * as above; -EACCES: it can only be read; -ERANGE: it cannot have this value.
 *
 * Errors are also in errno.
 */
SLAB_API const char *slab_stat_name(unsigned i);
SLAB_API int slab_stat_read(struct slab_cache *cache, const char *name, uint64_t *value);
SLAB_API int slab_stat_write(struct slab_cache *cache, const char *name, uint64_t value);

/* --- numbers of the program's own --------------------------------------------------- */

#define SLAB_COUNTERS_MAX 24            /* of one cache */
#define SLAB_COUNTERS_WORDS_MAX 65536   /* of all of them together */
#define SLAB_COUNTER_NAME_MAX 31        /* characters */
#define SLAB_COUNTER_HELP_MAX 79

enum slab_counter_kind {
	SLAB_COUNTER_EVENTS, /* events so far: it only grows */
	SLAB_COUNTER_GAUGE,  /* how many there are now */
	SLAB_COUNTER_BYTES,  /* how many bytes there are now; UINT64_MAX: no limit to them */
};

/*
 * A number that the program keeps, to be shown with a cache. It is the sum of words in
 * the program's memory, which it counts up as it likes: one word for each CPU or thread,
 * each on a cache line of its own, so that no two write to the same.
 */
struct slab_counter {
	const char *name; /* a letter of a-z, then these, digits and _ */
	const char *help; /* a few words on what it is, printable ASCII; NULL: none */
	enum slab_counter_kind kind;
	unsigned copies;       /* words, 1 to 8192; 0 is 1 */
	const uint64_t *value; /* the first word */
	size_t stride;         /* bytes from word to word, a multiple of 8; not of a single one */
};

/* slab_cache_attach_counters_sized: what slab_cache_attach_counters() calls; counter_size is
 * the caller's sizeof(struct slab_counter). */
SLAB_API int slab_cache_attach_counters_sized(struct slab_cache *cache,
					      const struct slab_counter *counters, unsigned n,
					      size_t counter_size);

/*
 * slab_cache_attach_counters: show numbers of the program with a cache, in slabinfo, on the
 * control socket, and by slab_stat_read().
 *
 * @counters  n of them; names and all are copied. The words are not: they stay the
 *            program's, and are read, without its help and without a lock that it takes, by
 *            slabinfo also from a process that hangs, and from a core file. Each is
 *            written by stores of 8 bytes, as relaxed atomics are: the address of an
 *            _Atomic uint64_t, or a std::atomic<uint64_t>, is given with a cast.
 * @n         0 detaches those that there are, whoever attached them. So does destroying the
 *            cache. After that, and not before, the words may be freed.
 *
 * A name must not be one of slab_stat_name(); later versions may have more of these, so a
 * prefix of one's own is wise. For a pair called "hits" and "misses", with or without the
 * same prefix, slabinfo shows what part of both were hits.
 *
 * A cache with counters is not merged with others. In the child of a fork the counters are
 * attached, too: to its copy of the words.
 *
 * Returns 0, or, and nothing has changed:
 *   -EINVAL  the cache was destroyed; more than SLAB_COUNTERS_MAX, or more words than
 *            SLAB_COUNTERS_WORDS_MAX; a name, help, kind, number of copies or stride that is
 *            not as above; value is NULL or not aligned to 8 bytes; a member that this
 *            library does not know is not 0; counter_size is too small
 *   -EEXIST  a name is one of slab_stat_name(), or there twice
 *   -EBUSY   the cache has counters, or shares its slabs with another one: who wants to be
 *            sure that it does not creates it with SLAB_NO_MERGE
 *   -ENOMEM  no memory
 * Errors are also in errno.
 */
static inline int slab_cache_attach_counters(struct slab_cache *cache,
					     const struct slab_counter *counters, unsigned n)
{
	return slab_cache_attach_counters_sized(cache, counters, n, sizeof(struct slab_counter));
}

/*
 * slab_process_stats: the whole process. 0, or an error as above; -ENOMEM: no memory to
 * look at the caches with; -EAGAIN: while it looked, caches came and went all the time.
 */
SLAB_API int slab_process_stats(struct slab_process_stats *stats);

#ifdef __cplusplus
}
#endif

#endif /* SLAB_STATS_H */
