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

unsigned node_put(struct slab_cache *cache, struct slab *slabs)
{
	struct slab *surplus = NULL;
	int cpu = cpu_engine->cpu();
	unsigned released = 0;

	for (struct slab *slab = slabs; slab; slab = slab->next) {
		slab_collect(slab);
		cache_event(cache, cpu, SLAB_EVENT_FREE_ADD_PARTIAL);
	}
	while (slabs)
		slabs = put_on(cache, slabs->node, slabs, &surplus);
	while (surplus) {
		struct slab *slab = surplus;

		surplus = slab->next;
		slab_release(cache, slab);
		released++;
	}
	return released;
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
	return !__atomic_load_n(&node->partial.count, __ATOMIC_RELAXED) &&
	       !__atomic_load_n(&node->sparse.count, __ATOMIC_RELAXED);
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
	for (unsigned other = 0; other < topology_nodes() && !slab; other++)
		slab = node_take(cache, other, 1);
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
