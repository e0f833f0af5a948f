/* SPDX-License-Identifier: MIT */
/*
 * struct slab_cache, its nodes and its shards, which every room uses.
 *
 * Each member belongs to one room, and its comment names the lock that protects it. docs/design.md
 * explains where an object can be. The lock order and its rules are at prepare() in cache/fork.c.
 */
#pragma once

#include <pthread.h>
#include <slab/slab.h>
#include <slab/stats.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/queue.h"
#include "cpu_cache.h"
#include "pages/account.h"
#include "report/track.h"

struct cache_checks;
struct cache_deferral;
struct cache_rcu;
struct cache_reserve;
struct shard_walk;
struct slab;
struct space;

/* A pin of a cache (core/pin.h). */
struct pin {
	struct slab_cache *cache;
	struct pin *next; /* of the same thread */
};

/* A list of debug slabs. */
struct node_list {
	struct slab_queue slabs;
	unsigned count; /* atomic: may be read without the lock */
};

/* Half a full array on its way from one CPU to another (percpu/magazines.h). */
#define MAGAZINES_MAX 4u
#define MAGAZINE_OBJECTS (CPU_ARRAY_MAX / 2)
struct magazine {
	uint64_t count;
	void *obj[MAGAZINE_OBJECTS];
};

/* The magazines of a node. The lock protects the members; `full` and `objects` may be read without
 * it. */
struct depot {
	struct cpu_lock lock;
	unsigned full;    /* magazine[0 .. full - 1] have objects */
	uint64_t objects; /* in all of them */
	struct magazine *magazine[MAGAZINES_MAX]; /* NULL: not needed yet */
};

/*
 * A shard: some ordinary slabs of a cache and node, with their lists. The CPUs of a node use its
 * shards in turn, so that a lock has few users. The lock protects the lists, and of each slab whose
 * `shard` leads here the map and what belongs to it (core/shard.h). Sums may be read without it.
 */
#define SHARDS_MAX 8u
#define SHARD_BUCKETS 8u
struct shard {
	struct cpu_lock lock;
	uint32_t buckets; /* bit i: bucket[i] has slabs */
	struct slab *bucket[SHARD_BUCKETS]; /* by eighths of free objects, the fullest first */
	struct slab *empty; /* slabs without an object in use */
	struct shard_walk *walks; /* those that are between two slabs */
	uint32_t empties;
	uint32_t empties_low; /* the fewest since the last tick */
	uint32_t slabs; /* with full ones */
	uint32_t partial; /* in buckets */
	uint64_t room; /* objects that the slabs have room for */
	uint64_t used; /* objects that are in use, in an array or in a magazine */
	uint64_t event[SLAB_EVENT_COUNT]; /* atomic */
	uint8_t node, number;
} __attribute__((aligned(CPU_CACHELINE)));

struct cache_node {
	pthread_mutex_t lock; /* of debug slabs: their lists and all that belongs to them */
	struct node_list debug; /* slabs with the cache's debug flags and free objects */
	struct node_list profile; /* debug slabs of the heap profile with free objects */
	unsigned nr_debug_empty; /* number of empty slabs on `debug` */
	unsigned nr_slabs; /* atomic: all slabs of this cache and node, debug slabs too */
	int64_t debug_used; /* atomic: objects of debug slabs that are allocated or lost */
	struct slab_queue leaving; /* empty slabs on their way to the page layer (release.c) */
	struct depot depot;
} __attribute__((aligned(CPU_CACHELINE)));

/* Sampling of a cache (guard.h). Members are atomic; a lost update does no harm. */
enum guard_end { GUARD_ANY, GUARD_LEFT, GUARD_RIGHT };

struct sample {
	unsigned long interval; /* 0: off */
	long left; /* allocations until the next sample */
	uint64_t opened; /* when the gate was opened, in µs; 0: it is closed */
	uint64_t missed; /* atomic: samples that were due and found no guarded slab */
	enum guard_end damaged_end; /* atomic: of the last object that was damaged */
};

/* Counting of a cache's allocations (count.h). Members are atomic, or of the thread that counts;
 * `since` changes under flush_lock. Times are of the monotonic clock, in microseconds. */
