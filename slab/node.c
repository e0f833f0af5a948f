/* SPDX-License-Identifier: MIT */
/*
 * A node's partial list: slabs with free objects that no CPU owns.
 *
 * A listed slab has REMOTE_OWNED set, so frees go to its remote word and nobody
 * else moves it; whoever takes it off the list, under the lock, has it in hand.
 * Entirely free slabs stay here up to min_partial and go to the page layer
 * beyond. The list knows slabs, not objects: a slab whose last object is freed
 * while it is listed stays until it is taken or the cache is shrunk.
 *
 * Slabs that are to be emptied (defrag.c) stand on a list of their own, so that they
 * are filled last; but they are there for everybody, before any fresh slab is. Which
 * of the two a slab is on makes no other difference: whoever takes all takes both,
 * and puts them on the first.
 */
#include <errno.h>

#include "decay.h"
#include "hand.h"

#define SORT_BUCKETS 64u

void node_init(struct cache_node *node)
{
	pthread_mutex_init(&node->lock, NULL);
}

static void count(struct node_list *list, struct slab *slab, bool listed)
{
	__atomic_store_n(&slab->listed, listed, __ATOMIC_RELAXED);
	__atomic_store_n(&list->count, listed ? list->count + 1 : list->count - 1,
			 __ATOMIC_RELAXED);
}

void node_list_add_tail(struct node_list *list, struct slab *slab)
{
	queue_add_tail(&list->slabs, slab);
	count(list, slab, true);
}

void node_list_add_head(struct node_list *list, struct slab *slab)
{
	queue_add_head(&list->slabs, slab);
	count(list, slab, true);
}

void node_list_remove(struct node_list *list, struct slab *slab)
{
	queue_remove(&list->slabs, slab);
	count(list, slab, false);
}

/* Empty slabs go to the end, to be used last. */
static void add(struct cache_node *node, struct slab *slab, bool empty)
{
	if (empty)
		node_list_add_tail(&node->partial, slab);
	else
		node_list_add_head(&node->partial, slab);
}

/* One node's slabs of a chain; the others are returned, surplus ones in *surplus. */
static struct slab *put_on(struct slab_cache *cache, unsigned n, struct slab *slabs,
			   struct slab **surplus)
{
	struct cache_node *node = &cache->node[n];
	struct slab *others = NULL, *next;
	unsigned min_partial = __atomic_load_n(&cache->min_partial, __ATOMIC_RELAXED);

	pthread_mutex_lock(&node->lock);
	for (struct slab *slab = slabs; slab; slab = next) {
		bool empty = slab_is_empty(slab);

		next = slab->next;
		if (slab->node != n) {
			slab->next = others;
			others = slab;
		} else if (empty && node->partial.count >= min_partial) {
			slab->next = *surplus;
			*surplus = slab;
		} else {
			add(node, slab, empty);
		}
	}
	pthread_mutex_unlock(&node->lock);
	return others;
}

unsigned node_release(struct slab_cache *cache, struct slab *slabs)
{
	unsigned released = 0;

	while (slabs) {
		struct slab *slab = slabs;

		slabs = slab->next;
		slab_release(cache, slab);
		released++;
	}
	return released;
}

unsigned node_put(struct slab_cache *cache, struct slab *slabs)
{
	struct slab *surplus = NULL;
	int cpu = cpu_engine->cpu();

	for (struct slab *slab = slabs; slab; slab = slab->next) {
		slab_collect(slab);
		cache_event(cache, cpu, SLAB_EVENT_FREE_ADD_PARTIAL);
	}
	while (slabs)
		slabs = put_on(cache, slabs->node, slabs, &surplus);
	return node_release(cache, surplus);
}

void node_put_last(struct slab_cache *cache, unsigned n, struct slab *slabs)
{
	struct cache_node *node = &cache->node[n];
	struct slab *next;

	pthread_mutex_lock(&node->lock);
	for (; slabs; slabs = next) {
		next = slabs->next;
		node_list_add_tail(&node->partial, slabs);
	}
	pthread_mutex_unlock(&node->lock);
}

