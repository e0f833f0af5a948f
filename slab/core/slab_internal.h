/* SPDX-License-Identifier: MIT */
/*
 * The allocator's own structures. docs/design.md has the theory: who owns a
 * slab when, and who may touch what.
 *
 * The locks, their order, and what may not be done under them: fork.c.
 */
#ifndef SLAB_INTERNAL_H
#define SLAB_INTERNAL_H

#include <pthread.h>
#include <slab/slab.h>
#include <slab/stats.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cpu_cache.h"
#include "pages/queue.h"

#define SLAB_LIKELY(x) __builtin_expect(!!(x), 1)
#define SLAB_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define SLAB_SLOWPATH __attribute__((noinline, cold))

/* --- segments: where slabs lie ------------------------------------------- */

#define SEGMENT_SHIFT 24
#define SEGMENT_SIZE (UINT64_C(1) << SEGMENT_SHIFT)
/* Granule of the table that leads from an address to its slab. */
#define SEGMENT_UNIT_SHIFT 16
#define SEGMENT_UNITS (1u << (SEGMENT_SHIFT - SEGMENT_UNIT_SHIFT))
/* Behind guard pages of its own, whatever the size of a page. */
#define SEGMENT_HEAD_OFFSET 65536
#define SEGMENT_TABLE_OFFSET (SEGMENT_HEAD_OFFSET + 256)
/* The first descriptor, on the page of head and table: a small process touches no other. */
#define SEGMENT_FIRST_OFFSET (SEGMENT_TABLE_OFFSET + SEGMENT_UNITS * sizeof(struct slab *))
#define SEGMENT_MAGIC UINT64_C(0x7365676d656e7431) /* "segment1" */

#define SLAB_SHIFT_MIN 16
#define SLAB_SHIFT_MAX 19

struct geometry;
struct slab_debug;

/*
 * A slab's descriptor. Descriptors are never unmapped and never become
 * anything else, so a stale pointer to one is harmless to read.
 *
 * cpu.user is the cache, with a tag when frees have to take the slow path: read
 * it through slab_user().
 *
 * remote is for everybody but the owner: index of the first object + 1 |
 * number of objects << 16 | REMOTE_OWNED. The objects are linked by links[].
 * Without REMOTE_OWNED the slab is full, and on no list; whoever sets the flag
 * has the slab in hand.
 */
struct slab {
	struct cpu_slab cpu;
	uint64_t remote;
	uint16_t *links;
	struct slab *next, *prev; /* node's partial list or a free list; the lock is the list's */
	size_t large;             /* large allocations: bytes that were asked for */
	struct slab_debug *debug; /* of slabs with letters (debug_cache.h), else NULL */
	uint32_t populated;       /* bytes from base on that hold memory */
	uint32_t drained;         /* while a plain slab drains: objects in use */
	uint32_t idle_since;      /* turn of maintenance (decay.c); 0: none found it idle */
	/* Objects that wait for a grace period, for each of two turns (free_rcu.c): index of
	 * the first + 1 | of the last + 1 << 16 | number << 32, linked by links[]. */
	uint64_t waiting[2];
	struct slab *next_waiting[2];
	uint64_t bare[2]; /* BARE_BYTES each before `populated` that hold no memory: a bit each */
	uint64_t met;     /* number of the last validation that met it (validate.c), or who
			   * destroys its objects (release.c) */
	uint16_t objects;         /* room */
	uint16_t carved;          /* see slab_carved() */
	uint8_t node;
	uint8_t listed;  /* on the node's partial list: under node->lock */
	uint16_t bottom; /* of the stack, which stands right behind: CPU_STACK_BOTTOM */
};

_Static_assert(sizeof(struct slab) == CPU_SLAB_STACK, "the stack stands behind the descriptor");

#define REMOTE_OWNED (UINT64_C(1) << 32)
/* Pages are as large as this, or whole numbers of it. */
#define BARE_BYTES ((size_t)4096)

