/* SPDX-License-Identifier: MIT */
/*
 * Debug slabs: creation, their freelist, and the node's list of them.
 *
 * The freelist is a queue: the object that was freed first is allocated first, so that a write
 * after the free has the most time to damage the poison. It links records, not objects.
 *
 * The node's list holds the slabs that can serve allocations: they have the cache's present debug
 * flags and a free object. A slab with former debug flags is on no list, and is released when its
 * last object is freed.
 */
#include <errno.h>
#include <pthread.h>
#include <slab/slab.h>
#include <string.h>

#include "base/probe.h"
#include "base/options.h"
#include "core/callback.h"
#include "core/debug_record.h"
#include "core/flush_lock.h"
#include "core/queue.h"
#include "core/shard.h"
#include "core/slab.h"
#include "debug/debug_cache.h"
#include "debug/layout.h"
#include "pages/account.h"
#include "pages/free_slabs.h"
#include "report/annotate.h"
#include "report/profile.h"
#include "report/track.h"

_Static_assert(sizeof(struct slab_debug) % 8 == 0, "the records stand behind it");

/* The number of objects that SLAB_RANDOM mixes. */
#define SHUFFLED 64u
/* The number of slabs that a thread visits before it releases a node's lock. */
#define NODE_PIECE 32u

/* --- the lock ---------------------------------------------------------------- */

struct debug_lock debug_lock(struct slab_cache *cache, struct slab *slab)
{
	struct debug_lock lock = {.shard = shard_lock_of(slab)};

	if (!lock.shard) {
		lock.node = &cache->node[__atomic_load_n(&slab->node, __ATOMIC_RELAXED)].lock;
		pthread_mutex_lock(lock.node);
	}
	return lock;
}

void debug_unlock(const struct debug_lock *lock)
{
	if (lock->shard)
		cpu_lock_drop(&lock->shard->lock);
	else
		pthread_mutex_unlock(lock->node);
}

bool debug_is_ours(const struct slab_cache *cache, const struct slab *slab,
		   const struct debug_lock *lock)
{
	return slab_user(slab) == cache && slab_is_tagged(slab, SLAB_TAG_DEBUG) &&
	       !lock->shard == !!__atomic_load_n(&slab->debug, __ATOMIC_RELAXED);
}

/* --- freelist ---------------------------------------------------------------- */

void debug_push(const struct slab *slab, unsigned index)
{
	struct slab_debug *debug = slab->debug;

	debug_record(slab, index)->next = 0;
	if (debug->last)
		debug_record(slab, debug->last - 1u)->next = (uint16_t)(index + 1);
	else
		debug->first = (uint16_t)(index + 1);
	debug->last = (uint16_t)(index + 1);
}

static bool is_free_object(const struct slab *slab, unsigned index)
{
	return index < slab->initialized && debug_record(slab, index)->state == OBJECT_FREE;
}

int debug_pop(const struct slab *slab)
{
	struct slab_debug *debug = slab->debug;
	unsigned index = debug->first - 1u;

	if (!debug->first || !is_free_object(slab, index))
		return -1;
	debug->first = debug_record(slab, index)->next;
	debug_record(slab, index)->next = 0;
	if (!debug->first)
		debug->last = 0;
	return (int)index;
}

/* --- creation ------------------------------------------------------------------- */

/* Fill and construct all objects as free objects, until a constructor fails. Returns the number
 * of usable objects. */
static unsigned make_objects(struct slab_cache *cache, struct slab *slab)
{
	struct callback callback = callback_begin(cache);
	unsigned n = 0;

	for (; n < slab->objects; n++) {
		*debug_record(slab, n) = (struct debug_object){
			.requested = (uint32_t)cache->object_size, .state = OBJECT_FREE};
		if (slab->debug->debug_flags & SLAB_STORE_USER)
			memset(debug_track(slab, n, TRACK_ALLOC), 0, 2 * sizeof(struct track));
		debug_fill(slab, n);
		if (cache->ctor && cache->ctor(debug_object_at(slab, n), cache->arg))
			break;
		debug_keep(slab, n);
	}
	callback_end(&callback);
	return n;
}

static void make_freelist(struct slab *slab)
{
	void *order[SHUFFLED]; /* indices */

	for (unsigned i = 0; i < slab->initialized; i += SHUFFLED) {
		unsigned n = slab->initialized - i < SHUFFLED ? slab->initialized - i : SHUFFLED;

		for (unsigned j = 0; j < n; j++)
			order[j] = (void *)(uintptr_t)(i + j);
		if (slab_options()->random)
			slab_shuffle(order, n);
		for (unsigned j = 0; j < n; j++)
			debug_push(slab, (unsigned)(uintptr_t)order[j]);
	}
}

