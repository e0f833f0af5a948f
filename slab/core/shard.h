/* SPDX-License-Identifier: MIT */
/*
 * Shards: the lists of a cache's ordinary slabs, and objects that move between slabs and callers.
 *
 * A slab is on one list of its shard, or on none:
 *   bucket 0 to 7   it has some free objects, more of them the higher the bucket was when it was
 *                   listed: frees leave it where it is, and an allocation that finds it in the
 *                   wrong bucket moves it
 *   SLAB_EMPTY      no object is in use; the shard keeps such slabs for a while, and other caches
 *                   may take them before the process grows
 *   SLAB_FULL       no free object: on no list; a free lists it
 *   SLAB_OFF        a thread works on it (purges its pages, empties it, or it is a legacy slab): on
 *                   no list. Frees only set bits. slab_put_on() lists it again
 *
 * The lock of slab->shard protects the slab's map, free, initialized, up, bucket, next and prev.
 * A slab moves to another shard of the cache with both locks, taken in the order of their
 * addresses. `objects - initialized` objects at the slab's end were never in use: an allocation
 * that needs more than the bits that are set constructs them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/cache.h"
#include "core/slab.h"

enum { SLAB_EMPTY = SHARD_BUCKETS, SLAB_FULL, SLAB_OFF };

/* The most objects that objects_take() gives and objects_put() takes at once. */
#define OBJECTS_MAX (CPU_ARRAY_MAX + 1)

void shard_init(struct shard *shard, unsigned node, unsigned number);
/* Does the shard belong to the cache? */
static inline bool shard_is_of(const struct shard *shard, const struct slab_cache *cache)
{
	return shard >= cache->shard &&
	       shard < cache->shard + (size_t)shards_per_node * topology_nodes();
}