/* Tags of cpu.user. */
#define SLAB_TAG_DEBUG ((uintptr_t)1) /* freed by debug_free(), under the node's lock */
#define SLAB_TAG_ZERO ((uintptr_t)2)  /* objects are zeroed when they are freed */
#define SLAB_TAG_HARDEN ((uintptr_t)4) /* frees are checked off the fast path */
#define SLAB_TAGS (SLAB_TAG_DEBUG | SLAB_TAG_ZERO | SLAB_TAG_HARDEN)

/* The head of a segment, between guard pages with descriptors, stacks, links. */
struct segment {
	uint64_t magic;
	struct segment *next; /* all segments, newest first; never removed */
	struct geometry *geometry;
	uint64_t mapped; /* bytes: SEGMENT_SIZE, more for one large allocation */
	uint32_t slabs;  /* with initialized descriptors: one more when there is no other */
	uint32_t room;   /* … at most */
	uint32_t stride; /* bytes from descriptor to descriptor */
	char *first;     /* the first descriptor */
	char *base;      /* the first slab's objects */
	uint32_t node;
	uint32_t slab_shift;
	uint64_t side;       /* of each slab's struct slab_debug; 0: without letters */
	uint64_t head_bytes; /* of the head, and of what belongs to initialized descriptors */
	uint64_t red_zone;   /* bytes before a large allocation (large_red.c); 0: none */
};

/* The page layer as a whole, for who looks at it. */
struct pages {
	struct segment *segments; /* newest first */
	uint64_t segment_count;
	uint64_t free_slab_bytes; /* of slabs in nobody's use that still hold memory */
	uint64_t large_bytes;     /* of large allocations: their pages, or mappings */
	uint64_t limit;      /* bytes of slabs and large allocations at most, 0: none (limit.h) */
	uint64_t used_bytes; /* … in use, or about to be */
	uint64_t limit_hits; /* allocations that failed because of that limit */
};

extern struct pages slab_pages;

static inline char *segment_start(const void *ptr)
{
	return (char *)((uintptr_t)ptr & ~(SEGMENT_SIZE - 1));
}

static inline struct segment *segment_of(const void *ptr)
{
	return (struct segment *)(segment_start(ptr) + SEGMENT_HEAD_OFFSET);
}

/* The slab an address lies in; slab_nowhere for a segment's own pages, and for those of
 * which no slab was made yet. */
static inline struct slab *slab_of(const void *ptr)
{
	struct slab **table = (struct slab **)(segment_start(ptr) + SEGMENT_TABLE_OFFSET);

	return __atomic_load_n(&table[(uint8_t)((uintptr_t)ptr >> SEGMENT_UNIT_SHIFT)],
			       __ATOMIC_RELAXED);
}

static inline struct slab *segment_slab(const struct segment *segment, unsigned i)
{
	return (struct slab *)(segment->first + (size_t)i * segment->stride);
}

extern struct slab slab_nowhere;

/* A layout of segments: all slabs have 1 << slab_shift bytes, room for so many. */
struct geometry *geometry_get(unsigned slab_shift, unsigned objects);
/* The same for slabs with letters: each has `side` bytes for its struct slab_debug. */
struct geometry *geometry_get_debug(unsigned slab_shift, unsigned objects, size_t side);
bool geometry_is_debug(const struct geometry *geometry);
/* Does this address lie in a segment? Then segment_of() and slab_of() may be
 * used. Lock-free; async-signal-safe. */
bool segment_known(const void *ptr);
/* One slab in hand, from `node`; NULL and ENOMEM. slab->cpu.user is not set. */
struct slab *segment_take_slab(struct geometry *geometry, unsigned node);
/* Give a slab back; its memory is kept for the next who takes one. */
void segment_free_slab(struct slab *slab);
/* Give the memory of all free slabs to the OS: how many slabs held some, and, unless
 * ret_bytes is NULL, how much it was. */
