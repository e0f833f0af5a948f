/* SPDX-License-Identifier: MIT */
/*
 * Defragmentation: moving objects out of sparse slabs, so that these slabs become empty.
 *
 * The thread revokes the slabs of CPUs and sorts each node's partial list (cache_shrink()). It
 * computes how few slabs can hold all their objects. The densest slabs stay on the partial
 * list. The others go to the *sparse* list (node.c), and are emptied one by one, the sparsest
 * first:
 *
 *   isolate a sparse slab · for each object in use: isolate() it, migrate() it
 *   to a free object of a dense slab, free it · release the slab when it is empty
 *
 * Only the slab that is being emptied is isolated. So the callbacks can run with no lock held:
 * no other thread allocates from the slab or releases it, so each of its objects is in use, or
 * was freed since the thread checked it, which isolate() must detect. Frees go to the remote
 * word, as for any isolated slab, and are collected at the end. Allocations find all other
 * slabs as usual: they take sparse slabs when no dense one is left, and before they create fresh
 * ones. So no allocation needs more memory because of defragmentation. A thread that takes
 * slabs (shrink, validation, debug flags, destruction) takes sparse ones, too.
 *
 * flush_lock protects other isolated slabs (isolated.h). It cannot be held around a callback,
 * since another thread may wait for flush_lock while it holds a lock of the application. So
 * cache->isolated records the isolated slab and objects. Each step that changes this record or
 * the slab's freelist runs under flush_lock: taking the slab, taking an object to move to,
 * freeing the object that was moved, placing the slab. The child of a fork puts the slab back
 * and lacks one object, the one that was being moved. (If the fork comes while a batch is being
 * taken, the child lacks that batch, as with any other allocation.) If a callback forks, its
 * thread goes on with its slab in the child.
 *
 * The thread takes the free objects to move to in batches, from the first slab of the partial
 * list. Allocations use the same slab, so both fill the densest one. The computation above
 * leaves room for all objects. If other threads use up that room, defragmentation stops. No
 * object is moved to an empty or a fresh slab. The thread takes a batch before it calls
 * isolate(): once an object is isolated, migrate() always follows at once, so the callbacks may
 * hold a lock from isolate() to migrate().
 *
 * A slab whose objects do not all move goes to the partial list, where it takes objects of the
 * next slabs. Each sparse slab is visited once: the thread counts them beforehand, and a visited
 * slab goes to the other end of the sparse list, or to another list.
 *
 * The old object becomes free in the isolated slab. In caches with args.rcu that are not
 * type-safe, readers may still use it, so it waits for a grace period first (slab_free_rcu()),
 * and its slab stays sparse. At the end, the thread waits for a grace period, and a last shrink
 * releases the slabs that are then empty, including those that CPUs emptied meanwhile. In
 * type-safe caches, slab_release() makes the slab wait.
 *
 * Debug slabs and guarded objects do not take part: their objects are allocated under the
 * node's lock, the one that was freed first before the others, and moving them would hide bugs.
 */
#include "memory/defrag.h"
#include "base/cancel.h"
#include "base/error.h"
#include "core/callback.h"
#include "core/free_map.h"
#include "core/isolated.h"
#include "core/node.h"
#include "percpu/refill.h"
#include "core/slab.h"
#include "inject.h"
#include "memory/shrink.h"
#include "pages/free_slabs.h"
#include "pages/topology.h"
#include "rcu/free_rcu.h"
#include "core/registry.h"

#include <errno.h>
#include <pthread.h>
#include <slab/memory.h>
#include <slab/slab.h>
#include <string.h>

/* The number of objects of a slab whose states are read at once: most slabs have fewer. */
#define MAP_PART 1024u

/* The defragmentation of one node. */
struct defrag {
	struct slab_cache *cache;
	unsigned node;
	bool waits; /* old objects wait for a grace period */
	bool full;  /* no free object to move to is left */
	long moved;
	unsigned released;
	uint64_t map[MAP_PART / 64]; /* free objects of a part of the slab that is being emptied */
};

/* Take a batch of free objects. Without flush_lock, since a constructor may run. */
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

/* Take a free object of a dense slab; NULL: there is none. */
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

/* The object that take_room() returned last was not used: it is still in the batch. */
static void give_room(struct defrag *d)
{
	flush_lock(d->cache);
	d->cache->isolated.room++;
	flush_unlock(d->cache);
}

/* Free the rest of the batch. The caller holds flush_lock, or is the only thread. */
static void give_room_back(struct slab_cache *cache)
{
	struct defrag_state *isolated = &cache->isolated;

	if (isolated->room)
		slab_free_remote(cache, isolated->dense, isolated->room, isolated->offset8);
	isolated->room = 0;
}

/* Free the old object after its contents were moved. */
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
	cpu_inject(CPU_INJECT_ROOM_TAKEN);
	if (cache->isolate(from, cache->arg) != 0 || cache->migrate(from, to, cache->arg) != 0) {
		give_room(d);
		return;
	}
	d->moved++;
	cpu_inject(CPU_INJECT_OBJECT_MOVED);
	free_moved(d, slab, from);
}

/* Isolate the sparsest slab; NULL: there is none. */
static struct slab *take_sparse(struct defrag *d)
{
	struct slab *slab;

	flush_lock(d->cache);
	slab = node_take_sparse(d->cache, d->node);
	d->cache->isolated.slab = slab;
	if (slab)
		slab_collect(slab);
	flush_unlock(d->cache);
	return slab;
}

/* Find the free ones of the objects from `first` on. If the freelist is damaged, move nothing:
 * validation will report it. */
static void read_map(struct defrag *d, struct slab *slab, unsigned first)
{
	uint64_t *map;

	flush_lock(d->cache);
	map = free_map_lock();
	if (slab_map_free(slab, map))
		memset(d->map, 0xff, sizeof(d->map));
	else
		memcpy(d->map, map + first / 64, sizeof(d->map));
	free_map_unlock();
	flush_unlock(d->cache);
}

static void empty(struct defrag *d, struct slab *slab)
{
	struct callback callback = callback_begin(d->cache);

	for (unsigned i = 0; i < slab->initialized && !d->full; i++) {
		if (i % MAP_PART == 0)
			read_map(d, slab, i);
		if (!free_map_has(d->map, i % MAP_PART))
			move(d, slab, slab->cpu.base + i * slab_size(slab));
	}
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
	/* Within a read-side critical section the thread cannot wait for a grace period; the old
	 * objects are then freed later. */
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