/* All shards of a cache. */
#define shard_each(shard, cache)                                                                   \
	for (struct shard *shard = (cache)->shard, *shard##_stop = shards_end(cache);              \
	     shard < shard##_stop; shard++)
struct shard *shards_end(const struct slab_cache *cache);

/* Lock the shard that a slab has when the function returns. NULL: the slab has none (any more). */
struct shard *shard_lock_of(struct slab *slab);

/* --- with the shard's lock ---------------------------------------------------------------- */

/* Take a slab off its list, for SLAB_OFF; list it where its free objects say. */
void slab_take_off(struct shard *shard, struct slab *slab);
void slab_put_on(struct shard *shard, struct slab *slab);
/* After a change of the slab's free objects: list it where it belongs. It is not off: then `up` is
 * out of reach. true: it has moved. */
bool slab_relist(struct shard *shard, struct slab *slab);
/* A new slab becomes one of this shard, not listed yet; a slab that is off the lists leaves the
 * shard. */
void shard_add(struct shard *shard, struct slab *slab);
void shard_remove(struct shard *shard, struct slab *slab);

/* With the locks of both shards: move a slab. Other threads that read slab->shard see one of the
 * two. */
void shard_move(struct shard *from, struct shard *to, struct slab *slab);

/* --- objects ------------------------------------------------------------------------------- */

/* Where objects_take() may look. */
enum {
	TAKE_PARTIAL = 1, /* slabs of this shard */
	TAKE_OTHERS = 2, /* slabs of other shards of the node, which move here */
	/* A new slab, unless the shard has an empty one; the shard's partial slabs serve first.
	 * Empty slabs of other caches come before growth. */
	TAKE_NEW = 4,
	TAKE_READY = 8, /* constructed objects only */
};

/*
 * objects_take: take up to `want` free objects, constructed, of slabs of a shard: the fullest
 * first, the lowest addresses first. They end at objs[want], so that the lowest is on top of an
 * array that gets them. Returns their number, 0 with ENOMEM if TAKE_NEW is set. The caller holds no
 * lock; constructors may run.
 */
unsigned objects_take(struct slab_cache *cache, struct shard *shard, unsigned want, void **objs,
		      unsigned where);
/* Objects that were free already, or are none of the cache: for a report with no lock held. The
 * first are listed, the others only counted. */
#define PUT_BAD_MAX 8u
enum put_what { PUT_FREE_ALREADY, PUT_NO_OBJECT };
struct put_bad {
	unsigned n;
	struct {
		void *obj;
		enum put_what what;
	} bad[PUT_BAD_MAX];
};

static inline void put_note(struct put_bad *bad, void *obj, enum put_what what)
{
	if (bad->n < PUT_BAD_MAX) {
		bad->bad[bad->n].obj = obj;
		bad->bad[bad->n].what = what;
	}
	bad->n++;
}

static inline unsigned put_listed(const struct put_bad *bad)
{
	return bad->n < PUT_BAD_MAX ? bad->n : PUT_BAD_MAX;
}

/*
 * objects_put: set the bits of n objects of ordinary slabs. objs[] has room for one more, and is
 * overwritten. With SLAB_DECAY_MS=0 slabs that become empty are released. The caller holds
 * no shard's lock. *ret_bad gets the objects that no bit was set for.
 */
void objects_put(struct slab_cache *cache, unsigned n, void **objs, struct put_bad *ret_bad);
/* Report those that are listed, and count the others as errors, with no lock held; `caller` freed
 * the last one, or NULL. */
void objects_report(struct slab_cache *cache, const struct put_bad *bad, const void *caller);
/* objects_put() and objects_report(). */
void objects_free(struct slab_cache *cache, unsigned n, void **objs, const void *caller);
/* Set the bits of one word of a slab's map at once (rcu). Returns the bits that were set
 * already. */
uint64_t objects_put_bits(struct slab_cache *cache, struct slab *slab, unsigned word,
			  uint64_t bits);
/* After objects_put_bits(): release what the slab's shard need not keep. */
void shard_trim(struct slab_cache *cache, struct shard *shard);

/* --- empty slabs --------------------------------------------------------------------------- */

/* Release empty slabs of a shard until `keep` are left; returns their number. The caller holds no
 * lock, destructors may run. */
unsigned shard_release(struct slab_cache *cache, struct shard *shard, unsigned keep);
/* shard_release() of all shards. */
unsigned cache_release(struct slab_cache *cache, unsigned keep);
/* A tick of the walker: release the empty slabs that nobody needed since the last one, but for
 * min_partial. Returns the number of released slabs. */
unsigned cache_tick(struct slab_cache *cache);
/* Before the process grows: release empty slabs of other caches, looking at some caches at a time,
 * from where the last call stopped. Returns the number of released bytes. */
size_t caches_reap(const struct slab_cache *but);

/* --- walks --------------------------------------------------------------------------------- */

/*
 * shard_walk: call fn for the listed slabs of a shard, with its lock; fn is short, and may take the
 * slab off its list. The lock is dropped after each WALK_PIECE slabs. Slabs that are listed
 * meanwhile may be missed or visited twice. fn returns false to end the walk.
 *
 * shard_walk_piece: one piece of a walk, which begins as {.shard = shard}. false: it has ended. The
 * caller goes on until then.
 */
#define WALK_PIECE 32u
typedef bool shard_visit(struct shard *shard, struct slab *slab, void *arg);
struct shard_walk {
	struct shard *shard;
	struct slab *at; /* the next slab */
	unsigned bucket; /* the next list */
	struct shard_walk *next; /* of shard->walks */
};
bool shard_walk_piece(struct shard_walk *walk, shard_visit *fn, void *arg);
void shard_walk(struct shard *shard, shard_visit *fn, void *arg);
/* Is the state of a slab consistent with its map? With the lock. NULL: yes; else what is wrong. */
const char *slab_check_map(const struct slab *slab);
/* The sums of a node's shards. */
struct shard_sums {
	uint64_t slabs, partial, empty, room, used;
};
void node_sums(const struct slab_cache *cache, unsigned node, struct shard_sums *ret_sums);
