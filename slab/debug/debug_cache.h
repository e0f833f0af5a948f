/* SPDX-License-Identifier: MIT */
/*
 * Slabs with debug letters.
 *
 * The letters belong to the slab. A debug slab is served under its node's lock,
 * one object at a time, so that nothing can race with a check. What is known
 * about its objects (struct slab_debug) stands apart from them, at the segment's
 * head behind a guard page: an overflow cannot reach it. The objects themselves
 * lie, each in cpu.size8 * 8 bytes, as
 *
 *   left red zone | object | right red zone | padding
 *   0             red_left  + object_size    + inuse      size
 *
 * frees of such objects miss the fast path, because cpu.user carries a tag.
 */
#ifndef SLAB_DEBUG_CACHE_H
#define SLAB_DEBUG_CACHE_H

#include "core/slab_internal.h"
#include "report/track.h"

/* What stands where, with SLUB's values. */
#define POISON_INUSE 0x5a /* padding; fresh memory */
#define POISON_FREE 0x6b  /* an object that is free, or not yet written to */
#define POISON_END 0xa5   /* its last byte */
#define RED_INACTIVE 0xbb /* red zones of a free object … */
#define RED_ACTIVE 0xcc   /* … and of an allocated one */

/* Not for users: objects are announced to valgrind or ASan (annotate.h). */
#define LETTER_TOOL (UINT64_C(1) << 62)

/* Letters that decide about a slab's layout; any of the next makes it a debug
 * slab at all. */
#define LETTERS_LAYOUT (SLAB_RED_ZONE | SLAB_POISON | SLAB_STORE_USER | LETTER_TOOL)
#define LETTERS_SLAB (LETTERS_LAYOUT | SLAB_CONSISTENCY_CHECKS | SLAB_TRACE)

enum object_state {
	OBJECT_FREE = 0x46,      /* on the slab's freelist */
	OBJECT_ALLOCATED = 0x41, /* with the user */
	OBJECT_LOST = 0x4c,      /* damaged: never handed out again */
	OBJECT_WAITING = 0x57,   /* given to slab_free_rcu(), not free yet */
};

/* One object's record. With U, two tracks follow it; then, with P and a constructor, room for
 * a copy of the object. */
struct debug_object {
	uint32_t requested; /* bytes asked for: less than object_size for slab_malloc() */
	uint16_t next;      /* free: index of the next free object + 1 */
	uint8_t state;      /* enum object_state */
	uint8_t spare;
};

enum { TRACK_ALLOC, TRACK_FREE };

/* A debug slab's own memory. Under the node's lock; letters, object_size, used and
 * guarded may be looked at without it, for what that is worth. */
struct slab_debug {
	uint64_t letters;     /* debug_layout_letters() of the slab */
	uint32_t object_size;
	uint32_t inuse;       /* from the object's start to the end of its right red zone */
	uint32_t red_left;    /* bytes of the left red zone */
	uint16_t stride;      /* from record to record */
	uint16_t first, last; /* freelist: index + 1, oldest free object first */
	uint16_t used;        /* allocated (and lost) objects */
	uint8_t poisons;      /* object bodies are poisoned (P, and no constructor) */
	uint8_t disabled;     /* damaged: out of use for ever */
	uint8_t guarded;      /* one sampled object between guard pages (guard.c) */
	uint8_t counted;      /* among the node's nr_debug_empty */
	uint8_t copies;       /* P, and a constructor: free objects are compared with copies */
	uint8_t spare[3];
};

static inline struct debug_object *debug_record(const struct slab *slab, unsigned index)
{
	return (struct debug_object *)((char *)(slab->debug + 1) +
				       (size_t)index * slab->debug->stride);
}

static inline bool debug_is_guarded(const struct slab *slab)
{
	return slab->debug && __atomic_load_n(&slab->debug->guarded, __ATOMIC_RELAXED);
}

static inline void debug_set_used(const struct slab *slab, unsigned used)
{
	__atomic_store_n(&slab->debug->used, (uint16_t)used, __ATOMIC_RELAXED);
}