/* In hand, linked by next, in front of `taken`. Under the lock. */
static struct slab *take(struct node_list *list, unsigned max, struct slab *taken)
{
	for (; max && list->slabs.first; max--) {
		struct slab *slab = list->slabs.first;

		node_list_remove(list, slab);
		slab->next = taken;
		taken = slab;
	}
	return taken;
}

static bool is_without(const struct cache_node *node)
{
	/* In this order: see node_sort(). */
	return !__atomic_load_n(&node->sparse.count, __ATOMIC_ACQUIRE) &&
	       !__atomic_load_n(&node->partial.count, __ATOMIC_RELAXED);
}

struct slab *node_take(struct slab_cache *cache, unsigned n, unsigned max)
{
	struct cache_node *node = &cache->node[n];
	struct slab *taken;

	/* A look without the lock spares it when there is nothing. */
	if (is_without(node))
		return NULL;
	pthread_mutex_lock(&node->lock);
	taken = take(&node->partial, max, NULL);
	if (!taken || max == NODE_ALL)
		taken = take(&node->sparse, max, taken);
	pthread_mutex_unlock(&node->lock);
	return taken;
}

struct slab *node_take_any(struct slab_cache *cache, unsigned n)
{
	struct slab *slab = node_take(cache, n, 1);

	for (unsigned other = 0; other < topology_nodes() && !slab; other++)
		slab = node_take(cache, other, 1);
	return slab;
}

/* Behind *end; where the next one goes. What was looked at stands at the end then, so that
 * the next round of the walk does not step over it again. */
static struct slab **take_wanted(struct node_list *list, unsigned *max,
				 const struct hand_walk *walk, struct slab **end)
{
	struct slab *slab, *next;

	for (slab = list->slabs.first; slab && *max; slab = next) {
		next = slab->next;
		if (!walk->wants(slab, walk->arg))
			continue;
		node_list_remove(list, slab);
		slab->next = NULL;
		*end = slab;
		end = &slab->next;
		--*max;
	}
	if (slab)
		queue_begin_at(&list->slabs, slab);
	return end;
}

struct slab *node_take_some(struct slab_cache *cache, unsigned n, unsigned max,
			    const struct hand_walk *walk)
{
	struct cache_node *node = &cache->node[n];
	struct slab *taken = NULL, **end = &taken;

	if (is_without(node))
		return NULL;
	pthread_mutex_lock(&node->lock);
	end = take_wanted(&node->partial, &max, walk, end);
	if (walk->sparse)
		take_wanted(&node->sparse, &max, walk, end);
	pthread_mutex_unlock(&node->lock);
	return taken;
}

/* --- order ------------------------------------------------------------------------ */

/* Under the lock: by how many objects are in use, in the order of the list. */
static void deal_out(struct slab_queue *slabs, unsigned objects, struct slab_queue *bucket)
{
	struct slab *slab;

	while ((slab = slabs->first)) {
		queue_remove(slabs, slab);
		queue_add_tail(&bucket[slab_used(slab) * SORT_BUCKETS / objects], slab);
	}
}

/* The numbers of slabs never say that there are none, to who reads that of the sparse ones
 * first: without the lock, he would not wait for it. */
void node_sort(struct slab_cache *cache, unsigned n)
{
	struct cache_node *node = &cache->node[n];
	struct slab_queue bucket[SORT_BUCKETS + 1] = {0};
	unsigned count;

	pthread_mutex_lock(&node->lock);
	deal_out(&node->partial.slabs, cache->objects, bucket);
	deal_out(&node->sparse.slabs, cache->objects, bucket);
	for (unsigned b = SORT_BUCKETS + 1; b-- > 0;) {
		struct slab *slab;

		while ((slab = bucket[b].first)) {
			queue_remove(&bucket[b], slab);
			queue_add_tail(&node->partial.slabs, slab);
		}
	}
	count = node->partial.count + node->sparse.count;
	__atomic_store_n(&node->partial.count, count, __ATOMIC_RELAXED);
	__atomic_store_n(&node->sparse.count, 0, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&node->lock);
}

/* --- sparse slabs --------------------------------------------------------------- */