unsigned segment_trim(size_t *ret_bytes);
/* … of those that are ripe in this turn of decay.c: how many bytes. */
size_t segment_decay(uint32_t turn);
/* Held by whoever has taken slabs away to give their memory back; a fork waits. Takes
 * its place in the order before the nodes' locks. */
void segment_discard_lock(void);
void segment_discard_unlock(void);
/* All segments, for scanning; newest first. */
struct segment *segment_first(void);
/* A segment of its own for one large allocation; base is aligned to align. */
struct slab *segment_map_large(size_t bytes, size_t align);
/* … counted for the limit: without the guard in front. */
size_t segment_large_bytes(size_t bytes, size_t align);
void segment_unmap_large(struct slab *slab);
/* Grow or shrink it in place; false: cannot be done. */
bool segment_resize_large(struct slab *slab, size_t bytes);
/* Bytes of large allocations, up or down. */
void segment_count_large(long bytes);
/* Make sure that the slab's memory up to `bytes` is there; batches page faults. */
void slab_populate(struct slab *slab, size_t bytes);
void segment_lock(void);
void segment_unlock(void);

/* --- the operating system (os.c) ------------------------------------------ */

/* Bytes of a page: a power of two, 4 to 64 KiB. */
size_t os_page_size(void);
/* n bytes, rounded up to whole pages. */
static inline size_t os_pages(size_t n)
{
	return (n + os_page_size() - 1) & ~(os_page_size() - 1);
}
/* Address space, zeroed, readable and writable; NULL and ENOMEM, also by fault injection.
 * It starts at a page, or is aligned to more than that. */
void *os_map(size_t bytes, size_t align);
void os_unmap(void *start, size_t bytes);
/* Change the length of a mapping without moving it. */
bool os_resize(void *start, size_t bytes, size_t to);
/* Take page faults of a range in one go; best effort. */
void os_populate(void *start, size_t bytes);
/* Give the memory back, keep the address space; false: it is locked (mlock(2)). */
bool os_discard(void *start, size_t bytes);
/* Make whole pages inaccessible, or accessible again; false: there are too many mappings. */
bool os_protect(void *start, size_t bytes, bool access);
#ifdef SLAB_TESTING
/* os_protect() fails once, after so many times more; 0: it does not. */
extern unsigned os_protect_fails;
#endif
void os_bind(void *start, size_t bytes, unsigned node);
/* Is this memory, which is the caller's, on that node? Makes it be there first. True where
 * the system does not tell. */
bool os_lies_on(void *start, size_t bytes, unsigned node);

/* --- the machine (topology.c) --------------------------------------------- */

unsigned topology_nodes(void);
unsigned topology_node_of_cpu(int cpu);
bool topology_is_real(void); /* false: SLAB_FAKE_NODES */

/* --- caches ---------------------------------------------------------------- */

/* Slabs on one are `listed`. */
struct node_list {
	struct slab_queue slabs;
	unsigned count; /* may be read without the lock */
	unsigned changes; /* of slabs or of their order, so far */
};

/* How many slabs a thread that walks a node's lists looks at before it releases the lock. */
#define NODE_PIECE 64u
/* Classes of fullness by which slabs are sorted. */
#define NODE_CLASSES 65u

struct cache_node {
	pthread_mutex_t lock;     /* protects the lists and the listed flags */
	struct node_list partial; /* slabs without letters, fullest first after a shrink */
	struct node_list sparse;  /* … that are to be emptied: served when partial is empty */
	struct node_list debug;   /* slabs with the cache's letters and free objects */
	unsigned nr_debug_empty;  /* … how many of them are empty */
	struct slab_queue leaving; /* empty slabs on their way to the page layer (release.c) */
	unsigned nr_slabs;        /* atomic: all slabs of this cache and node */
	unsigned waiting;         /* atomic: threads that wait for the lock (node.c) */
	/* While they are sorted: the number of the sort, and what of `partial` is sorted. */
	unsigned sort, sorts;
	struct slab_queue sorted[NODE_CLASSES];
} __attribute__((aligned(CPU_CACHELINE)));

