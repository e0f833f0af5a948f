/* SPDX-License-Identifier: MIT */
/*
 * Moving objects together, so that slabs get empty.
 *
 * A node's partial slabs are taken back from the CPUs and sorted (cache_shrink()). With
 * all their objects in as few slabs as hold them, the densest ones stay where they are;
 * the others are *sparse* from now on, a list of their own (node.c), and are emptied one
 * by one, the sparsest first:
 *
 *   isolate a sparse slab · for each object in use: isolate() it, migrate() it
 *   to a free object of a dense slab, free it · release the slab when it is empty
 *
 * Only the slab that is being emptied is isolated. That makes it safe to call the
 * application about its objects, with no lock held: no other thread allocates from the slab
 * or releases it, so each of its objects is in use, or was freed since the check, which
 * isolate() must detect. Frees arrive at the remote word, as for any isolated slab, and are
 * collected at the end. All other slabs stay where allocations find them, sparse ones when
 * there is no dense one left and before fresh ones are created. So defragmentation makes no
 * allocation need more memory, and a thread that takes slabs (shrink, validation, debug flags,
 * destruction) takes sparse ones, too.
 *
 * Other isolated slabs are protected by flush_lock (isolated.h). No callback may be called under
 * it: a thread may wait for flush_lock while it holds a lock of the application. So
 * cache->isolated records what is isolated, and each step that changes it, or the slab's
 * freelist, is made under the lock: taking the slab, taking an object to move to, freeing
 * the object that was moved, placing the slab. The child of a fork puts the slab back and
 * lacks one object, the one that is being moved. (It lacks a batch when the fork comes while
 * a batch is taken, which is an allocation like any other.) A callback that forks goes on in
 * the child with its own slab.
 *
 * The thread takes free objects to move to in batches, from the first slab of the partial
 * list, where allocations take theirs: both fill the densest slab. By the choice above there
 * is room for all objects. When there is none, since other threads allocate meanwhile,
 * defragmentation stops. No object is moved to an empty slab, nor to a fresh one. The thread
 * takes a batch before it calls isolate(): once an object is isolated, migrate() follows in
 * any case and at once, so a callback may hold a lock from the one to the other.
 *
 * A slab whose objects do not all move goes to the partial list, where objects of the next
 * slabs are moved to it. Each sparse slab is visited once: they are counted beforehand, and
 * a visited slab goes to the other end of the list, or to another list.
 *
 * The object that was moved from becomes free in the isolated slab. Where readers
 * may still look at it, which is in caches with args.rcu, unless they are type-safe, it
 * waits for its grace period (slab_free_rcu()) first. Such slabs stay sparse. When all are
 * done, the thread waits for a grace period, and a last shrink releases those that are empty
 * then. The shrink also finds what CPUs freed meanwhile. Type-safe slabs wait in
 * slab_release().
 *
 * Slabs with debug flags and guarded objects are left alone: their objects are handed out
 * under the node's lock, the one freed first before the others, and they serve to find bugs.
 */
#include "memory/defrag.h"
#include "base/cancel.h"
#include "base/error.h"
#include "core/callback.h"
#include "core/isolated.h"
#include "core/node.h"
#include "percpu/refill.h"
#include "core/slab.h"
#include "memory/shrink.h"
#include "pages/topology.h"
#include "rcu/free_rcu.h"
#include "registry/registry.h"

#include <errno.h>
#include <pthread.h>
#include <slab/memory.h>
#include <slab/slab.h>
#include <string.h>

/* One node's. */
struct defrag {
	struct slab_cache *cache;
	unsigned node;
	bool waits; /* objects that were moved from wait for a grace period */
	bool full;  /* no room any more */
	long moved;
	unsigned released;
	uint64_t map[SLAB_MAP_WORDS];
};

/* A constructor may run: without the lock. */
static bool find_room(struct defrag *d)
{
	struct defrag_state *isolated = &d->cache->isolated;
	uint16_t offset8[CPU_BATCH_MAX];
	struct slab *dense;
	unsigned n = node_take_dense(d->cache, d->node, CPU_BATCH_MAX, offset8, &dense);

	if (!n)
		return false;
	flush_lock(d->cache);
	isolated->dense = dense;
	isolated->room = n;
	memcpy(isolated->offset8, offset8, n * sizeof(offset8[0]));
	flush_unlock(d->cache);
	return true;
}

/* A free object of a dense slab; NULL: there is none. */
static void *take_room(struct defrag *d)
{
	struct defrag_state *isolated = &d->cache->isolated;

	if (!isolated->room && !find_room(d))
		return NULL;
	flush_lock(d->cache);
	isolated->room--;
	flush_unlock(d->cache);
	return cpu_slab_object(&isolated->dense->cpu, isolated->offset8[isolated->room]);
}

/* … that was not needed, and is where it was. */
static void give_room(struct defrag *d)
{
	flush_lock(d->cache);
	d->cache->isolated.room++;
	flush_unlock(d->cache);
}

/* Of a state that no other thread uses. */
static void give_room_back(struct slab_cache *cache)
{
	struct defrag_state *isolated = &cache->isolated;

	if (isolated->room)
		slab_free_remote(cache, isolated->dense, isolated->room, isolated->offset8);
	isolated->room = 0;
}

