/* SPDX-License-Identifier: MIT */
/*
 * Caches and their nodes, as every room sees them. docs/design.md has the theory: which CPU
 * owns a slab when, and which thread may touch what.
 *
 * The locks, their order, and what may not be done under them: prepare() in cache/fork.c.
 */
#ifndef SLAB_CORE_CACHE_H
#define SLAB_CORE_CACHE_H

#include <pthread.h>
#include <slab/slab.h>
#include <slab/stats.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cpu_cache.h"
#include "pages/account.h"
#include "pages/queue.h"

struct cache_checks;
struct cache_deferral;
struct cache_rcu;
struct cache_reserve;
struct counter_table;
struct geometry;
struct slab;

/* Slabs on one are `listed`. */
struct node_list {
	struct slab_queue slabs;
	unsigned count; /* may be read without the lock */
	unsigned changes; /* number of changes of slabs or of their order */
};

/* Classes of fullness by which slabs are sorted. */
#define NODE_CLASSES 65u

struct cache_node {
	pthread_mutex_t lock;     /* protects the lists and the listed flags */
	struct node_list partial; /* slabs without debug flags, fullest first after a shrink */
	struct node_list sparse; /* … that defragmentation empties: used when `partial` is empty */
	struct node_list debug; /* slabs with the cache's debug flags and free objects */
	unsigned nr_debug_empty; /* … number of empty ones among them */
	struct slab_queue leaving; /* empty slabs on their way to the page layer (release.c) */
	unsigned nr_slabs; /* atomic: all slabs of this cache and node */
	unsigned waiting; /* atomic: threads that wait for the lock (node.c) */
	/* During a sort: its number, and the sorted part of `partial`. */
	unsigned sort, sorts;
	struct slab_queue sorted[NODE_CLASSES];
} __attribute__((aligned(CPU_CACHELINE)));

/* A cache's sampling (guard.h): atomics, of which a lost update does no harm. */
struct sample {
	unsigned long interval; /* 0: off */
	long left; /* allocations until the next one is taken */
	uint64_t opened; /* µs; 0: allocations may use the fast path */
};

/* How often a cache is allocated from (count_window.c): of the thread that serves the control
 * socket, but for the atomic `opened`, which changes under flush_lock. Times are of the
 * monotonic clock, in microseconds. */
struct count {
	uint64_t opened; /* since when allocations are counted; 0: they are not */
	bool busy; /* its window must be short */
	uint64_t last; /* up to this time all is added up; 0: counting starts again */
	uint64_t slow; /* allocations off the fast path until then */
	double rate; /* others in a microsecond, in the last window */
	double mean; /* … in the last second */
	double rest; /* the fraction that `counted` lacks: less than 1 */
	uint64_t counted, counted_us, counted_variance; /* stats.h */
};

/* A cache's memory that waits, is in reserve, was reclaimed or moved: atomics (stats.h). */
struct memory_counts {
	uint64_t rcu_pending; /* objects, and slabs, that wait for a grace period */
	uint64_t rcu_freed; /* objects that have waited */
	uint64_t rcu_helped; /* frees that had to help or to wait */
	uint64_t limit_hits;
	uint64_t reserve, reserve_left;
	uint64_t reclaims, reclaimed;
	uint64_t moved;
};

/* Activity of a cache's CPUs: see decay.c. */
struct activity {
	uint64_t trace; /* changes when a CPU uses the cache */
	uint32_t last_epoch; /* epoch in which it had changed last */
};

/* State of the thread that moves objects (defrag.c): */
struct defrag_state {
	pthread_t thread;
	struct slab *slab; /* the slab that is being emptied, or NULL */
	struct slab *dense; /* `room` free objects of this one */
	unsigned room;
	uint16_t offset8[CPU_BATCH_MAX];
};

/* One group for each room that writes it, in the order of the rooms. Other processes read
 * some of it (inspect/root.h). */
