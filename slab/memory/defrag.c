/* SPDX-License-Identifier: MIT */
/*
 * Defragmentation: moving objects out of sparse slabs, so that these slabs become empty.
 *
 * The thread moves what CPUs hold to the slabs (cache_shrink()). Then it empties the slabs of each
 * node, the sparsest first:
 *
 *   take a sparse slab off the lists · for each object in use: isolate() it, migrate() it
 *   to a free object of another slab, free it · list the slab again, or release it
 *
 * until the objects of the sparsest slab do not fit into the other partial slabs. Free objects come
 * from the fullest slab, as for any allocation. So in the end as few slabs as possible have all
 * objects.
 *
 * Only the slab that is being emptied is off the lists. So the callbacks can run with no lock held:
 * no other thread allocates from the slab or releases it, so each of its objects is in use, or was
 * freed since the thread checked it, which isolate() must detect. Allocations find all other slabs
 * as usual. So no allocation needs more memory because of defragmentation.
 *
 * flush_lock cannot be held around a callback, since another thread may wait for it while it holds
 * a lock of the application. So cache->moving leads to the slab, and changes under flush_lock. The
 * child of a fork lists the slab, and lacks one object: the one that was to be moved to. If a
 * callback forks, its thread goes on with its slab in the child.
 *
 * The thread takes the free object to move to before it calls isolate(): once isolate() has
 * returned, migrate() always follows at once, so the callbacks may hold a lock from isolate() to
 * migrate(). No slab is created for it. If other threads use up the room, defragmentation stops.
 *
 * A slab whose objects do not all move is listed again, where it takes objects of the next slabs.
 * Each slab is visited once: a slab that comes must have more objects in use than the last one, or
 * as many and a higher address.
 *
 * The old object becomes free in its slab. In caches with args.rcu that are not type-safe, readers
 * may still use it, so it waits for a grace period first (slab_free_rcu()). Meanwhile its slab
 * looks full, and would get the next objects. So such slabs stay off the lists, some of them at a
 * time, until a grace period has ended; they are behind the first one of cache->moving. An
 * allocation that would fail at a limit lists them before (defrag_give_back()). In type-safe
 * caches, slab_release() makes the slab wait.
 *
 * Debug slabs and guarded objects do not take part: their objects are allocated under the
 * node's lock, the one that was freed first before the others, and moving them would hide bugs.
 */
#include "memory/defrag.h"
#include "base/cancel.h"
#include "base/error.h"
#include "core/callback.h"
#include "core/debug_record.h"
#include "core/flush_lock.h"
#include "core/registry.h"
#include "core/shard.h"
#include "core/slab.h"
#include "inject.h"
#include "memory/shrink.h"
#include "pages/free_slabs.h"
#include "pages/topology.h"
#include "rcu/free_rcu.h"

#include <errno.h>
#include <pthread.h>
#include <slab/memory.h>
#include <slab/slab.h>

/* Sparse slabs that one walk over the lists finds. */
#define FOUND_MAX 64u
/* Slabs off the lists whose old objects wait for a grace period: an eighth of the node's, so that
 * few grace periods serve them all. */
#define WAITING_LEAST 64u
#define WAITING_PART 8u

/* A sparse slab, and the number of its objects in use when it was found. */
struct sparse {
	struct slab *slab;
	unsigned used;
};

/* The defragmentation of one node. */
struct defrag {
	struct slab_cache *cache;
	unsigned node;
	bool waits; /* old objects wait for a grace period */
	bool full; /* no free object to move to is left */
	void *to; /* the free object to move to next, or NULL */
	const struct slab *filling; /* the slab that had the last one */
	long moved;
	unsigned released;
	unsigned waiting; /* slabs behind the first one of cache->moving */
	uint64_t waiting_room; /* free objects in these */
	struct sparse last; /* visited last */
	unsigned count;
	struct sparse found[FOUND_MAX]; /* the sparsest slabs, the sparsest first */
};

