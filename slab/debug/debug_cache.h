/* SPDX-License-Identifier: MIT */
/*
 * Operations on debug slabs and legacy slabs: allocation, free, checks, and switching of debug
 * flags. A slab keeps the debug flags that it was created with. core/debug_record.h has the
 * record of each object.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/cache.h"
#include "core/debug_record.h"
#include "core/upcalls.h"

struct damage;
struct bug_info;
struct slab_debug;

/* --- the lock of a debug or legacy slab (debug_slabs.c) ------------------------------------ */

/* Of a legacy slab that of its shard, else that of its node. */
struct debug_lock {
	struct shard *shard;   /* NULL: the node's lock is held */
	pthread_mutex_t *node; /* NULL: the shard's lock is held */
};

/* Lock a slab with SLAB_TAG_DEBUG; ordinary slabs have the lock of legacy slabs. Before it is
 * locked the slab may change its kind, so the caller asks debug_is_ours(). */
struct debug_lock debug_lock(struct slab_cache *cache, struct slab *slab);
void debug_unlock(const struct debug_lock *lock);
/* Is it a debug slab or a legacy slab of this cache, and is this its lock? */
bool debug_is_ours(const struct slab_cache *cache, const struct slab *slab,
		   const struct debug_lock *lock);

/* --- allocation and free (debug_objects.c, debug_sizes.c) ------------------------------------- */

/*
 * debug_alloc: allocate an object of a cache with DEBUG_FLAGS_SLAB; `requested` is object_size
 * for typed caches. node -1: the current CPU's; `strict`: no other node. Returns NULL and sets
 * ENOMEM if there is no memory.
 */
void *debug_alloc(struct slab_cache *cache, int node, bool strict, size_t requested,
		  const void *caller);

/* debug_alloc_sampled: allocate a sample of the heap profile (report/profile.h), whatever the
 * cache's debug flags are. NULL: there is no memory; the caller then allocates as usual. errno
 * keeps its value. */
void *debug_alloc_sampled(struct slab_cache *cache, int node, size_t requested, const void *caller);

/* debug_free: free an object whose slab has SLAB_TAG_DEBUG, or report an invalid pointer.
 * false: the slab lost this tag in the meantime, and the caller reads the tag again. */
bool debug_free(struct slab_cache *cache, void *obj, const void *caller);
/* The two steps of slab_free_rcu(). The first checks that the object may be freed, and records
 * the track; false: it reported a problem. The second frees the object after the grace period;
 * false: as debug_free(). */
bool debug_begin_waiting(struct slab_cache *cache, struct slab *slab, void *obj,
			 const void *caller);
bool debug_free_waited(struct slab_cache *cache, struct slab *slab, unsigned index);
/* Is ptr the start of an object, allocated or free, of a slab with SLAB_TAG_DEBUG? */
bool debug_is_object(const struct slab *slab, const void *ptr);
/* The usable bytes of an object: the requested size if a red zone follows it. */
size_t debug_usable_size(const struct slab *slab, const void *obj);
/* Resize an object in place, and report writes beyond its old size. false: obj is not an allocated
 * object, or the size does not fit. */
bool debug_resize(struct slab_cache *cache, struct slab *slab, void *obj, size_t size,
		  const void *caller);
/* Record that an object of the reserve (reserve.h) goes to `caller`. Does nothing if the object
 * is not in a debug slab. */
void debug_hand_over(struct slab_cache *cache, void *obj, size_t requested, const void *caller);

/* --- slabs and the node's list of them (debug_slabs.c) ----------------------------------- */

/* Give a fresh slab the properties of a debug slab. */
void debug_describe(const struct slab *slab, const struct slab_debug *as);
/* Create a slab with these debug flags, not yet published. NULL and ENOMEM if there is no
 * memory. */
struct slab *debug_slab_create(struct slab_cache *cache, unsigned node, uint64_t debug_flags);
/* Under the node's lock: make the slab visible to other threads, until it is withdrawn for its
 * release. */