/* An object of an isolated slab that was moved. */
static void free_moved(struct defrag *d, struct slab *slab, void *from)
{
	uint16_t offset8 = cpu_slab_offset8(&slab->cpu, from);

	if (d->waits) {
		slab_free_rcu(d->cache, from);
		return;
	}
	flush_lock(d->cache);
	cpu_slab_put(&slab->cpu, 1, &offset8);
	flush_unlock(d->cache);
}

static void move(struct defrag *d, struct slab *slab, void *from)
{
	const struct slab_cache *cache = d->cache;
	void *to = take_room(d);

	if (!to) {
		d->full = true;
		return;
	}
	if (cache->isolate(from, cache->arg) != 0 || cache->migrate(from, to, cache->arg) != 0) {
		give_room(d);
		return;
	}
	d->moved++;
	free_moved(d, slab, from);
}

/* The sparsest slab, isolated, and its free objects; NULL: there is none. */
static struct slab *take_sparse(struct defrag *d)
{
	struct slab *slab;

	flush_lock(d->cache);
	slab = node_take_sparse(d->cache, d->node);
	d->cache->isolated.slab = slab;
	/* One whose freelist is damaged is left to validation. */
	if (slab) {
		slab_collect(slab);
		if (slab_map_free(slab, d->map))
			memset(d->map, 0xff, sizeof(d->map));
	}
	flush_unlock(d->cache);
	return slab;
}

static void empty(struct defrag *d, struct slab *slab)
{
	struct callback callback = callback_begin(d->cache);

	for (unsigned i = 0; i < slab->initialized && !d->full; i++)
		if (!(d->map[i / 64] >> i % 64 & 1))
			move(d, slab, slab->cpu.base + i * slab_size(slab));
	callback_end(&callback);
}

static void place(struct defrag *d, struct slab *slab)
{
	flush_lock(d->cache);
	d->cache->isolated.slab = NULL;
	slab_collect(slab);
	slab->next = NULL;
	if (slab_is_empty(slab))
		d->released += node_release(d->cache, slab);
	else if (d->waits)
		node_put_sparse(d->cache, slab);
	else
		d->released += node_put(d->cache, slab);
	flush_unlock(d->cache);
}

static void defrag_node(struct defrag *d)
{
	struct slab *slab;

	for (unsigned n = node_split(d->cache, d->node); n && !d->full; n--) {
		slab = take_sparse(d);
		if (!slab)
			break;
		empty(d, slab);
		place(d, slab);
	}
	flush_lock(d->cache);
	give_room_back(d->cache);
	flush_unlock(d->cache);
}

static long defrag_nodes(struct slab_cache *cache, bool waits, unsigned *released)
{
	long moved = 0;

	for (unsigned n = 0; n < topology_nodes(); n++) {
		struct defrag d = {.cache = cache, .node = n, .waits = waits};

		defrag_node(&d);
		moved += d.moved;
		*released += d.released;
	}
	__atomic_fetch_add(&cache->memory.moved, (uint64_t)moved, __ATOMIC_RELAXED);
	return moved;
}

/* Two threads at once would move the same objects back and forth. A thread that waited for
 * the other could wait for a lock that its own caller holds. */
static int begin(struct slab_cache *cache)
{
	uint32_t idle = 0;

	if (!cache || cache->magic != CACHE_MAGIC)
		return with_errno(-EINVAL);
	if (!cache->migrate)
		return with_errno(-ENOTSUP);
	if (!__atomic_compare_exchange_n(&cache->defragging, &idle, 1, false, __ATOMIC_ACQUIRE,
					 __ATOMIC_RELAXED))
		return with_errno(-EBUSY);
	cache->isolated.thread = pthread_self();
	return 0;
}

long defrag_cache(struct slab_cache *cache, unsigned *ret_slabs)
{
	int error = begin(cache);
	bool waits;
	long moved;

	if (error)
		return error;
	waits = cache->rcu && !(cache->flags & SLAB_TYPESAFE_BY_RCU);
	*ret_slabs = cache_shrink(cache);
	moved = defrag_nodes(cache, waits, ret_slabs);
	/* Within a read-side critical section it cannot be waited for; they go later. */
	if (moved && waits)
		rcu_drain(cache);
	*ret_slabs += cache_shrink(cache);
	cache->isolated.thread = (pthread_t)0;
	__atomic_store_n(&cache->defragging, 0, __ATOMIC_RELEASE);
	return moved;
}

void defrag_after_fork_child(struct slab_cache *cache)
{
	struct slab *slab = cache->isolated.slab;

	if (!cache->defragging || pthread_equal(cache->isolated.thread, pthread_self()))
		return;
	cache->defragging = 0;
	cache->isolated.slab = NULL;
	if (slab)
		node_put_sparse(cache, slab);
	give_room_back(cache);
}

long slab_cache_defrag(struct slab_cache *cache)
{
	int saved = errno, cancel;
	unsigned slabs;
	long moved;

	if (!cache || cache->magic != CACHE_MAGIC)
		return with_errno(-EINVAL);
	cancel = cancel_disable();
	cache_pin(cache);
	moved = defrag_cache(cache, &slabs);
	cache_unpin(cache);
	if (moved >= 0)
		segment_trim(NULL);
	cancel_restore(cancel);
	if (moved < 0)
		return moved;
	errno = saved;
	return moved;
}