/* The object's tracks; only with U. */
static inline struct track *debug_track(const struct slab *slab, unsigned index, unsigned which)
{
	return (struct track *)(debug_record(slab, index) + 1) + which;
}

/* What a free object holds; only where the slab has copies. */
static inline char *debug_copy(const struct slab *slab, unsigned index)
{
	bool tracks = slab->debug->letters & SLAB_STORE_USER;

	return (char *)(debug_track(slab, index, TRACK_ALLOC) + (tracks ? 2 : 0));
}

static inline char *debug_object_at(const struct slab *slab, unsigned index)
{
	return slab->cpu.base + (size_t)index * slab->cpu.size8 * 8 + slab->debug->red_left;
}

/* --- allocation and free (debug_objects.c) ------------------------------------------- */

/*
 * debug_alloc: an object of a cache with LETTERS_SLAB; requested is object_size
 * for typed caches. node -1: the one at hand; `strict`: no other. NULL and ENOMEM.
 */
void *debug_alloc(struct slab_cache *cache, int node, bool strict, size_t requested,
		  const void *caller);
/* debug_free: of an object whose slab carries SLAB_TAG_DEBUG, and of whatever
 * cannot be freed: reports what is wrong. false: its slab has changed its kind meanwhile,
 * and is to be looked at again. */
bool debug_free(struct slab_cache *cache, void *obj, const void *caller);
/* The same for slab_free_rcu(), in two steps: may the object be freed (reports why not), and
 * is remembered who does it; and then, with its index, it is free (false: as debug_free()). */
bool debug_begin_waiting(struct slab_cache *cache, struct slab *slab, void *obj,
			 const void *caller);
bool debug_free_waited(struct slab_cache *cache, struct slab *slab, unsigned index);
/* The bytes that may be used; the size that was asked for when a red zone
 * follows it. */
size_t debug_usable_size(const struct slab *slab, const void *obj);
/* realloc in place: false when obj is no allocated object or size does not fit. */
bool debug_resize(struct slab_cache *cache, struct slab *slab, void *obj, size_t size);

/* An object that libslab kept allocated itself (reserve.h) is `caller`'s now; of any
 * slab. */
void debug_hand_over(struct slab_cache *cache, void *obj, size_t requested, const void *caller);

/* Allocated objects of a debug slab, or of one that drains; a guess without the lock. */
unsigned debug_used(const struct slab *slab);

/* --- slabs and the node's list of them (debug_slabs.c) ---------------------------- */

/* Make a slab in hand a debug slab, with these properties. */
void debug_describe(const struct slab *slab, const struct slab_debug *as);
/* A fresh slab in hand, of these letters, of no cache yet; NULL and ENOMEM. */
struct slab *debug_slab_create(struct slab_cache *cache, unsigned node, uint64_t letters);
/* Under the node's lock: from now on others find it, until it is withdrawn to be
 * released. */
void debug_slab_publish(struct slab_cache *cache, struct slab *slab);
void slab_withdraw(struct slab *slab);
/* Destroy the objects of an unused slab, with letters or without: with no lock held. */
void debug_destroy_objects(struct slab_cache *cache, struct slab *slab);
/* Call the destructor, between callback_begin() and callback_end(). */
void debug_destroy_object(struct slab_cache *cache, void *obj);
/* Does this thread run one? When an allocation within it fails, no cache is asked for memory. */
bool debug_is_destroying(void);
/* … and give it back: of a type-safe cache, when no reader can look at them any more. */
void debug_slab_release_now(struct slab_cache *cache, struct slab *slab);
/*
 * Under the node's lock: put a slab on the list of those that objects are taken
 * from, or off it, as its letters and its free objects demand. true: it is
 * unused, and withdrawn: the caller releases it when the lock is free.
 */
