/* SPDX-License-Identifier: MIT */
/*
 * struct slab_cache and its nodes, which every room uses.
 *
 * Each member belongs to one room, and its comment names the lock that protects it. docs/design.md
 * explains when a CPU owns a slab and what each thread may access. The lock order and its rules are
 * at prepare() in cache/fork.c.
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
struct geometry;
struct slab;

/* A list of a node. slab->listed is set for its slabs. */
struct node_list {
	struct slab_queue slabs;
	unsigned count; /* atomic: may be read without the lock */
	unsigned changes; /* grows with each change of the slabs or their order */
};

/* Classes of fullness that a sort uses (node_order.c). */
#define NODE_CLASSES 65u

/* Free objects on their way from one CPU's LIFO to another's (percpu/magazines.h). */
#define MAGAZINES_MAX 4u
struct magazine {
	uint64_t count;
	void *obj[CPU_LIFO_MAX / 2];
};

/* What few nodes use. It lies apart, so that the handles of several caches share a page. */
struct node_rest {
	struct slab_queue sorted[NODE_CLASSES]; /* the sorted slabs of a running sort */
	struct magazine magazine[MAGAZINES_MAX];
	struct node_list profile; /* debug slabs of the heap profile with free objects */
} __attribute__((aligned(CPU_CACHELINE)));

struct cache_node {
	pthread_mutex_t lock;     /* protects the lists, the listed flags and the magazines */
	struct node_list partial; /* slabs without debug flags, fullest first after a shrink */
	struct node_list sparse; /* slabs that defragmentation empties; allocations use them last */
	struct node_list debug; /* slabs with the cache's debug flags and free objects */
	unsigned nr_debug_empty; /* number of empty slabs on `debug` */
	struct slab_queue leaving; /* empty slabs on their way to the page layer (release.c) */
	unsigned nr_slabs; /* atomic: all slabs of this cache and node */
	unsigned waiting; /* atomic: threads that wait for the lock (node.c) */
	unsigned sort, sorts; /* the numbers of the running sort (0: none) and of the last one */
	unsigned magazines; /* atomic: number of full magazines */
	struct node_rest *rest; /* constant */
} __attribute__((aligned(CPU_CACHELINE)));

/* Sampling of a cache (guard.h). Members are atomic; a lost update does no harm. */
struct sample {
	unsigned long interval; /* 0: off */
	long left; /* allocations until the next sample */
	uint64_t opened; /* when the gate was opened, in µs; 0: it is closed */
};

/* Counting of a cache's allocations (count.h). registry_lock protects the members; `since` is atomic
 * and changes under flush_lock, too. Times are of the monotonic clock, in microseconds. */
struct count {
	uint64_t since; /* the counts are complete up to this time; 0: the cache is not counted */
	uint64_t slow; /* slow-path allocations counted up to then */
	uint64_t counted, counted_us; /* see slab/stats.h */
};

/* Counts of objects and slabs that wait, are in reserve, were reclaimed or moved (slab/stats.h).
 * Atomic. */
struct memory_counts {
	uint64_t rcu_pending; /* objects and slabs that wait for a grace period */
	uint64_t rcu_freed; /* objects freed after a grace period */
	uint64_t rcu_helped; /* frees that ran a grace period themselves, or were held up */
	uint64_t limit_hits;
	uint64_t reserve, reserve_left;
	uint64_t reclaims, reclaimed;
	uint64_t moved;
};

/* Whether CPUs use a cache (decay.c). */
struct activity {
	uint64_t trace; /* hash of the CPUs' slots; it changes when a CPU uses the cache */
	uint32_t last_epoch; /* epoch in which `trace` changed last */
	uint64_t growth_trace; /* `trace` at the last review (growth.c) */
};

/* A size of slabs. */
struct slab_order {
	struct geometry *geometry;
	unsigned shift; /* a slab has 1 << shift bytes */
	unsigned objects; /* per slab */
};

/* A cache takes small slabs until its slabs together are as large as this number of large ones. */
#define SMALL_UP_TO_LARGE ((size_t)4)

/* Slabs that the defragmenting thread has isolated (defrag.c). */
struct defrag_state {
	pthread_t thread;
	struct slab *slab; /* the slab that is being emptied, or NULL */
	struct slab *dense; /* objects move to this slab: `room` free ones, in offset8 */
	unsigned room;
	uint16_t offset8[CPU_BATCH_MAX];
};