static bool is_debugged(const struct slab_cache *cache)
{
	return cache_debug_flags(cache) & DEBUG_FLAGS_SLAB;
}

/* --- which slabs ------------------------------------------------------------------------------ */

static unsigned used_of(const struct slab *slab)
{
	return slab_initialized(slab) - slab_free_count(slab);
}

static bool comes_before(const struct sparse *a, const struct sparse *b)
{
	return a->used != b->used ? a->used < b->used : a->slab < b->slab;
}

/* Keep the FOUND_MAX sparsest slabs that come behind the last one. */
static bool look(struct shard *shard, struct slab *slab, void *arg)
{
	struct defrag *d = arg;
	const struct sparse sparse = {slab, used_of(slab)};
	unsigned at;

	(void)shard;
	if (slab->bucket == SLAB_EMPTY || !comes_before(&d->last, &sparse))
		return true;
	if (d->count == FOUND_MAX && !comes_before(&sparse, &d->found[FOUND_MAX - 1]))
		return true;
	if (d->count < FOUND_MAX)
		d->count++;
	for (at = d->count - 1; at && comes_before(&sparse, &d->found[at - 1]); at--)
		d->found[at] = d->found[at - 1];
	d->found[at] = sparse;
	return true;
}

/* Frees leave slabs in the buckets of fuller ones. */
static bool relist(struct shard *shard, struct slab *slab, void *arg)
{
	(void)arg;
	slab_relist(shard, slab);
	return true;
}

static bool find_sparse(struct defrag *d)
{
	struct shard *first = shard_at(d->cache, d->node, 0);

	d->count = 0;
	for (unsigned i = 0; i < shards_per_node; i++) {
		shard_walk(first + i, relist, NULL);
		shard_walk(first + i, look, d);
	}
	return d->count;
}

static unsigned room_of(const struct slab *slab)
{
	return slab->objects - used_of(slab);
}

/* Do the objects of a slab fit into the other listed slabs? Slabs whose objects wait have room,
 * too, but not yet. */
static bool fits(const struct defrag *d, const struct slab *slab)
{
	struct shard_sums sums;

	node_sums(d->cache, d->node, &sums);
	return sums.room >= sums.used + d->waiting_room + room_of(slab) + used_of(slab);
}

static bool is_still_sparse(const struct defrag *d, const struct shard *shard,
			    const struct sparse *sparse)
{
	const struct slab *slab = sparse->slab;

	return GUARD(defrag_of_cache, shard_is_of(shard, d->cache)) &&
	       GUARD(defrag_partial, slab->bucket < SHARD_BUCKETS) && slab->node == d->node &&
	       used_of(slab) <= sparse->used && fits(d, slab);
}

/* Take a slab off the lists. false: it is gone, or has got objects since it was found, or its
 * objects do not fit. */
static bool take_off(struct defrag *d, const struct sparse *sparse)
{
	struct slab *slab = sparse->slab;
	struct shard *shard;
	bool done = false;

	flush_lock(d->cache);
	shard = shard_lock_of(slab);
	if (shard) {
		done = is_still_sparse(d, shard, sparse);
		if (done)
			GUARD_STEP(defrag_off, slab_take_off(shard, slab));
		cpu_lock_drop(&shard->lock);
	}
	if (done) {
		slab->next = d->cache->moving;
		GUARD_STEP(defrag_moving, d->cache->moving = slab);
	}
	flush_unlock(d->cache);
	return done;
}

/* --- slabs that come back --------------------------------------------------------------------- */

/* List some slabs of a chain again; returns the others. Under flush_lock, or as the only thread. */
static struct slab *list_some(struct slab *chain)
{
	struct slab *next;

	for (unsigned left = WALK_PIECE; left && chain; left--, chain = next) {
		struct shard *shard = shard_lock_of(chain);

		next = chain->next;
		slab_put_on(shard, chain);
		cpu_lock_drop(&shard->lock);
	}
	return chain;
}