void debug_describe(const struct slab *slab, const struct slab_debug *as)
{
	struct slab_debug *debug = slab->debug;

	__atomic_store_n(&debug->debug_flags, as->debug_flags, __ATOMIC_RELAXED);
	__atomic_store_n(&debug->object_size, as->object_size, __ATOMIC_RELAXED);
	__atomic_store_n(&debug->guarded, as->guarded, __ATOMIC_RELAXED);
	debug_set_used(slab, 0);
	debug->size = as->size;
	debug->inuse = as->inuse;
	debug->red_left = as->red_left;
	debug->stride = as->stride;
	debug->poisons = as->poisons;
	debug->copies = as->copies;
	debug->first = debug->last = 0;
	debug->disabled = debug->counted = debug->listed = 0;
}

static void describe(const struct slab_cache *cache, struct slab *slab,
		     const struct debug_layout *layout)
{
	const struct slab_debug debug = {
		.debug_flags = layout->debug_flags,
		.object_size = (uint32_t)cache->object_size,
		.size = (uint32_t)layout->size,
		.inuse = layout->inuse,
		.red_left = layout->red_left,
		.stride = (uint16_t)layout->stride,
		.poisons = layout->poisons,
		.copies = layout->copies,
	};

	debug_describe(slab, &debug);
	__atomic_store_n(&slab->objects, (uint16_t)layout->objects, __ATOMIC_RELAXED);
}

/* Take a slab from the page layer; NULL and ENOMEM if there is none. The layout may become that of
 * a smaller slab. */
static struct slab *take_slab(struct slab_cache *cache, unsigned node, struct debug_layout *layout)
{
	struct slab_needs needs = {.node = node, .may_grow = true};
	unsigned shift = layout->slab_shift;
	struct slab *slab;

	if (!cache_charge(cache, &shift))
		return NULL;
	if (shift != layout->slab_shift)
		debug_layout_resize(layout, shift);
	needs.shift = shift;
	if (cache->rcu) { /* slab_waiting() lies behind the map */
		needs.objects = layout->objects;
		needs.waiting = slab_waiting_words(cache, layout->objects);
	}
	needs.space = cache->space;
	needs.layout = debug_layout_number(layout->size, layout->red_left);
	needs.side = sizeof(struct slab_debug) + (size_t)layout->objects * layout->stride;
	slab = segment_take_slab(&needs);
	if (!slab)
		account_give_up(&cache->account, (size_t)1 << shift);
	return slab;
}

struct slab *debug_slab_create(struct slab_cache *cache, unsigned node, uint64_t debug_flags)
{
	struct debug_layout layout;
	struct slab *slab;
	unsigned made;

	debug_layout(cache, debug_flags, &layout);
	slab = take_slab(cache, node, &layout);
	if (!slab)
		return NULL;
	slab_populate(slab, slab_bytes(slab));
	describe(cache, slab, &layout);
	debug_fill_slab(slab);
	made = make_objects(cache, slab);
	if (!made) {
		slab_return_units(cache->space, slab);
		account_release(&cache->account, (size_t)1 << layout.slab_shift);
		errno = ENOMEM;
		return NULL;
	}
	debug_set_initialized(slab, made);
	make_freelist(slab);
	if (slab->debug->debug_flags & DEBUG_FLAG_TOOL)
		annotate_hide(slab->base, slab_bytes(slab));
	__atomic_fetch_add(&cache->node[node].nr_slabs, 1, __ATOMIC_RELAXED);
	SLAB_PROBE(slab_new, cache->name, cache, slab, slab_bytes(slab), node);
	return slab;
}

void debug_slab_publish(struct slab_cache *cache, struct slab *slab)
{
	segment_set_user(slab, (const char *)cache + SLAB_TAG_DEBUG);
}

void slab_withdraw(struct slab *slab)
{
	segment_set_user(slab, NULL);
}

size_t debug_size(const struct slab *slab)
{
	const struct slab_cache *cache = slab_user(slab);
	const size_t size = slab->debug ? slab->debug->size : cache ? cache->size : 0;

	return size ? size : slab_bytes(slab);
}

/* --- the node's list --------------------------------------------------------------- */

static struct node_list *list_of(struct cache_node *node, const struct slab *slab)
{
	return debug_is_profiled(slab) ? &node->profile : &node->debug;
}

static void count_listed(struct node_list *list, const struct slab *slab, bool listed)
{
	slab->debug->listed = listed;
	__atomic_store_n(&list->count, listed ? list->count + 1 : list->count - 1,
			 __ATOMIC_RELAXED);
}