void debug_slab_publish(struct slab_cache *cache, struct slab *slab);
void slab_withdraw(struct slab *slab);
/* Bytes from object to object of a slab with or without debug flags; never 0. */
size_t debug_size(const struct slab *slab);

/*
 * Under the node's lock: put a slab on the list from which objects are allocated, or take it
 * off, according to its debug flags and free objects. true: the slab is unused and was
 * withdrawn, and the caller releases it after unlocking.
 */
bool debug_slab_place(struct slab_cache *cache, struct slab *slab);

/* Are objects allocated from the debug slab: does it have the cache's present layout, or is it of
 * the heap profile, which is on? */
bool debug_slab_serves(const struct slab_cache *cache, const struct slab *slab);
/* Take a damaged slab out of use permanently. Under the node's lock. */
void debug_slab_disable(struct slab_cache *cache, struct slab *slab);
/* Take a debug slab off its node's list, if it is there. Takes the node's lock. */
void debug_slab_unlist(struct slab_cache *cache, struct slab *slab);
/* Put an object at the end of the slab's freelist. Under the node's lock. */
void debug_push(const struct slab *slab, unsigned index);
/* Take the first object of the freelist; -1: the list is empty, or its head is not a free
 * object. Under the node's lock. */
int debug_pop(const struct slab *slab);
/* Release all unused slabs on the node's list; returns their number. */
unsigned debug_node_shrink(struct slab_cache *cache, unsigned node);

/* --- legacy slabs without debug flags (legacy.c) ----------------------------------------- */

/* Make an ordinary slab a legacy slab, or release it if no object is in use. false: another thread
 * works on it, and it stays ordinary. The caller holds flush_lock. */
bool legacy_begin(struct slab_cache *cache, struct slab *slab);
/* Under the shard's lock: make a legacy slab an ordinary slab again if the cache has no debug
 * flags. true: the slab is unused and has left the shard, and the caller releases it after
 * unlocking. */
bool legacy_place(struct slab_cache *cache, struct shard *shard, struct slab *slab);
/* Under the shard's lock: free an object that is in use. true: as legacy_place(). */
bool legacy_free(struct shard *shard, struct slab *slab, unsigned index);

/* --- checks (check.c) -------------------------------------------------------------------- */

/* Check any slab of the cache and report each problem; returns their number. */
long debug_check(struct slab_cache *cache, struct slab *slab);
/* Check a copy of a debug slab, of which nothing else knows: repair it, and call fn for each
 * problem. Returns their number. The memory of a guarded slab may be missing where its pages are
 * inaccessible. */
long debug_check_copy(struct slab_cache *cache, struct slab *slab,
		      void (*fn)(struct bug_info *bug, void *arg), void *arg);
/* Check an unused, withdrawn debug slab before its release. This is the last chance to detect
 * writes to its free objects. The caller holds no lock. */
void debug_check_leaving(struct slab_cache *cache, struct slab *slab);

/* --- bad frees (bad_free.c) -------------------------------------------------------------- */

/* Find the object that contains an address: its index, and the address's distance from the
 * object's start. false: the address is behind the last initialized object. */
bool debug_find_object(const struct slab *slab, const void *ptr, unsigned *ret_index,
		       size_t *ret_into);
/* Count and report a problem. The caller holds no lock. */
void debug_report(struct slab_cache *cache, const struct bug_info *bug);
/* Report the bad free that `bug` describes: `caller` tried to free obj. NULL: another call did, and
 * the problem was found when obj was returned to its slab. */
void report_bad_free(struct slab_cache *cache, struct bug_info *bug, const void *obj,
		     const void *caller);
/* Report the use of a destroyed cache, with who destroyed it. obj: what was to be freed, or
 * NULL. */
void debug_report_destroyed(struct slab_cache *cache, const char *reason, const void *obj,
			    const void *caller);
