/* SPDX-License-Identifier: MIT */
/*
 * Slabs with debug flags: what is done with them. What is known about their objects:
 * core/debug_record.h.
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
 * debug_alloc: an object of a cache with DEBUG_FLAGS_SLAB; requested is object_size
 * for typed caches. node -1: the one at hand; `strict`: no other. NULL and ENOMEM.
 */
void *debug_alloc(struct slab_cache *cache, int node, bool strict, size_t requested,
		  const void *caller);

/* debug_free: of an object whose slab carries SLAB_TAG_DEBUG, and of whatever
 * cannot be freed: reports what is wrong. false: its slab has changed its kind meanwhile,
 * and is to be looked at again. */
bool debug_free(struct slab_cache *cache, void *obj, const void *caller);
/* The same for slab_free_rcu(), in two steps: may the object be freed (reports why not), and
 * the track is recorded; and then, with its index, it is free (false: as debug_free()). */
bool debug_begin_waiting(struct slab_cache *cache, struct slab *slab, void *obj,
			 const void *caller);
bool debug_free_waited(struct slab_cache *cache, struct slab *slab, unsigned index);
/* The bytes that may be used; the size that was requested when a red zone
 * follows it. */
size_t debug_usable_size(const struct slab *slab, const void *obj);
/* realloc in place: false when obj is no allocated object or size does not fit. */
bool debug_resize(struct slab_cache *cache, struct slab *slab, void *obj, size_t size);
/* An object that libslab kept allocated itself (reserve.h) is `caller`'s now; of any
 * slab. */
void debug_hand_over(struct slab_cache *cache, void *obj, size_t requested, const void *caller);

/* --- slabs and the node's list of them (debug_slabs.c) ----------------------------------- */

/* Make an isolated slab a debug slab, with these properties. */
void debug_describe(const struct slab *slab, const struct slab_debug *as);
/* A fresh, isolated slab of these debug flags, of no cache yet; NULL and ENOMEM. */
struct slab *debug_slab_create(struct slab_cache *cache, unsigned node, uint64_t debug_flags);
/* Under the node's lock: from now on others find it, until it is withdrawn to be
 * released. */
void debug_slab_publish(struct slab_cache *cache, struct slab *slab);
void slab_withdraw(struct slab *slab);

/*
 * Under the node's lock: put a slab on the list of those that objects are taken
 * from, or off it, as its debug flags and its free objects demand. true: it is
 * unused, and withdrawn: the caller releases it when the lock is free.
 */
bool debug_slab_place(struct slab_cache *cache, struct slab *slab);

/* Is its layout the one that the cache has now? Otherwise it is a legacy slab, too. */
bool debug_has_present_layout(const struct slab_cache *cache, const struct slab *slab);
/* Take a damaged slab out of use for ever. Under the node's lock. */
void debug_slab_disable(struct slab_cache *cache, struct slab *slab);
/* … from its node's list, if it is there. */
void debug_slab_unlist(struct slab_cache *cache, struct slab *slab);
/* The freelist. Under the node's lock. */
void debug_push(const struct slab *slab, unsigned index);
/* -1: the list is empty, or its head is no object. */
int debug_pop(const struct slab *slab);
/* All unused slabs on the node's list are released: how many. */
unsigned debug_node_shrink(struct slab_cache *cache, unsigned node, enum flush_lock_mode how);

/* --- slabs without debug flags whose cache has some (legacy.c) -------------------------------  */

/* An isolated slab becomes a legacy slab, or is released when no object is in use. */
void legacy_begin(struct slab_cache *cache, struct slab *slab);
/* Under the node's lock: it is an ordinary isolated slab again. */
void legacy_end(struct slab_cache *cache, struct slab *slab);
/* Under the node's lock: free an object; false: it is free already. */
bool legacy_free(struct slab *slab, unsigned index);
/* Take in objects freed while it became a legacy slab. Under the node's lock. */
void legacy_collect(struct slab *slab);

/* --- checks (check.c) -------------------------------------------------------------------- */

/* Check a slab of any kind with a tag: number of problems, each reported. */
long debug_check(struct slab_cache *cache, struct slab *slab);
/* An unused slab with debug flags, withdrawn, is about to go: what was written to its free
 * objects would not be seen later. With no lock held. */
void debug_check_leaving(struct slab_cache *cache, struct slab *slab);

/* --- frees that cannot be done (bad_free.c) ---------------------------------------------- */

/* Where in its slab an address lies: the index of its object, and how far from its start.
 * false: behind the last one. */
bool debug_find_object(const struct slab *slab, const void *ptr, unsigned *ret_index,
		       size_t *ret_into);
/* Something is wrong: count it, and report it. No lock is held. */
void debug_report(struct slab_cache *cache, const struct bug_info *bug);
/* … which is that `caller` wants to free what cannot be freed. */
void report_bad_free(struct slab_cache *cache, struct bug_info *bug, const void *obj,
		     const void *caller);
/* A pointer that is no object of `cache`: it is said what it is instead. */
void debug_report_stray(struct slab_cache *cache, const void *obj, const void *caller);
/* slab_free_rcu() of what is no object of this cache, or in a cache without RCU. */
void report_bad_free_rcu(struct slab_cache *cache, void *obj, const void *caller);
/* Frees into slabs without debug flags. */
void debug_report_double_free(struct slab_cache *cache, const struct slab *slab, void *obj,
			      const void *caller);
void debug_report_full(struct slab_cache *cache, const struct slab *slab, void *obj,
		       const void *caller);
void debug_report_interior(struct slab_cache *cache, const struct slab *slab, void *obj,
			   const void *caller);
/* slab_free_sized() of an object that has fewer bytes; large ones have no cache. */
void debug_report_wrong_size(const struct slab *slab, void *obj, size_t size, size_t has,
			     const void *caller);
/* Describe a pointer that is `into` bytes behind the start of an object; an object that
 * is free. Under the lock of the slab. */
void debug_describe_pointer(struct slab_cache *cache, const struct slab *slab, const void *obj,
			    unsigned index, size_t into, struct bug_info *bug);
void debug_describe_double(struct slab_cache *cache, const struct slab *slab, unsigned index,
			   struct bug_info *bug);

/* --- switching (switch.c) ---------------------------------------------------------------- */

/* Slabs that CPUs took while debug flags were switched on become legacy slabs. */
void legacy_begin_rest(struct slab_cache *cache);
/* Slabs without debug flags that lost their last object unseen, to a free that was
 * under way when they became legacy slabs, are given back: how many. */
unsigned legacy_finish(struct slab_cache *cache);

/* What slab_cache_validate() checks besides, for a cache of <slab/malloc.h>'s: the number of
 * problems. Set with the first red zone of a large allocation (cache/large_red.c). */
extern long (*validate_large)(void);

#endif /* SLAB_DEBUG_DEBUG_CACHE_H */