static void list_add(struct cache_node *node, struct slab *slab)
{
	queue_add_tail(&list_of(node, slab)->slabs, slab);
	count_listed(list_of(node, slab), slab, true);
}

static void list_remove(struct cache_node *node, struct slab *slab)
{
	queue_remove(&list_of(node, slab)->slabs, slab);
	count_listed(list_of(node, slab), slab, false);
	node->nr_debug_empty -= slab->debug->counted;
	slab->debug->counted = 0;
}

/* Slabs of the heap profile serve it whatever the cache's debug flags are. */
bool debug_slab_serves(const struct slab_cache *cache, const struct slab *slab)
{
	if (!debug_is_profiled(slab))
		return debug_has_present_layout(cache, slab->debug);
	return profile_is_on();
}

/* Update nr_debug_empty: a slab on the list may have become unused, or used. */
static void count_unused(struct cache_node *node, struct slab *slab, bool unused)
{
	if (debug_is_profiled(slab))
		return;
	node->nr_debug_empty += (unsigned)unused - slab->debug->counted;
	slab->debug->counted = unused;
}

/* May an unused slab stay on its list? Some do, as in SLUB; of the heap profile's, a single one. */
static bool may_stay(const struct slab_cache *cache, const struct cache_node *node,
		     const struct slab *slab)
{
	if (debug_is_profiled(slab))
		return node->profile.count <= 1;
	return node->nr_debug_empty <= __atomic_load_n(&cache->min_partial, __ATOMIC_RELAXED);
}

bool debug_slab_place(struct slab_cache *cache, struct slab *slab)
{
	struct cache_node *node = &cache->node[slab->node];
	struct slab_debug *debug = slab->debug;
	bool serves = debug_slab_serves(cache, slab) && debug->first && !debug->disabled;
	bool unused = debug->used == 0 && !debug->disabled;

	if (serves && !debug->listed)
		list_add(node, slab);
	if (debug->listed)
		count_unused(node, slab, unused);
	if (serves && (!unused || may_stay(cache, node, slab)))
		return false;
	if (debug->listed && (!serves || unused))
		list_remove(node, slab);
	if (unused)
		slab_withdraw(slab);
	return unused;
}

void debug_slab_disable(struct slab_cache *cache, struct slab *slab)
{
	struct slab_debug *debug = slab->debug;

	debug->disabled = 1;
	debug->first = debug->last = 0;
	debug_add_used(cache, slab, slab->initialized - debug->used);
	if (debug->listed)
		list_remove(&cache->node[slab->node], slab);
}

void debug_slab_unlist(struct slab_cache *cache, struct slab *slab)
{
	struct cache_node *node = &cache->node[slab->node];

	pthread_mutex_lock(&node->lock);
	if (slab->debug && slab->debug->listed)
		list_remove(node, slab);
	pthread_mutex_unlock(&node->lock);
}

/* Withdraw the unused slabs among the first NODE_PIECE slabs of the list, and move the others of
 * these to its end. Returns the withdrawn slabs, linked by next. */
static struct slab *take_some_unused(struct cache_node *node, struct node_list *list)
{
	struct slab *slab, *next, *unused = NULL;
	unsigned n = 0;

	pthread_mutex_lock(&node->lock);
	for (slab = list->slabs.first; slab && n < NODE_PIECE; slab = next, n++) {
		next = slab->next;
		if (slab->debug->used)
			continue;
		list_remove(node, slab);
		slab_withdraw(slab);
		slab->next = unused;
		unused = slab;
	}
	if (slab)
		queue_begin_at(&list->slabs, slab);
	pthread_mutex_unlock(&node->lock);
	return unused;
}

static unsigned release_all(struct slab_cache *cache, struct slab *slabs)
{
	struct slab *next;
	unsigned n = 0;

	for (; slabs; slabs = next, n++) {
		next = slabs->next;
		slab_release(cache, slabs);
	}
	return n;
}

static unsigned shrink_list(struct slab_cache *cache, struct cache_node *node,
			    struct node_list *list)
{
	unsigned slabs = __atomic_load_n(&list->count, __ATOMIC_RELAXED), released = 0;

	for (unsigned pieces = slabs / NODE_PIECE + 1; pieces; pieces--) {
		flush_lock(cache);
		released += release_all(cache, take_some_unused(node, list));
		flush_unlock(cache);
	}
	return released;
}

unsigned debug_node_shrink(struct slab_cache *cache, unsigned n)
{
	struct cache_node *node = &cache->node[n];

	if (!__atomic_load_n(&cache->had_debug_flags, __ATOMIC_RELAXED))
		return 0;
	return shrink_list(cache, node, &node->debug) + shrink_list(cache, node, &node->profile);
}
