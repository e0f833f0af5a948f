/* SPDX-License-Identifier: MIT */
/*
 * A node's partial list: slabs with free objects that no CPU owns.
 *
 * A listed slab has REMOTE_OWNED set, so frees go to its remote word and nobody
 * else moves it; whoever takes it off the list, under the lock, has it in hand.
 * Entirely free slabs stay here up to min_partial and go to the page layer
 * beyond. The list knows slabs, not objects: a slab whose last object is freed
 * while it is listed stays until it is taken or the cache is shrunk.
 */
#include <errno.h>

#include "slab_internal.h"

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
	slab->next = NULL;
	slab->prev = list->last;
	if (list->last)
		list->last->next = slab;
	else
		list->first = slab;
	list->last = slab;
	count(list, slab, true);
}

void node_list_add_head(struct node_list *list, struct slab *slab)
{
	slab->prev = NULL;
	slab->next = list->first;
	if (list->first)
		list->first->prev = slab;
	else
		list->last = slab;
	list->first = slab;
	count(list, slab, true);
}

void node_list_remove(struct node_list *list, struct slab *slab)
{
	if (slab->prev)
		slab->prev->next = slab->next;
	else
		list->first = slab->next;
	if (slab->next)
		slab->next->prev = slab->prev;
	else
		list->last = slab->prev;
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

static struct slab *remove_first(struct cache_node *node)
{
	struct slab *slab = node->partial.first;

	node_list_remove(&node->partial, slab);
	return slab;
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

struct slab *node_take(struct slab_cache *cache, unsigned n, unsigned max)
{
	struct cache_node *node = &cache->node[n];
	struct slab *taken = NULL;

	/* A look without the lock spares it when there is nothing. */
	if (!__atomic_load_n(&node->partial.count, __ATOMIC_RELAXED))
		return NULL;
	pthread_mutex_lock(&node->lock);
	for (; max && node->partial.first; max--) {
		struct slab *slab = remove_first(node);

		slab->next = taken;
		taken = slab;
	}
	pthread_mutex_unlock(&node->lock);
	return taken;
}

/* Some slab in hand, from this node, a fresh one, or another node's. */
static struct slab *any_slab(struct slab_cache *cache, unsigned node)
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
	for (unsigned other = 0; other < topology_nodes() && !slab; other++)
		slab = node_take(cache, other, 1);
	if (slab)
		cache_event(cache, cpu, SLAB_EVENT_ALLOC_NODE_MISMATCH);
	return slab;
}

void *node_alloc(struct slab_cache *cache, unsigned node)
{
	uint16_t offset8;
	struct slab *slab;
	int error = 0;

	for (;;) {
		slab = any_slab(cache, node);
		if (!slab)
			break;
		if (slab_make_ready(cache, slab, &error)) {
			cpu_slab_hand_take(&slab->cpu, 1, &offset8);
			break;
		}
		if (error) {
			slab->next = NULL;
			node_put(cache, slab);
			slab = NULL;
			break;
		}
	}
	if (!slab) {
		errno = ENOMEM;
		return NULL;
	}

	void *obj = cpu_slab_object(&slab->cpu, offset8);

	/* Back to the list while it has more to give, out of hand otherwise. */
	if (slab->carved < slab->objects || slab_make_ready(cache, slab, &error)) {
		slab->next = NULL;
		node_put(cache, slab);
	}
	return obj;
}