/* Report the free of a pointer that is not an object of `cache`. The report describes what is at
 * that address instead. */
void debug_report_stray(struct slab_cache *cache, const void *obj, const void *caller);
/* Report slab_free_rcu() of a pointer that is not an object of this cache, or in a cache
 * without args.rcu. */
void report_bad_free_rcu(struct slab_cache *cache, void *obj, const void *caller);
/* Report bad frees into slabs without debug flags: of a free object, and of a pointer that is not
 * the start of an object. */
void debug_report_double_free(struct slab_cache *cache, const struct slab *slab, void *obj,
			      const void *caller);
void debug_report_interior(struct slab_cache *cache, const struct slab *slab, void *obj,
			   const void *caller);
/* Report slab_free_sized() with more than the object's usable size. The slab of a large
 * allocation has no cache. */
void debug_report_wrong_size(const struct slab *slab, void *obj, size_t size, size_t has,
			     const void *caller);

/* --- frees that name what they free (pairs.c) -------------------------------------------- */

/* The enum slab_pair of the allocation that the calling thread makes. */
extern __thread uint8_t debug_pair __attribute__((tls_model("initial-exec")));

/* A free: the size that it names or SLAB_ANY_SIZE, the alignment or 0, enum slab_pair. */
struct debug_end {
	size_t size, align;
	unsigned pair;
	const void *caller;
};

/* Report what the free of an allocated object names wrongly, before the free: of a debug slab, of a
 * large allocation. Nothing is said of what is no allocated object. */
void debug_check_end(struct slab_cache *cache, const struct slab *slab, void *obj,
		     const struct debug_end *end);
void debug_check_end_of_large(const struct slab *slab, void *obj, const struct debug_end *end);
/* Whatever allocated the object, it counts as of this enum slab_pair. */
void debug_set_pair(const struct slab *slab, const void *obj, unsigned pair);

/* Report a size that another cache serves; objects of this one are requested with `least` bytes or
 * more. */
void debug_report_size_of_class(struct slab_cache *cache, const struct slab *slab, void *obj,
				size_t least, const struct debug_end *end);

/* Describe in `bug` an invalid pointer, `into` bytes behind the start of an object, or the free
 * of a free object. Under the lock that protects the slab. */
void debug_describe_pointer(struct slab_cache *cache, const struct slab *slab, const void *obj,
			    unsigned index, size_t into, struct bug_info *bug);
void debug_describe_double(struct slab_cache *cache, const struct slab *slab, unsigned index,
			   struct bug_info *bug);

/* What core calls, for every cache. */
extern const struct cache_checks debug_checks;
void debug_free_already(struct slab_cache *cache, const struct slab *slab, void *obj,
			const void *caller);
void debug_no_object(struct slab_cache *cache, void *obj, const void *caller);

/* n more are used, also in the cache's sum. debug_set_used() alone corrects a damaged number. */
static inline void debug_add_used(struct slab_cache *cache, const struct slab *slab, int n)
{
	debug_set_used(slab, (unsigned)(slab->debug->used + n));
	__atomic_fetch_add(&cache->node[slab->node].debug_used, n, __ATOMIC_RELAXED);
}

/* --- switching (switch.c) ---------------------------------------------------------------- */

/* Make ordinary slabs legacy slabs that a thread worked on, or made, while debug flags were being
 * switched on, and return the objects of arrays to them. */
void legacy_begin_rest(struct slab_cache *cache);
/* Apply the cache's present debug flags to all its debug slabs and legacy slabs, and release the
 * unused ones; returns their number. This also finds legacy slabs whose last object came from an
 * array. */
unsigned legacy_finish(struct slab_cache *cache);

/* slab_cache_validate() of a cache of <slab/malloc.h> calls this, too; returns the number of
 * problems. cache/large_red.c sets it with the first red zone of a large allocation. */
extern long (*validate_large)(void);