/* A cache's sampling (guard.h): atomics, of which a lost update does no harm. */
struct sample {
	unsigned long interval; /* 0: off */
	long left;              /* allocations until the next one is taken */
	uint64_t opened;        /* µs; 0: allocations need not come through the slow path */
};

/* How often a cache is allocated from (count_window.c): of who serves the control socket, but
 * for the atomics `opened` and `light`, which change under flush_lock. Times are of the
 * monotonic clock, in microseconds. */
struct count {
	uint64_t opened; /* since when allocations are counted; 0: they are not */
	bool light;      /* … and nothing else keeps them off the fast path */
	bool busy;       /* its window must be short */
	uint64_t last;   /* until when all is added up; 0: counting begins anew */
	uint64_t slow;   /* allocations off the fast path until then */
	double rate;     /* others in a microsecond, in the last window */
	double mean;     /* … in the last second */
	double rest;     /* what is missing in `counted`: less than one */
	uint64_t counted, counted_us, counted_variance; /* stats.h */
};

/* A cache's memory that comes back, and what was held back: atomics (stats.h). */
struct memory_counts {
	uint64_t rcu_pending; /* objects, and slabs, that wait for a grace period */
	uint64_t rcu_freed;   /* objects that have waited */
	uint64_t rcu_helped;  /* frees that had to help or to wait */
	uint64_t limit_hits;
	uint64_t reserve, reserve_left;
	uint64_t reclaims, reclaimed;
	uint64_t moved;
};

/* What a cache's CPUs did: see decay.c. */
struct activity {
	uint64_t trace;     /* changes when they do something */
	uint32_t last_turn; /* in which it was seen to have changed */
};

/* Who moves objects has in hand (defrag.c): */
struct defrag_hand {
	pthread_t thread;
	struct slab *slab;  /* the slab that is being emptied, or NULL */
	struct slab *dense; /* so many free objects of this one */
	unsigned room;
	uint16_t offset8[CPU_GATHER_MAX];
};