__extension__ struct slab_cache { /* for C++: an array without size at its end */
	/* The fast paths read these. registry/gate.c changes `slots` under flush_lock; the
	 * others are constant. */
	char *slots; /* for allocations; cpu_slots_none() sends all to the slow path */
	char *cpu_slots; /* frees, and the slow paths */
	char *cpu_lifos; /* the LIFOs of cpu_slots */
	uint64_t lifo_max; /* objects in one of them */
	char *rcu_slots; /* frees that wait for a grace period; without RCU as `slots` */

	/* cache/create.c sets these before another thread knows the cache. Constant, but for the
	 * two that tuning changes (stats/attributes.c), and magic, which ends with the cache. */
	size_t size; /* object to object */
	size_t object_size; /* as requested */
	size_t align;
	uint64_t flags; /* without debug flags */
	uintptr_t tag; /* of cpu.user in slabs without debug flags: SLAB_TAG_ZERO, _HARDEN */
	struct geometry *geometry;
	unsigned slab_shift;
	unsigned objects; /* per slab */
	unsigned min_partial; /* atomic, as the next: tuning */
	unsigned cpu_partial;
	int (*ctor)(void *, void *);
	void (*dtor)(void *, void *);
	int (*isolate)(void *, void *); /* both or none */
	int (*migrate)(void *, void *, void *);
	void *arg;
	size_t (*reclaim)(struct slab_cache *, void *);
	uint64_t magic;

	/* pages: bytes of slabs. Atomic, without a lock. */
	struct account account;

	/* core: slabs on their way. What is taken from CPUs under flush_lock, all else atomic. */
	struct slab *taken; /* chains of slabs taken from CPUs, which still own them (revoke.c) */
	uint32_t taken_idle_since; /* … the epoch in which they were last seen at work */
	unsigned waiting; /* threads that want flush_lock first (isolated.h) */
	struct slab_queue purging; /* isolated slabs whose pages threads return: flush_lock */
	unsigned nr_purging; /* … how many */
	void *refused; /* an object that its slab had no room for, to be reported (revoke.c) */
	bool leaves; /* slabs have been on a node's `leaving` (release.c) */
	unsigned steal_cpu; /* the next to look at (cache_steal()) */
	unsigned remote_node_ratio; /* per cent (refill.c); tuning */
	unsigned remote_node_percentage; /* … of refills, added up */

	/* registry: the list of caches, under registry_lock. */
	struct slab_cache *next, **prev_next; /* once destroyed: the free list */
	struct slab_cache *next_mergeable, **prev_mergeable; /* of this size (cache/merge.c) */
	bool by_size; /* one of <slab/malloc.h>'s */
	bool complete; /* atomic: its creation is over */
	bool dying; /* atomic: slab_cache_destroy() is at it (destroy.c) */
	unsigned pins; /* threads that act on it without the lock */
	unsigned refs; /* 1 + aliases */
	unsigned aliases;
	char (*alias)[SLAB_MAX_NAME + 1]; /* a mapping of its own: few have any */
	char name[SLAB_MAX_NAME + 1];
	unsigned gates; /* … gates: what keeps allocations off the fast path (gate.h): flush_lock */
	/* … counting: struct count says under what; the reserve's store, under a lock of its own. */
	struct count count;
	struct cache_reserve *reserve; /* with args.reserve, else NULL */

	/* debug: switched under flush_lock, read atomically; errors and sample are atomic. */
	uint64_t debug_flags; /* what new allocations get: SLAB_DEBUG_FLAGS */
	bool plain_owned; /* slabs without debug flags may still be owned by CPUs */
	bool had_debug_flags; /* or has some: there may be debug slabs, or legacy slabs */
	uint64_t errors; /* problems found so far */
	const struct cache_checks *checks; /* constant */
	struct sample sample;

	/* rcu: constant; struct cache_rcu has no lock. */
	struct cache_rcu *rcu; /* with args.rcu, else NULL */
	const struct cache_deferral *deferral; /* the same */

	/* memory: counts are atomic (rcu and alloc add theirs), reclaim_seq is under
	 * registry_lock, activity belongs to the thread that runs a pass, `isolated` is under
	 * flush_lock. */
	struct memory_counts memory;
	struct activity activity;
	uint64_t reclaim_seq; /* when reclaim was called last: a number that grows */
	uint32_t defragging; /* atomic: a thread moves its objects */
	struct defrag_state isolated; /* … and has isolated these */

	/* stats: under the counters lock (inspect/counters.h). */
	struct counter_table *counters; /* a mapping of its own */

	/* While a thread has isolated listed slabs, or slabs of CPUs (core/isolated.h), and for what
	 * is said to be under it above. */
	pthread_mutex_t flush_lock;
	struct cache_node node[];
};

#define CACHE_ALIAS_BYTES ((size_t)SLAB_STATS_MAX_ALIASES * (SLAB_MAX_NAME + 1))
#define CACHE_MAGIC UINT64_C(0x6c69627f736c6162)

/*
 * Handles stay readable after their destruction, so that using one is an error
 * and not a crash. The oldest is used again when there are more than these.
 */
#define FREE_CACHES_KEPT 256u

/* What cpu.user of its slabs without debug flags is. */
static inline const void *cache_user(const struct slab_cache *cache)
{
	return (const char *)cache + cache->tag;
}

static inline uint64_t cache_debug_flags(const struct slab_cache *cache)
{
	return __atomic_load_n(&cache->debug_flags, __ATOMIC_ACQUIRE);
}

/* Count an event on the current CPU; preemption may lose a count. */
static inline void cache_event(struct slab_cache *cache, int cpu, enum slab_event event)
{
	struct cpu_slot *slot = cpu_slot(cache->cpu_slots, cpu < 0 ? 0 : cpu);
	uint64_t *count = &slot->event[event];

	__atomic_store_n(count, __atomic_load_n(count, __ATOMIC_RELAXED) + 1, __ATOMIC_RELAXED);
}

#endif /* SLAB_CORE_CACHE_H */