unsigned node_split(struct slab_cache *cache, unsigned n)
{
	struct cache_node *node = &cache->node[n];
	unsigned long used = 0, dense;
	unsigned moved = 0;

	pthread_mutex_lock(&node->lock);
	for (const struct slab *slab = node->partial.slabs.first; slab; slab = slab->next)
		used += slab_used(slab);
	dense = (used + cache->objects - 1) / cache->objects;
	for (; node->partial.count > dense; moved++) {
		struct slab *slab = node->partial.slabs.last;

		node_list_remove(&node->partial, slab);
		node_list_add_head(&node->sparse, slab);
	}
	pthread_mutex_unlock(&node->lock);
	return moved;
}

struct slab *node_take_sparse(struct slab_cache *cache, unsigned n)
{
	struct cache_node *node = &cache->node[n];
	struct slab *slab;

	pthread_mutex_lock(&node->lock);
	slab = node->sparse.slabs.last;
	if (slab)
		node_list_remove(&node->sparse, slab);
	pthread_mutex_unlock(&node->lock);
	return slab;
}

void node_put_sparse(struct slab_cache *cache, struct slab *slab)
{
	struct cache_node *node = &cache->node[slab->node];

	pthread_mutex_lock(&node->lock);
	node_list_add_head(&node->sparse, slab);
	pthread_mutex_unlock(&node->lock);
}

/* --- objects ---------------------------------------------------------------------- */

static void put(struct slab_cache *cache, struct slab *slab)
{
	slab->next = NULL;
	node_put(cache, slab);
}

/*
 * Up to max objects of a slab in hand: how many; 0: it is full, or, with *ret_error set,
 * there was no memory. Out of hand in any case: back to the list while it has more to
 * give.
 */
static unsigned take_objects(struct slab_cache *cache, struct slab *slab, unsigned max,
			     uint16_t *offset8, int *ret_error)
{
	unsigned n = 0;

	decay_begin_use(slab);
	if (slab_make_ready(cache, slab, ret_error))
		n = cpu_slab_hand_take(&slab->cpu, max, offset8);
	else if (!*ret_error)
		return 0;
	if (*ret_error || slab->carved < slab->objects || slab_make_ready(cache, slab, ret_error))
		put(cache, slab);
	return n;
}

void node_serve(struct slab_cache *cache, struct slab *slab)
{
	int error = 0;

	decay_begin_use(slab);
	if (slab_make_ready(cache, slab, &error))
		slab_adopt(cache, slab);
	else if (error)
		put(cache, slab);
}

static struct slab *take_dense(struct slab_cache *cache, unsigned n)
{
	struct cache_node *node = &cache->node[n];
	struct slab *slab;

	pthread_mutex_lock(&node->lock);
	slab = node->partial.slabs.first;
	while (slab && !slab_used(slab))
		slab = slab->next;
	if (slab)
		node_list_remove(&node->partial, slab);
	pthread_mutex_unlock(&node->lock);
	return slab;
}

unsigned node_take_dense(struct slab_cache *cache, unsigned n, unsigned max, uint16_t *offset8,
			 struct slab **ret_slab)
{
	unsigned taken = 0;
	int error = 0;

	while (!taken && !error && (*ret_slab = take_dense(cache, n)))
		taken = take_objects(cache, *ret_slab, max, offset8, &error);
	return taken;
}

/* Some slab in hand, from this node, a fresh one, or another node's. */
static struct slab *any_slab(struct slab_cache *cache, unsigned node, bool strict)
{
	struct slab *slab = node_take(cache, node, 1);
	int cpu = cpu_engine->cpu();

	if (slab)
		return slab;
	slab = slab_create(cache, node);
	if (slab) {
		cache_event(cache, cpu, SLAB_EVENT_ALLOC_SLAB);
		return slab;
	}
	if (strict)
		return NULL;
	slab = node_take_any(cache, node);
	if (slab)
		cache_event(cache, cpu, SLAB_EVENT_ALLOC_NODE_MISMATCH);
	return slab;
}

void *node_alloc(struct slab_cache *cache, unsigned node, bool strict)
{
	uint16_t offset8;
	struct slab *slab;
	int error = 0;

	while ((slab = any_slab(cache, node, strict)) &&
	       !take_objects(cache, slab, 1, &offset8, &error) && !error)
		;
	if (!slab || error) {
		errno = ENOMEM;
		return NULL;
	}
	return cpu_slab_object(&slab->cpu, offset8);
}