struct count {
	uint64_t since; /* the counts are complete up to this time; 0: the cache is not counted */
	uint64_t slow; /* slow-path allocations counted up to then */
	uint64_t light; /* atomic: allocations by count_pop() */
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

/* Whether CPUs use a cache (decay.c), and how it grows. */
struct activity {
	uint64_t trace; /* hash of the CPUs' arrays; it changes when a CPU uses the cache */
	uint32_t last_epoch; /* epoch in which `trace` changed last */
	uint64_t growth_trace; /* `trace` at the last review (growth.c) */
	uint64_t growth_refills; /* refills of arrays until then */
	uint64_t noted[2]; /* atomic: bytes of slabs a while ago (holders.c) */
};

/* A size of slabs. */
struct slab_order {
	unsigned shift; /* a slab has 1 << shift bytes */
	unsigned objects; /* per slab */
};

/* A cache takes small slabs until its slabs together are as large as this number of large ones. */
#define SMALL_UP_TO_LARGE ((size_t)4)

/* A cache. Each room that writes members has a group of its own, in the order of the rooms. Other
 * processes read some members (core/root.h). */
__extension__ struct slab_cache { /* for C++: a flexible array member */
	/* The fast paths read these members, each the pointer of an engine's section. core/gate.c
	 * and percpu/closing.c change them under flush_lock; cpu_arrays_none() sends every call to
	 * the slow path. */
	char *alloc_arrays; /* allocations on the fast path: `arrays`, or none if a gate is set */
	char *arrays; /* frees, and the slow paths: own_arrays, or none while they are closed */
	char *rcu_arrays; /* frees that wait for a grace period; none without RCU */
	bool by_size; /* of <slab/malloc.h> */
	bool defined; /* by SLAB_DEFINE_CACHE(): all definitions of its name share it */
	/* The cache's arrays. They are short at first; a busy cache gets long ones, and keeps the
	 * short ones, closed, in short_arrays (percpu/length.c). Under flush_lock. */
	char *own_arrays, *short_arrays;
	uint64_t reciprocal; /* ceil(2^48 / size): offset to index by multiplication */

	/* cache/create.c sets these before another thread knows the cache. They are constant,
	 * except the two that tuning changes (stats/attributes.c) and magic, which destruction
	 * clears. */
	size_t size; /* bytes from object to object */
	size_t object_size; /* as requested */
	uint64_t
		token; /* by_size: of the one type that it serves (cache/token.h), else 0; atomic */
	size_t align;
	uint64_t flags; /* without debug flags */
	uintptr_t tag; /* tag of the user of slabs without debug flags: SLAB_TAG_ZERO, _HARDEN */
	struct slab_order small, large; /* the same if no smaller slab suits the objects */
	bool coloured; /* fresh slabs begin at different cache lines (core/objects_take.c) */
	unsigned min_partial; /* atomic: empty slabs that each shard keeps; changed by tuning */
	unsigned array_least,
		array_most; /* atomic: bounds of the length of arrays (percpu/length.h) */
	uint64_t rcu_max; /* the most objects in an array of rcu_arrays; 0 without RCU */
	int (*ctor)(void *, void *);
	void (*dtor)(void *, void *);
	int (*isolate)(void *, void *); /* both are set, or none */
	int (*migrate)(void *, void *, void *);
	void *arg;
	size_t (*reclaim)(struct slab_cache *, void *);
	uint64_t magic;

	/* pages: the account of the bytes of slabs. Atomic, without a lock. */
	struct account account;
	struct {
		uint64_t objects, bytes;
	} above; /* large allocations of the type of `token` (cache/large_type.c); atomic */
	struct space *space; /* with SLAB_APART, else NULL; constant */

	/* core: the shards, `shards` of each node, in the order of nodes. Constant. */
	struct shard *shard;
	unsigned waiting; /* atomic: threads that get flush_lock first (core/flush_lock.h) */
	unsigned closers; /* threads that keep the arrays closed (percpu/closing.h): flush_lock */
	bool leaves; /* atomic: a slab has been on a node's `leaving` (release.c) */
	struct slab_queue
		purging; /* slabs off the lists whose pages are being returned: flush_lock */
	unsigned nr_purging; /* atomic: number of slabs on `purging` */
	unsigned other_node_ratio; /* per cent (percpu/refill.c); atomic: changed by tuning */
	unsigned other_node_percentage; /* sum of these percentages over refills, modulo 100 */

	/* registry: the list of caches, under registry_lock. */
	struct slab_cache *next, **prev_next; /* of a destroyed cache: the free list */
	bool complete; /* atomic: its creation has ended */
	bool dying; /* atomic: slab_cache_destroy() is destroying it (destroy.c) */
	unsigned pins; /* number of pins (core/pin.h) */
	struct pin destruction; /* the pin of the thread that is destroying it */
	char name[SLAB_MAX_NAME + 1];
	struct slab_cache *name_next; /* a name with the same hash (registry.c) */
	unsigned gates; /* reasons to keep allocations off the fast path (gate.h): flush_lock */
	/* struct count has its own rules; the reserve has a lock of its own. */
	struct count count;
	struct cache_reserve *reserve; /* with args.reserve, else NULL */

	/* debug: changes under flush_lock, readers are atomic. `errors` and `sample` are atomic. */
	uint64_t debug_flags; /* the debug flags of new allocations: SLAB_DEBUG_FLAGS */
	bool plain_left; /* there may be ordinary slabs that are to become legacy slabs */
	bool had_debug_flags; /* had or has debug flags: there may be debug or legacy slabs */
	uint64_t errors; /* problems found so far */
	struct track destroyed; /* of a destroyed cache: who destroyed it */
	const struct cache_checks *checks; /* constant */
	struct sample sample;

	/* rcu: constant; struct cache_rcu has no lock. */
	struct cache_rcu *rcu; /* NULL without args.rcu */
	const struct cache_deferral *deferral; /* NULL without args.rcu */

	/* memory: the counts and reclaim_seq are atomic (rcu and alloc add theirs), flush_lock
	 * protects `moving`. Only the thread that runs a decay pass uses
	 * `activity`. */
	struct memory_counts memory;
	struct activity activity;
	uint64_t reclaim_seq; /* number of the last reclaim call; grows over all caches */
	uint32_t defragging; /* atomic: a thread is moving objects of this cache */
	struct slab *moving; /* the slab off the lists that this thread empties (defrag.c) */

	/* Held while a thread empties an array, takes slabs off the lists, sets gates or switches
	 * debug flags (core/flush_lock.h). */
	pthread_mutex_t flush_lock;
	struct cache_node node[]; /* the shards follow */
};

#define CACHE_MAGIC UINT64_C(0x6c69627f736c6162)
#define CACHE_DESTROYED_MAGIC UINT64_C(0x6c69627f676f6e65)
/* Stands for a cache that could not be created (cache/defined.c). */
#define CACHE_NONE_MAGIC UINT64_C(0x6c69627f656e6f6e)

/* The handles of destroyed caches stay readable, with their names and who destroyed them, so using
 * one is an error that libslab can explain. If more than this number are kept, the oldest is
 * reused. */
#define FREE_CACHES_KEPT 256u

/* The user of the cache's slabs without debug flags. */
static inline const void *cache_user(const struct slab_cache *cache)
{
	return (const char *)cache + cache->tag;
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

/* Shards of a node: as many as it has CPUs, at most SHARDS_MAX. Constant since slab_init(). */
extern unsigned shards_per_node __attribute__((visibility("hidden")));

static inline struct shard *shard_at(const struct slab_cache *cache, unsigned node, int cpu)
{
	return &cache->shard[node * shards_per_node +
			     (cpu < 0 ? 0 : (unsigned)cpu % shards_per_node)];
}

/* The bytes of a cache's handle, with nodes and shards, and where the shards begin in it. */
size_t cache_bytes(void);
size_t cache_shards_offset(void);

/* The cache's arrays, which a busy cache exchanges once. */
static inline char *cache_own_arrays(const struct slab_cache *cache)
{
	return __atomic_load_n(&cache->own_arrays, __ATOMIC_ACQUIRE);
}

/* Count an event. */
static inline void shard_event(struct shard *shard, enum slab_event event)
{
	__atomic_fetch_add(&shard->event[event], 1, __ATOMIC_RELAXED);
}

/* Count an event on this CPU, or on none (< 0). */
static inline void cache_event(struct slab_cache *cache, int cpu, enum slab_event event)
{
	shard_event(shard_at(cache, 0, cpu), event);
}

/* The sum of an event over all CPUs. */
uint64_t cache_events(const struct slab_cache *cache, enum slab_event event);