/* A cache. Each room that writes members has a group of its own, in the order of the rooms. Other
 * processes read some members (inspect/root.h). */
__extension__ struct slab_cache { /* for C++: a flexible array member */
	/* The fast paths read these members. core/gate.c changes `lifos` and `slots` under
	 * flush_lock; the others are constant. */
	char *lifos; /* allocations use them; cpu_slots_none() sends them all to the slow path */
	char *slots;
	char *cpu_lifos; /* frees and the slow paths use them: the LIFOs of cpu_slots */
	char *cpu_slots;
	char *rcu_lifos; /* frees that wait for a grace period; without RCU cpu_slots_none() */
	uint16_t number; /* of its slabs: core/numbers.h */
	bool by_size; /* of <slab/malloc.h> */
	bool defined; /* by SLAB_DEFINE_CACHE(): all definitions of its name share it */

	/* cache/create.c sets these before another thread knows the cache. They are constant,
	 * except the two that tuning changes (stats/attributes.c) and magic, which destruction
	 * clears. */
	size_t size; /* bytes from object to object */
	size_t object_size; /* as requested */
	size_t align;
	uint64_t flags; /* without debug flags */
	uintptr_t tag; /* tag of cpu.user in slabs without debug flags: SLAB_TAG_ZERO, _HARDEN */
	struct slab_order small, large; /* the same if no smaller slab suits the objects */
	unsigned min_partial; /* atomic, as the next: changed by tuning */
	unsigned cpu_partial;
	unsigned lifo_least, lifo_most; /* atomic: bounds of lifo_max; only tests change them */
	uint64_t lifo_max; /* atomic: the most objects in one LIFO (percpu/lifo_length.h) */
	uint64_t rcu_max; /* the most objects in a LIFO of rcu_lifos; 0 without RCU */
	int (*ctor)(void *, void *);
	void (*dtor)(void *, void *);
	int (*isolate)(void *, void *); /* both are set, or none */
	int (*migrate)(void *, void *, void *);
	void *arg;
	size_t (*reclaim)(struct slab_cache *, void *);
	uint64_t magic;

	/* pages: the account of the bytes of slabs. Atomic, without a lock. */
	struct account account;

	/* core: slabs between lists. flush_lock protects `taken` and `purging` with their members;
	 * the others are atomic. */
	struct slab *taken; /* chains of slabs taken from CPUs that still own them (revoke.c) */
	uint32_t taken_idle_since; /* epoch in which these slabs were in use last */
	unsigned waiting; /* number of threads that get flush_lock first (isolated.h) */
	struct slab_queue purging; /* isolated slabs whose pages are being returned: flush_lock */
	unsigned nr_purging; /* number of slabs on `purging` */
	void *refused; /* an object that its slab had no room for; to be reported (revoke.c) */
	bool leaves; /* a slab has been on a node's `leaving` (release.c) */
	uint64_t lifo_missed; /* when a CPU had its last LIFO_GROW_AFTER misses, in µs */
	uint64_t lifo_misses; /* number of misses at the last decay pass */
	uint64_t in_magazines; /* number of objects in the magazines of all nodes */
	uint64_t stolen; /* when CPUs with several listed slabs last gave them up, in µs */
	unsigned steal_cpu; /* the CPU that cache_steal() looked at last */
	unsigned remote_node_ratio; /* per cent (refill.c); changed by tuning */
	unsigned remote_node_percentage; /* sum of these percentages over refills, modulo 100 */

	/* registry: the list of caches, under registry_lock. */
	struct slab_cache *next, **prev_next; /* of a destroyed cache: the free list */
	struct slab_cache *next_mergeable, **prev_mergeable; /* of the same size (cache/merge.c) */
	bool complete; /* atomic: its creation has ended */
	bool dying; /* atomic: slab_cache_destroy() is destroying it (destroy.c) */
	unsigned pins; /* number of pins (core/pin.h) */
	unsigned refs; /* 1 + aliases */
	unsigned aliases;
	unsigned dropped; /* names of destroyed aliases that are kept behind `alias` (merge.c) */
	char (*alias)[SLAB_MAX_NAME + 1]; /* a mapping of its own: few caches have aliases */
	char name[SLAB_MAX_NAME + 1];
	unsigned gates; /* reasons to keep allocations off the fast path (gate.h): flush_lock */
	/* struct count has its own rules; the reserve has a lock of its own. */
	struct count count;
	struct cache_reserve *reserve; /* with args.reserve, else NULL */

	/* debug: changes under flush_lock, readers are atomic. `errors` and `sample` are atomic. */
	uint64_t debug_flags; /* the debug flags of new allocations: SLAB_DEBUG_FLAGS */
	bool plain_owned; /* CPUs may still own slabs without debug flags */
	bool had_debug_flags; /* had or has debug flags: there may be debug or legacy slabs */
	uint64_t errors; /* problems found so far */
	const struct cache_checks *checks; /* constant */
	struct sample sample;

	/* rcu: constant; struct cache_rcu has no lock. */
	struct cache_rcu *rcu; /* NULL without args.rcu */
	const struct cache_deferral *deferral; /* NULL without args.rcu */

	/* memory: the counts are atomic (rcu and alloc add theirs). registry_lock protects
	 * reclaim_seq, flush_lock `isolated`. Only the thread that runs a decay pass uses
	 * `activity`. */
	struct memory_counts memory;
	struct activity activity;
	uint64_t reclaim_seq; /* number of the last reclaim call; grows over all caches */
	uint32_t defragging; /* atomic: a thread is moving objects of this cache */
	struct defrag_state isolated; /* the slabs that this thread has isolated */

	/* Held while a thread has isolated listed slabs or slabs of CPUs (core/isolated.h), and for
	 * the members above that name it. */
	pthread_mutex_t flush_lock;
	struct cache_node node[];
};