bool debug_slab_place(struct slab_cache *cache, struct slab *slab);
/* Is its layout the one that the cache has now? Otherwise it drains, too. */
bool debug_has_present_layout(const struct slab_cache *cache, const struct slab *slab);
/* Take a damaged slab out of use for ever. Under the node's lock. */
void debug_slab_disable(struct slab_cache *cache, struct slab *slab);
/* … from its node's list, if it is there. */
void debug_slab_unlist(struct slab_cache *cache, struct slab *slab);
/* The freelist. Under the node's lock. */
void debug_push(const struct slab *slab, unsigned index);
/* -1: the list is empty, or leads nowhere. */
int debug_pop(const struct slab *slab);
/* All unused slabs on the node's list are released: how many. */
unsigned debug_node_shrink(struct slab_cache *cache, unsigned node, enum hand_lock how);
/* Is an object allocated? Of slabs with letters and slabs that drain. */
bool debug_is_allocated(const struct slab *slab, unsigned index);

/* --- slabs without letters whose cache has some (drain.c) --------------------------- */

/*
 * When letters are switched on, the slabs that exist are freed into but not
 * allocated from: they drain. Their objects' states then stand in the place of
 * their freelist, so that a second free is noticed there as well.
 */
bool slab_drains(const struct slab *slab);
/* Of a slab that drains. */
bool drain_is_free(const struct slab *slab, unsigned index);
/* A slab in hand starts to drain, or is released when nothing of it is in use. */
void drain_begin(struct slab_cache *cache, struct slab *slab);
/* Under the node's lock: it is an ordinary slab in hand again. */
void drain_end(struct slab_cache *cache, struct slab *slab);
/* Under the node's lock: free an object; false: it is free already. */
bool drain_free(struct slab *slab, unsigned index);
/* Take in what was freed while it began to drain. Under the node's lock. */
void drain_collect(struct slab *slab);

/* --- checks (check.c) ---------------------------------------------------------- */

struct damage;
struct finding;

/* One object: false: it was damaged, which is put right and described. */
bool debug_check_object(struct slab_cache *cache, struct slab *slab, unsigned index,
			struct finding *finding);
/* Check a slab of any kind with a tag: number of problems, each reported. */
long debug_check(struct slab_cache *cache, struct slab *slab);
/* An unused slab with letters, withdrawn, is about to go: what was written to its free
 * objects would not be seen later. With no lock of 3 and 4 held. */
void debug_check_leaving(struct slab_cache *cache, struct slab *slab);
/* Damage as a finding: what and where; and at its end, put right. */
void damage_begin_finding(const struct damage *damage, const char *cache, struct finding *finding);
void damage_repair(const struct damage *damage, struct finding *finding);
/* Both, of an object. Under the lock of the slab. */
void debug_describe_damage(struct slab_cache *cache, struct slab *slab, unsigned index,
			   const struct damage *damage, struct finding *finding);

/* --- frees that cannot be done (bad_free.c) --------------------------------------- */

/* Where in its slab an address lies: the index of its object, and how far from its start.
 * false: behind the last one. */
bool debug_find_object(const struct slab *slab, const void *ptr, unsigned *ret_index,
		       size_t *ret_into);
/* Something is wrong: count it, and report it. No lock is held. */
void debug_report(struct slab_cache *cache, const struct finding *finding);
/* … which is that `caller` wants to free what cannot be freed. */
void debug_refuse(struct slab_cache *cache, struct finding *finding, const void *obj,
		  const void *caller);
/* A pointer that is no object of `cache`: it is said what it is instead. */
void debug_report_stray(struct slab_cache *cache, const void *obj, const void *caller);
/* slab_free_rcu() of what is no object of this cache, or in a cache without RCU. */
void debug_refuse_waiting(struct slab_cache *cache, void *obj, const void *caller);
/* Frees into slabs without letters. */
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
			    unsigned index, size_t into, struct finding *finding);
void debug_describe_double(struct slab_cache *cache, const struct slab *slab, unsigned index,
			   struct finding *finding);

/* --- switching (switch.c) --------------------------------------------------------- */

/* Where the fast path allocates from, by flags, letters, sampling and counting. */
void cache_update_slots(struct slab_cache *cache);
/* Slabs that CPUs got hold of while letters were switched on start to drain. */
void debug_sweep(struct slab_cache *cache);

/* Slabs without letters that lost their last object unseen, to a free that was
 * under way when they began to drain, are given back: how many. */
unsigned debug_settle(struct slab_cache *cache);

#endif /* SLAB_DEBUG_CACHE_H */