bool defrag_give_back(struct slab_cache *cache)
{
	struct slab *slab = cache->moving;

	if (slab)
		slab->next = list_some(slab->next);
	return slab && slab->next;
}

static void free_one(struct slab_cache *cache, void *obj)
{
	void *objs[2] = {obj};

	objects_free(cache, 1, objs, NULL);
}

/* A child of fork may lack the object to move to, or a slab that is being released, but not
 * both. */
static void give_back_room(struct defrag *d)
{
	if (d->to)
		free_one(d->cache, d->to);
	d->to = NULL;
}

static unsigned release_empty(struct defrag *d)
{
	struct shard *first = shard_at(d->cache, d->node, 0);
	unsigned n = 0;

	for (unsigned i = 0; i < shards_per_node; i++)
		n += shard_release(d->cache, first + i, 0);
	return n;
}

static void list_all(struct defrag *d)
{
	bool more = true;

	while (more) {
		flush_lock(d->cache);
		d->cache->moving = list_some(d->cache->moving);
		more = d->cache->moving;
		flush_unlock(d->cache);
	}
	d->waiting = 0;
	d->waiting_room = 0;
	give_back_room(d);
	d->released += release_empty(d);
}

static unsigned waiting_most(const struct defrag *d)
{
	const unsigned part =
		__atomic_load_n(&d->cache->node[d->node].nr_slabs, __ATOMIC_RELAXED) / WAITING_PART;

	return part < WAITING_LEAST ? WAITING_LEAST : part;
}

/* The slab at cache->moving was emptied as far as possible. Within a read-side critical section the
 * thread cannot wait for a grace period; the old objects are then freed later. */
static void place(struct defrag *d, const struct slab *slab)
{
	d->waiting_room += room_of(slab);
	if (d->waits && ++d->waiting < waiting_most(d))
		return;
	if (d->waits)
		rcu_drain(d->cache);
	list_all(d);
}

/* --- moving objects --------------------------------------------------------------------------- */

/* The shard with the fullest slabs, which need not be this CPU's. */
static struct shard *densest_shard(const struct defrag *d)
{
	struct shard *first = shard_at(d->cache, d->node, 0), *best = first;
	int best_bucket = SHARD_BUCKETS;

	for (unsigned i = 0; i < shards_per_node; i++) {
		const uint32_t buckets = __atomic_load_n(&first[i].buckets, __ATOMIC_RELAXED);

		if (buckets && __builtin_ctz(buckets) < best_bucket) {
			best_bucket = __builtin_ctz(buckets);
			best = first + i;
		}
	}
	return best;
}

/* One slab is filled after the other: a slab that got some objects only would be emptied later, and
 * they would move twice. */
static struct shard *shard_to_fill(const struct defrag *d)
{
	const struct slab *slab = d->filling;
	struct shard *shard = slab ? __atomic_load_n(&slab->shard, __ATOMIC_ACQUIRE) : NULL;

	if (shard && shard_is_of(shard, d->cache) && shard->node == d->node &&
	    used_of(slab) < slab->objects)
		return shard;
	return densest_shard(d);
}

/* Take a free object to move to; false: there is none. */
static bool take_room(struct defrag *d)
{
	if (d->to)
		return true;
	d->full = is_debugged(d->cache) ||
		  !objects_take(d->cache, shard_to_fill(d), 1, &d->to, TAKE_PARTIAL | TAKE_OTHERS);
	if (d->to)
		d->filling = slab_of(d->to);
	return !d->full;
}

static void move(struct defrag *d, void *from)
{
	const struct slab_cache *cache = d->cache;

	if (!take_room(d))
		return;
	cpu_inject(CPU_INJECT_ROOM_TAKEN);
	if (cache->isolate(from, cache->arg) != 0 || cache->migrate(from, d->to, cache->arg) != 0)
		return;
	d->to = NULL;
	d->moved++;
	cpu_inject(CPU_INJECT_OBJECT_MOVED);
	if (d->waits)
		slab_free_rcu(d->cache, from);
	else
		free_one(d->cache, from);
}