#define CACHE_ALIAS_BYTES ((size_t)SLAB_STATS_MAX_ALIASES * (SLAB_MAX_NAME + 1))
#define CACHE_MAGIC UINT64_C(0x6c69627f736c6162)
/* Stands for a cache that could not be created (cache/defined.c). */
#define CACHE_NONE_MAGIC UINT64_C(0x6c69627f656e6f6e)

/* The handles of destroyed caches stay readable, so using one is an error and not a crash. If more
 * than this number are kept, the oldest is reused. */
#define FREE_CACHES_KEPT 256u

/* The value of cpu.user in the cache's slabs without debug flags. */
static inline const void *cache_user(const struct slab_cache *cache)
{
	return (const char *)cache + cache->tag;
}

/* A cache without a number. No slab has this one: segments have a byte for each. */
#define CACHE_UNNUMBERED 256u

/* The number of the cache's slabs without debug flags. Tagged slabs have none: frees of their
 * objects take the slow path. */
static inline unsigned cache_plain_number(const struct slab_cache *cache)
{
	return cache->tag || cache->number == CACHE_UNNUMBERED ? 0 : cache->number;
}

/* The bytes of slabs from which on the cache takes large ones. */
static inline size_t cache_large_from(const struct slab_cache *cache)
{
	return SMALL_UP_TO_LARGE << cache->large.shift;
}

/* The order of the next slab of a cache whose slabs have `used` bytes. */
static inline const struct slab_order *cache_order_at(const struct slab_cache *cache, size_t used)
{
	return used < cache_large_from(cache) ? &cache->small : &cache->large;
}

/* The order of the next slab without debug flags, unless a limit leaves room for a small one only.
 * Slabs of both orders live side by side: slab->objects and slab_bytes() tell what a slab is. */
static inline const struct slab_order *cache_next_order(const struct slab_cache *cache)
{
	return cache_order_at(cache, __atomic_load_n(&cache->account.used, __ATOMIC_RELAXED));
}

/* The bytes of the smallest slab without debug flags. */
static inline size_t cache_least_bytes(const struct slab_cache *cache)
{
	return (size_t)1 << cache->small.shift;
}

static inline uint64_t cache_debug_flags(const struct slab_cache *cache)
{
	return __atomic_load_n(&cache->debug_flags, __ATOMIC_ACQUIRE);
}

/* Count an event on this CPU. The update is not atomic: preemption may lose a count. */
static inline void cache_event(struct slab_cache *cache, int cpu, enum slab_event event)
{
	struct cpu_slot *slot = cpu_slot(cache->cpu_slots, cpu < 0 ? 0 : cpu);
	uint64_t *count = &slot->event[event];

	__atomic_store_n(count, __atomic_load_n(count, __ATOMIC_RELAXED) + 1, __ATOMIC_RELAXED);
}

#endif /* SLAB_CORE_CACHE_H */
