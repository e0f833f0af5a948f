/* SPDX-License-Identifier: MIT */
/*
 * Moving objects together, so that slabs get empty.
 *
 * A node's partial slabs are taken back from the CPUs and sorted (cache_shrink()). With
 * all their objects in as few slabs as hold them, the densest ones stay where they are;
 * the others are *sparse* from now on, a list of their own (node.c), and are emptied one
 * by one, the sparsest first:
 *
 *   take a sparse slab in hand · for each object that is in use: isolate it, migrate it
 *   to a free object of a dense slab, free it · release the slab when it is empty
 *
 * Only the slab that is being emptied is in hand. That is what makes it safe to call the
 * application about its objects, with no lock held: nobody allocates from the slab, and
 * nobody releases it, so that each of its objects is one that is in use, or one that was
 * freed since we looked, which isolate() finds out. Frees arrive at the remote word, as
 * for any slab in hand, and are collected at the end. All other slabs stay where every
 * allocation finds them, sparse ones when there is no dense one left and before fresh
 * ones are made. So nobody needs more memory because we are at it, a thread that takes
 * all slabs (shrink, validation, letters, destruction) takes sparse ones, too, and after
 * a fork the child lacks the free objects of one slab and of a handful of room.
 *
 * Free objects to move to are taken by the handful from the slab that stands first on
 * the partial list, where allocations take theirs: both fill the densest. There is room
 * for all by the choice above; when there is none, since others allocate meanwhile, we
 * stop. A slab of which nothing is in use is no room, nor is a fresh one. A handful is
 * taken before isolate() is called: once an object is isolated, migrate() follows in any
 * case and at once, so that a callback may hold a lock from the one to the other.
 *
 * A slab whose objects do not all move goes to the partial list and gives room to those
 * of the next ones. Each sparse slab is looked at once: they are counted beforehand, and
 * what was looked at goes to the other end of the list, or to another one.
 *
 * What becomes of an object that was moved from: free in the slab in hand. Where readers
 * may still look at it, which is in caches with args.rcu, unless they are type-safe, it
 * waits for its grace period (slab_free_rcu()) first. Such slabs stay sparse; the grace
 * period is waited for when all are done, and those that are empty then go by a last
 * shrink. It also finds what CPUs freed meanwhile. Type-safe slabs wait in
 * slab_release().
 *
 * Slabs with letters and guarded objects are left alone: where an object of theirs
 * comes from is decided under their node's lock, oldest first, and what they are for is
 * finding mistakes.
 */
#include "defrag.h"

#include <errno.h>
#include <slab/memory.h>

#include "cache_rcu.h"

/* One node's. */
struct defrag {
	struct slab_cache *cache;
	unsigned node;
	bool waits; /* objects that were moved from wait for a grace period */
	bool full;  /* no room any more */
	/* Room: free objects, ours. */
	struct slab *dense;
	unsigned room;
	uint16_t offset8[CPU_GATHER_MAX];
	long moved;
	unsigned released;
	uint64_t map[SLAB_MAP_WORDS];
};

static bool find_room(struct defrag *d)
{
	if (!d->room)
		d->room = node_take_dense(d->cache, d->node, CPU_GATHER_MAX, d->offset8, &d->dense);
	return d->room;
}

static void give_room_back(struct defrag *d)
{
	if (d->room)
		slab_free_remote(d->cache, d->dense, d->room, d->offset8);
	d->room = 0;
}

/* An object of a slab in hand that was moved. */
static void free_moved(struct defrag *d, struct slab *slab, void *from)
{
	uint16_t offset8 = cpu_slab_offset8(&slab->cpu, from);

	if (d->waits)
		slab_free_rcu(d->cache, from);
	else
		cpu_slab_hand_put(&slab->cpu, 1, &offset8);
}

static void move(struct defrag *d, struct slab *slab, void *from)
{
	const struct slab_cache *cache = d->cache;
	void *to;

	if (!find_room(d)) {
		d->full = true;
		return;
	}
	if (cache->isolate(from, cache->arg) != 0)
		return;
	to = cpu_slab_object(&d->dense->cpu, d->offset8[d->room - 1]);
	if (cache->migrate(from, to, cache->arg) != 0)
		return;
	d->room--;
	d->moved++;
	free_moved(d, slab, from);
}

/* A slab in hand. One whose freelist is damaged is left to validation. */
static void empty(struct defrag *d, struct slab *slab)
{
	slab_collect(slab);
	if (slab_map_free(slab, d->map))
		return;
	for (unsigned i = 0; i < slab->carved && !d->full; i++)
		if (!(d->map[i / 64] >> i % 64 & 1))
			move(d, slab, slab->cpu.base + i * slab_size(slab));
	slab_collect(slab);
}

static void place(struct defrag *d, struct slab *slab)
{
	if (slab_is_empty(slab)) {
		slab_release(d->cache, slab);
		d->released++;
	} else if (d->waits) {
		node_put_sparse(d->cache, slab);
	} else {
		slab->next = NULL;
		d->released += node_put(d->cache, slab);
	}
}

static void defrag_node(struct defrag *d)
{
	struct slab *slab;

	for (unsigned n = node_split(d->cache, d->node); n && !d->full; n--) {
		slab = node_take_sparse(d->cache, d->node);
		if (!slab)
			break;
		empty(d, slab);
		place(d, slab);
	}
	give_room_back(d);
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

static int fail(int error)
{
	errno = error;
	return -error;
}

/* Two at once would move the same objects to and fro, and one that waited for the other
 * could be waiting for what its own caller has locked. */
static int begin(struct slab_cache *cache)
{
	uint32_t nobody = 0;

	if (!cache || cache->magic != CACHE_MAGIC)
		return fail(EINVAL);
	if (!cache->migrate)
		return fail(ENOTSUP);
	if (!__atomic_compare_exchange_n(&cache->defragging, &nobody, 1, false, __ATOMIC_ACQUIRE,
					 __ATOMIC_RELAXED))
		return fail(EBUSY);
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
	__atomic_store_n(&cache->defragging, 0, __ATOMIC_RELEASE);
	return moved;
}

long slab_cache_defrag(struct slab_cache *cache)
{
	int saved = errno;
	unsigned slabs;
	long moved;

	if (!cache || cache->magic != CACHE_MAGIC) {
		errno = EINVAL;
		return -EINVAL;
	}
	cache_pin(cache);
	moved = defrag_cache(cache, &slabs);
	cache_unpin(cache);
	if (moved < 0)
		return moved;
	segment_trim(NULL);
	errno = saved;
	return moved;
}