static void empty(struct defrag *d, struct slab *slab)
{
	struct callback callback = callback_begin(d->cache);

	for (unsigned i = 0; i < slab_initialized(slab) && !d->full; i++)
		if (!GUARD_AGAINST(defrag_bit, slab_bit(slab, i)))
			move(d, slab_object(d->cache, slab, i));
	callback_end(&callback);
}

/* Visit the slabs that were found, but those that have got objects since; false: none was visited,
 * so the objects of the sparsest one do not fit. */
static bool visit_found(struct defrag *d)
{
	bool any = false;

	for (unsigned i = 0; i < d->count && !d->full; i++) {
		if (!take_off(d, &d->found[i]))
			continue;
		d->last = d->found[i];
		any = true;
		empty(d, d->found[i].slab);
		place(d, d->found[i].slab);
	}
	return any;
}

static void defrag_node(struct defrag *d)
{
	while (!d->full && find_sparse(d) && visit_found(d))
		;
	give_back_room(d);
	if (d->waiting && d->waits)
		rcu_drain(d->cache);
	list_all(d);
}

static long defrag_nodes(struct slab_cache *cache, bool waits, unsigned *released)
{
	long moved = 0;

	for (unsigned n = 0; n < topology_nodes() && !is_debugged(cache); n++) {
		struct defrag d = {.cache = cache, .node = n, .waits = waits};

		defrag_node(&d);
		moved += d.moved;
		*released += d.released;
	}
	__atomic_fetch_add(&cache->memory.moved, (uint64_t)moved, __ATOMIC_RELAXED);
	return moved;
}

/* The number of this thread, not 0. */
static uint32_t myself(void)
{
	return (uint32_t)((uintptr_t)pthread_self() >> 6) | 1;
}

/* Only one thread defragments a cache: two would move the same objects back and forth. The
 * second thread fails and does not wait, since the callbacks of the first may need a lock that
 * the second thread's caller holds. */
static int begin(struct slab_cache *cache)
{
	uint32_t idle = 0;

	if (!cache || cache->magic != CACHE_MAGIC)
		return with_errno(-EINVAL);
	if (!cache->migrate)
		return with_errno(-ENOTSUP);
	if (!GUARD(defrag_one,
		   __atomic_compare_exchange_n(&cache->defragging, &idle, myself(), false,
					       __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)))
		return with_errno(-EBUSY);
	return 0;
}

long defrag_cache(struct slab_cache *cache, unsigned *ret_slabs)
{
	int error = begin(cache);
	long moved;

	if (error)
		return error;
	*ret_slabs = cache_shrink(cache);
	moved = defrag_nodes(cache, cache->rcu && !(cache->flags & SLAB_TYPESAFE_BY_RCU),
			     ret_slabs);
	*ret_slabs += cache_shrink(cache);
	__atomic_store_n(&cache->defragging, 0, __ATOMIC_RELEASE);
	return moved;
}

void defrag_after_fork_child(struct slab_cache *cache)
{
	if (!cache->defragging || cache->defragging == myself())
		return;
	cache->defragging = 0;
	while (cache->moving)
		cache->moving = list_some(cache->moving);
}

long slab_cache_defrag(struct slab_cache *cache)
{
	int saved = errno, cancel;
	unsigned slabs;
	struct pin pin;
	long moved;

	if (!cache || cache->magic != CACHE_MAGIC)
		return with_errno(-EINVAL);
	cancel = cancel_disable();
	cache_pin(&pin, cache);
	moved = defrag_cache(cache, &slabs);
	cache_unpin(&pin);
	if (moved >= 0)
		segment_trim();
	cancel_restore(cancel);
	if (moved < 0)
		return moved;
	errno = saved;
	return moved;
}