struct slab_cache {
	/* Read by the fast paths. */
	char *slots;     /* allocations: cpu_slots_none() sends them all to the slow path */
	char *cpu_slots; /* frees, and the slow paths */
	char *rcu_slots; /* frees that wait for a grace period; without RCU as `slots` */
	/* Set at creation. */
	size_t size;        /* object to object */
	size_t object_size; /* as asked for */
	size_t align;
	uint64_t flags; /* without letters */
	uintptr_t tag;  /* of cpu.user in slabs without letters: SLAB_TAG_ZERO, _HARDEN */
	struct geometry *geometry;
	unsigned slab_shift;
	unsigned objects; /* per slab */
	unsigned min_partial;
	unsigned cpu_partial;
	int (*ctor)(void *, void *);
	void (*dtor)(void *, void *);
	int (*isolate)(void *, void *); /* both or none */
	int (*migrate)(void *, void *, void *);
	void *arg;
	uint64_t magic;
	/* Changed under flush_lock, read atomically. */
	uint64_t letters; /* what new allocations get: SLAB_DEBUG_LETTERS */
	bool undrained;   /* slabs without letters may still be owned by CPUs */
	bool had_letters; /* or has some: there may be slabs that have them, or that drain */
	uint64_t errors;  /* atomic: problems found so far */
	struct sample sample;
	struct count count;
	size_t limit;    /* bytes of slabs at most, 0: none; atomic */
	size_t reserved; /* bytes of slabs that it has or is about to take (limit.h); atomic */
	struct cache_rcu *rcu; /* with args.rcu, else NULL */
	const struct cache_deferral *deferral; /* the same */
	struct cache_reserve *reserve; /* with args.reserve, else NULL */
	size_t (*reclaim)(struct slab_cache *, void *);
	uint64_t asked; /* when that was called last: a number that grows; under registry_lock */
	bool complete;  /* atomic: its creation is over */
	struct memory_counts memory;
	struct activity activity; /* for who runs a pass of maintenance */
	uint32_t defragging;             /* atomic: somebody moves its objects */
	struct defrag_hand hand;         /* … what he has in hand: under flush_lock */
	/* Under flush_lock: chains of slabs taken from CPUs, which still own them (shrink.c). */
	struct slab *taken;
	uint32_t taken_idle_since; /* … the turn in which they were last seen at work */
	unsigned waiting; /* atomic: who wants flush_lock first (hand.h) */
	bool leaves;      /* atomic: slabs have been on a node's `leaving` (release.c) */
	unsigned remote_node_ratio; /* atomic: percent (alloc_slow.c) */
	unsigned steal_cpu; /* atomic: the next to look at (cache_steal()) */
	unsigned remote_node_percentage; /* atomic: … of refills, added up */
	/* Under registry_lock. */
	struct slab_cache *next, **prev_next; /* once destroyed: the free list */
	bool by_size; /* one of <slab/malloc.h>'s */
	unsigned refs; /* 1 + aliases */
	unsigned pins; /* threads that act on it without the lock */
	bool dying;    /* atomic: slab_cache_destroy() is at it (destroy.c) */
	unsigned aliases;
	char (*alias)[SLAB_MAX_NAME + 1]; /* a mapping of its own: few have any */
	struct counter_table *counters;   /* likewise (counters.h) */
	char name[SLAB_MAX_NAME + 1];
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

/* slab_cache_create() for one of <slab/malloc.h>'s caches, unless *place has it already;
 * NULL: no memory. */
struct slab_cache *cache_create_by_size(const char *name, size_t size, struct slab_cache **place);

/* Initialize the library once: engine, nodes, root. false, and ENOMEM: this thread is at
 * it, and its initialization allocates. */
bool slab_init(void);

/* The smallest slab for objects of this size. */
unsigned cache_choose_slab_shift(size_t size);

/*
 * Whoever calls the application back holds no lock, since its callbacks take locks of
 * the application's under which others wait for ours. A cache that is pinned, with
 * registry_lock, stays when that is released; its destruction waits (pin.h).
 */
void cache_pin(struct slab_cache *cache);
void cache_unpin(struct slab_cache *cache);

extern pthread_mutex_t registry_lock;
extern struct slab_cache *registry_first;

/* Is this its name or one of its aliases? With registry_lock, or of a copy. */
bool cache_is_called(const struct slab_cache *cache, const char *name);

/* With registry_lock. A handle that was destroyed is not registered any more. */
bool cache_is_registered(const struct slab_cache *cache);
bool cache_has_counters(const struct slab_cache *cache);

static inline bool cache_is_dying(const struct slab_cache *cache)
{
	return __atomic_load_n(&cache->dying, __ATOMIC_RELAXED);
}

/* Objects made ready so far: changed in hand, read by anybody. */
static inline unsigned slab_carved(const struct slab *slab)
{
	return __atomic_load_n(&slab->carved, __ATOMIC_RELAXED);
}

static inline void slab_set_carved(struct slab *slab, unsigned carved)
{
	__atomic_store_n(&slab->carved, (uint16_t)carved, __ATOMIC_RELAXED);
}

static inline size_t slab_size(const struct slab *slab)
{
	return (size_t)slab->cpu.size8 * 8;
}

/* Is obj the start of an object of this slab, which has no letters? */
static inline bool slab_is_object(const struct slab *slab, const void *obj)
{
	size_t offset = (size_t)((const char *)obj - slab->cpu.base);
	unsigned index;

	if (offset % 8 || offset >= slab_carved(slab) * slab_size(slab))
		return false;
	index = cpu_slab_index(&slab->cpu, (uint16_t)(offset / 8));
	return index * slab_size(slab) == offset;
}

static inline size_t slab_bytes(const struct slab *slab)
{
	return (size_t)1 << segment_of(slab)->slab_shift;
}

/* Bytes of memory that the slab holds. */
static inline size_t slab_held(const struct slab *slab)
{
	unsigned bare = (unsigned)(__builtin_popcountll(slab->bare[0]) +
				   __builtin_popcountll(slab->bare[1]));

	return slab->populated - bare * BARE_BYTES;
}

static inline void slab_set_bare(struct slab *slab, uint64_t low, uint64_t high)
{
	__atomic_store_n(&slab->bare[0], low, __ATOMIC_RELAXED);
	__atomic_store_n(&slab->bare[1], high, __ATOMIC_RELAXED);
}

static inline void slab_set_idle_since(struct slab *slab, uint32_t turn)
{
	__atomic_store_n(&slab->idle_since, turn, __ATOMIC_RELAXED);
}

/* Whose slab it is: NULL for nobody's. */
static inline struct slab_cache *slab_user(const struct slab *slab)
{
	uintptr_t user = (uintptr_t)__atomic_load_n(&slab->cpu.user, __ATOMIC_ACQUIRE);

	return (struct slab_cache *)(user & ~SLAB_TAGS);
}

static inline bool slab_is_tagged(const struct slab *slab, uintptr_t tag)
{
	return (uintptr_t)__atomic_load_n(&slab->cpu.user, __ATOMIC_ACQUIRE) & tag;
}

/* What cpu.user of its slabs without letters is. */
static inline const void *cache_user(const struct slab_cache *cache)
{
	return (const char *)cache + cache->tag;
}

static inline uint64_t cache_letters(const struct slab_cache *cache)
{
	return __atomic_load_n(&cache->letters, __ATOMIC_ACQUIRE);
}

static inline struct slab *slab_from_cpu(struct cpu_slab *cpu)
{
	return (struct slab *)cpu;
}

/* Count an event on the CPU at hand; a lost count under preemption is accepted. */
static inline void cache_event(struct slab_cache *cache, int cpu, enum slab_event event)
{
	struct cpu_slot *slot = cpu_slot(cache->cpu_slots, cpu < 0 ? 0 : cpu);
	uint64_t *count = &slot->event[event];

	__atomic_store_n(count, __atomic_load_n(count, __ATOMIC_RELAXED) + 1, __ATOMIC_RELAXED);
}

/* --- slabs and their ownership (slab_state.c) ----------------------------------- */

/*
 * slab_make_ready: give a slab in hand free objects: those that others freed,
 * or fresh ones. true: it has some. false: it became full and is out of hand,
 * or, with *ret_error set, there was no memory and it is still in hand.
 */
bool slab_make_ready(struct slab_cache *cache, struct slab *slab, int *ret_error);
/* Move what others freed into a slab in hand: how many objects. */
unsigned slab_collect(struct slab *slab);
/* A slab in hand with free objects becomes this CPU's, or goes to its node. */
void slab_adopt(struct slab_cache *cache, struct slab *slab);
/* Put a slab that `cpu` owns on that CPU's partial list, from wherever we are. */
void slab_list(struct slab_cache *cache, int cpu, struct slab *slab);
/* Hand freed objects to a slab that somebody else may own. */
void slab_free_remote(struct slab_cache *cache, struct slab *slab, unsigned n,
		      const uint16_t *offset8);
/* Link a batch in front of `first`, an index + 1 or 0, in links[], which is written by
 * who frees the object: the new first. */
unsigned slab_link_batch(struct slab *slab, unsigned n, const uint16_t *offset8, unsigned first);
/* … that are linked by links[] already: first and last are indices + 1. */
void slab_free_chain(struct slab_cache *cache, struct slab *slab, unsigned first, unsigned last,
		     unsigned n);
/* Objects in use, at about this moment. Of any slab. */
unsigned slab_used(const struct slab *slab);
/* Entirely free, in hand, and collected. */
bool slab_is_empty(const struct slab *slab);
/* A fresh slab in hand; NULL and ENOMEM. */
struct slab *slab_create(struct slab_cache *cache, unsigned node);
/* Destroy the objects of an entirely free slab in hand and give it back; of type-safe
 * caches after a grace period. Under flush_lock, and in a destructor, that is only begun
 * (release.c). With letters, it was withdrawn. */
void slab_release(struct slab_cache *cache, struct slab *slab);
/* … go on with those for which it was begun, with no lock held. */
void slab_release_leaving(struct slab_cache *cache);
/* In the child of a fork: … and with those that threads had in hand. */
void release_after_fork_child(struct slab_cache *cache);
/* … when its objects are destroyed already. */
void slab_give_back(struct slab_cache *cache, struct slab *slab);
/* A random order (SLAB_RANDOM). */
void slab_shuffle(uint16_t *numbers, unsigned n);
/* Which objects of a slab in hand are free: one bit each in map[objects / 64]. */
#define SLAB_MAP_WORDS (65536 / 64)
long slab_map_free(struct slab *slab, uint64_t *map);

/* --- node partial lists (node.c) ------------------------------------------- */

void node_init(struct cache_node *node);
/* The lock, behind those that wait for it: between pieces of what may take long. */
void node_lock_again(struct cache_node *node);
/* Under the node's lock. */
void node_list_add_head(struct node_list *list, struct slab *slab);
void node_list_add_tail(struct node_list *list, struct slab *slab);
void node_list_remove(struct node_list *list, struct slab *slab);
/* Put slabs in hand (linked by next) on their nodes' lists; surplus empty ones
 * go to the page layer: how many. */
unsigned node_put(struct slab_cache *cache, struct slab *slabs);
/* Isolate up to max slabs, linked by next; sparse ones when there are no others. */
struct slab *node_take(struct slab_cache *cache, unsigned node, unsigned max);
/* … up to max that a walk wants, in their order (hand.h). Of the list, or of the sparse
 * slabs, the first NODE_PIECE are looked at, and go to its end. */
struct hand_walk;
struct node_look {
	bool sparse;
	unsigned looked;
	unsigned unwanted; /* the last ones that were looked at, in this and earlier looks */
	unsigned count;    /* of the list */
};
struct slab *node_take_some(struct slab_cache *cache, unsigned node, unsigned max,
			    const struct hand_walk *walk, struct node_look *look);
/* … one of this node, or else of another one. */
struct slab *node_take_any(struct slab_cache *cache, unsigned node);
/* Slabs in hand of one node, linked by next, go to the end of its list. */
void node_put_last(struct slab_cache *cache, unsigned node, struct slab *slabs);
/* Empty slabs in hand, linked by next, are released: how many. */
unsigned node_release(struct slab_cache *cache, struct slab *slabs);
/* A slab in hand is the next that this CPU allocates from, if it has objects to give. */
void node_serve(struct slab_cache *cache, struct slab *slab);
/*
 * All slabs to one list, the fullest first. That is done NODE_PIECE slabs at a time; others
 * find every slab meanwhile. A slab stands where it belongs by what was in use when it was
 * looked at. A thread that takes the last unsorted slab, or looks through the list itself,
 * ends the sort: then what is sorted so far stands in front, the fullest first.
 */
void node_sort(struct slab_cache *cache, unsigned node);
/* Does the list have as many slabs as its count says? False: what was counted, and what the
 * count was, which is right from now on. A list that changes all the time is not counted. */
bool node_check_count(struct slab_cache *cache, unsigned node, unsigned *ret_counted,
		      unsigned *ret_count);
/* One object straight from a node, for who has no CPU or wants that node; of another
 * one when it has no memory, unless that is `strict`. */
void *node_alloc(struct slab_cache *cache, unsigned node, bool strict);
/* Up to max objects of one slab of a node, the first on its list that is not empty: how
 * many. */
unsigned node_take_dense(struct slab_cache *cache, unsigned node, unsigned max, uint16_t *offset8,
			 struct slab **ret_slab);
/* The last slabs on the list, all but those that could hold every object of the listed
 * ones, are sparse from now on: how many. */
unsigned node_split(struct slab_cache *cache, unsigned node);
/* The last of the sparse slabs, in hand; NULL: there is none. And back, as the first. */
struct slab *node_take_sparse(struct slab_cache *cache, unsigned node);
void node_put_sparse(struct slab_cache *cache, struct slab *slab);

/* How flush_lock is taken (hand.h). */
enum hand_lock {
	HAND_WAIT, /* wait for it */
	HAND_SOON  /* … no longer than an allocation may */
};

/* --- paths ------------------------------------------------------------------ */

enum { REFILL_OK, REFILL_NONE, REFILL_NO_CPU, REFILL_ERROR };

/* An object that is not sampled, failed on purpose, zeroed or counted; NULL: there is no
 * memory without asking anybody for it. */
void *cache_alloc_plain(struct slab_cache *cache, const void *caller);
/* Give the CPU a current slab, from the sources that `mode` (SLAB_ALLOC_*) allows. */
int cache_refill(struct slab_cache *cache, unsigned mode);
void *slab_alloc_slow(struct slab_cache *cache);
/* For slab_malloc(): of object_size bytes, `requested` are asked for by `caller`. */
void *slab_alloc_requested(struct slab_cache *cache, size_t requested, const void *caller);
void slab_free_slow(struct slab_cache *cache, void *obj, struct slab *slab);
/* … for `caller`. */
void slab_free_from(struct slab_cache *cache, void *obj, struct slab *slab, const void *caller);

/* --- reclaim and validation -------------------------------------------------- */

/* Take back what CPUs hold; slabs end on node lists, full, or released. Of listed ones,
 * min_partial are kept without objects in use. Returns how many were released. */
unsigned cache_flush(struct slab_cache *cache);
/* … with flush_lock taken as `how` says (hand.h); false: it could not be. */
bool cache_flush_as(struct slab_cache *cache, enum hand_lock how, unsigned *ret_released);
/* … listed slabs stay as they are; those of CPUs have been idle since that turn (decay.c). */
unsigned cache_revoke(struct slab_cache *cache, uint32_t idle_since);
/* Are there slabs that were taken from CPUs, and stand on no node's list yet? */
bool cache_has_taken(const struct slab_cache *cache);
/* Does this CPU hold slabs or objects of a cache? */
bool slot_holds(const struct cpu_slot *slot);
/* Empty slabs of the nodes go, the others are sorted: how many went. */
unsigned cache_release_empty(struct slab_cache *cache, enum hand_lock how);
/* What a CPU has gathered, out of its slot, which is closed and fenced. */
void slot_take_gather(struct cpu_slot *slot, struct cpu_batch *batch);
/* cpu_slots_create(), which can be made to fail. */
char *slots_create(void);
/* slab_cache_shrink(), but free slabs keep their memory. */
unsigned cache_shrink(struct slab_cache *cache);
/* Slabs in hand, linked by next: full ones leave it, others go to their node. */
unsigned slab_put_back(struct slab_cache *cache, struct slab *hand);
/* Take back slabs from CPUs that hold too many: whether the nodes got some. */
bool cache_steal(struct slab_cache *cache);
/* Held over fork, behind the flush_locks. */
void validate_lock(void);
void validate_unlock(void);
/* A cache that is dying: with no lock held. */
void cache_report_leaks(struct slab_cache *cache);
/* All of its nodes, at about this moment; those that lead to it, and maybe some more. */
unsigned cache_count_slabs(const struct slab_cache *cache);
/* Call fn for each slab of a cache, by scanning descriptors. */
void cache_each_slab(const struct slab_cache *cache, void (*fn)(struct slab *, void *), void *arg);

/* Fork handlers (fork.c). */
void slab_fork_init(void);

#endif /* SLAB_INTERNAL_H */
