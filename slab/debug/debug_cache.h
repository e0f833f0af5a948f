/* SPDX-License-Identifier: MIT */
/*
 * Operations on slabs with debug flags. core/debug_record.h has the data about their
 * objects.
 */
#ifndef SLAB_DEBUG_DEBUG_CACHE_H
#define SLAB_DEBUG_DEBUG_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/cache.h"
#include "core/isolated.h"

struct damage;
struct bug_info;
struct slab_debug;

/* --- allocation and free (debug_objects.c) ----------------------------------------------- */

/*
 * debug_alloc: allocate an object of a cache with DEBUG_FLAGS_SLAB; `requested` is object_size
 * for typed caches. node -1: the current CPU's; `strict`: no other node. NULL and ENOMEM.
 */
void *debug_alloc(struct slab_cache *cache, int node, bool strict, size_t requested,
		  const void *caller);

/* debug_free: free an object whose slab has SLAB_TAG_DEBUG, or report an invalid pointer.
 * false: the slab changed its kind in the meantime, and the caller reads its tag again. */
bool debug_free(struct slab_cache *cache, void *obj, const void *caller);
/* The same for slab_free_rcu(), in two steps: check that the object may be freed (or report)
 * and record the track; later free it, by its index (false: as debug_free()). */
bool debug_begin_waiting(struct slab_cache *cache, struct slab *slab, void *obj,
			 const void *caller);
bool debug_free_waited(struct slab_cache *cache, struct slab *slab, unsigned index);
/* The usable bytes of an object: the requested size if a red zone follows it. */
size_t debug_usable_size(const struct slab *slab, const void *obj);
/* realloc in place; false: obj is not an allocated object, or the size does not fit. */
bool debug_resize(struct slab_cache *cache, struct slab *slab, void *obj, size_t size);
/* Give an object of the reserve (reserve.h), of any slab, to `caller`. */
void debug_hand_over(struct slab_cache *cache, void *obj, size_t requested, const void *caller);

/* --- slabs and the node's list of them (debug_slabs.c) ----------------------------------- */

/* Make an isolated slab a debug slab, with these properties. */
void debug_describe(const struct slab *slab, const struct slab_debug *as);
/* A fresh, isolated slab with these debug flags, without a cache; NULL and ENOMEM. */
struct slab *debug_slab_create(struct slab_cache *cache, unsigned node, uint64_t debug_flags);
/* Under the node's lock: make the slab visible to other threads, until it is withdrawn for its
 * release. */
void debug_slab_publish(struct slab_cache *cache, struct slab *slab);
void slab_withdraw(struct slab *slab);

/*
 * Under the node's lock: put a slab on the list from which objects are allocated, or take it
 * off, according to its debug flags and free objects. true: it is unused and withdrawn, and
 * the caller releases it after unlocking.
 */
bool debug_slab_place(struct slab_cache *cache, struct slab *slab);

/* Does it have the cache's present layout? Otherwise it is a legacy slab. */
bool debug_has_present_layout(const struct slab_cache *cache, const struct slab *slab);
/* Take a damaged slab out of use permanently. Under the node's lock. */
void debug_slab_disable(struct slab_cache *cache, struct slab *slab);
/* … from its node's list, if it is there. */
void debug_slab_unlist(struct slab_cache *cache, struct slab *slab);
/* The freelist. Under the node's lock. */
void debug_push(const struct slab *slab, unsigned index);
/* -1: the list is empty, or its head is no object. */
int debug_pop(const struct slab *slab);
/* Release all unused slabs on the node's list; returns their number. */
unsigned debug_node_shrink(struct slab_cache *cache, unsigned node, enum flush_lock_mode how);

/* --- slabs without debug flags whose cache has some (legacy.c) -------------------------------  */

/* Make an isolated slab a legacy slab, or release it if no object is in use. */
void legacy_begin(struct slab_cache *cache, struct slab *slab);
/* Under the node's lock: make it an ordinary isolated slab again. */
void legacy_end(struct slab_cache *cache, struct slab *slab);
/* Under the node's lock: free an object; false: it was free already. */
bool legacy_free(struct slab *slab, unsigned index);
/* Collect objects that were freed while the slab became a legacy slab. Under the node's
 * lock. */
void legacy_collect(struct slab *slab);

/* --- checks (check.c) -------------------------------------------------------------------- */

/* Check a slab with any tag and report each problem; returns their number. */
long debug_check(struct slab_cache *cache, struct slab *slab);
/* Check an unused, withdrawn debug slab before its release: the last chance to detect writes
 * to its free objects. With no lock held. */
void debug_check_leaving(struct slab_cache *cache, struct slab *slab);

/* --- frees that cannot be done (bad_free.c) ---------------------------------------------- */

/* An address's place in its slab: the index of its object, and the distance from the object's
 * start. false: behind the last object. */
bool debug_find_object(const struct slab *slab, const void *ptr, unsigned *ret_index,
		       size_t *ret_into);
/* Count and report a problem. No lock is held. */
void debug_report(struct slab_cache *cache, const struct bug_info *bug);
/* … the problem that `caller` frees an invalid pointer. */
void report_bad_free(struct slab_cache *cache, struct bug_info *bug, const void *obj,
		     const void *caller);
/* Report a pointer that is not an object of `cache`, with what it is instead. */
void debug_report_stray(struct slab_cache *cache, const void *obj, const void *caller);
/* Report slab_free_rcu() of a pointer that is not an object of this cache, or in a cache
 * without RCU. */
void report_bad_free_rcu(struct slab_cache *cache, void *obj, const void *caller);
/* Frees into slabs without debug flags. */
void debug_report_double_free(struct slab_cache *cache, const struct slab *slab, void *obj,
			      const void *caller);
void debug_report_full(struct slab_cache *cache, const struct slab *slab, void *obj,
		       const void *caller);
void debug_report_interior(struct slab_cache *cache, const struct slab *slab, void *obj,
			   const void *caller);
/* Report slab_free_sized() of an object with fewer bytes; large ones have no cache. */
void debug_report_wrong_size(const struct slab *slab, void *obj, size_t size, size_t has,
			     const void *caller);
/* Describe a pointer `into` bytes behind the start of an object; a free object. Under the
 * lock of the slab. */
void debug_describe_pointer(struct slab_cache *cache, const struct slab *slab, const void *obj,
			    unsigned index, size_t into, struct bug_info *bug);
void debug_describe_double(struct slab_cache *cache, const struct slab *slab, unsigned index,
			   struct bug_info *bug);

/* --- switching (switch.c) ---------------------------------------------------------------- */

/* Make slabs that CPUs took while debug flags were switched on legacy slabs. */
void legacy_begin_rest(struct slab_cache *cache);
/* Release legacy slabs without debug flags whose last object was freed by a thread that did
 * not know yet that they are legacy slabs; returns their number. */
unsigned legacy_finish(struct slab_cache *cache);

/* A further check of slab_cache_validate() for caches of <slab/malloc.h>; returns the number
 * of problems. Set with the first red zone of a large allocation (cache/large_red.c). */
extern long (*validate_large)(void);

#endif /* SLAB_DEBUG_DEBUG_CACHE_H */
