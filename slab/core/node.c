/* SPDX-License-Identifier: MIT */
/*
 * A node's lists of slabs that no CPU owns: the partial list and the sparse list.
 *
 * A listed slab has REMOTE_OWNED set, so frees go to its remote freelist and leave it on the list.
 * A thread isolates a slab by taking it off the list, under the node's lock. The list counts slabs,
 * not objects: a slab whose last object is freed while it is listed stays until it is taken or the
 * cache is shrunk. Empty slabs beyond min_partial go to the page layer.
 *
 * Defragmentation empties the slabs of the sparse list (defrag.c). Allocations use them last, but
 * before fresh slabs.
 *
 * A list may have a million slabs, and allocations wait for the lock. So an operation on more than
 * one slab looks at NODE_PIECE slabs at a time and lets waiting threads take the lock in between (a
 * mutex alone would not: isolated.h). Between the pieces every slab is where other threads, and the
 * child of a fork, find it.
 */
#include <errno.h>
#include <pthread.h>
#include <slab/stats.h>

#include "core/node.h"
#include "base/clock.h"
#include "core/isolated.h"
#include "core/slab.h"
#include "inject.h"
#include "pages/idle.h"
#include "pages/queue.h"
#include "pages/topology.h"

/* How long node_lock_again() lets other threads go first: about 10 ms. */
#define STEPS 200u
#define STEP_NS 50000L

/* --- the lock --------------------------------------------------------------------- */

void node_lock(struct cache_node *node)
{
	if (pthread_mutex_trylock(&node->lock) == 0)
		return;
	__atomic_fetch_add(&node->waiting, 1, __ATOMIC_RELAXED);
	pthread_mutex_lock(&node->lock);
	__atomic_fetch_sub(&node->waiting, 1, __ATOMIC_RELAXED);
}

void node_unlock(struct cache_node *node)
{
	pthread_mutex_unlock(&node->lock);
}

void node_lock_again(struct cache_node *node)
{
	for (unsigned steps = STEPS; steps; steps--) {
		if (!__atomic_load_n(&node->waiting, __ATOMIC_RELAXED))
			break;
		clock_sleep(STEP_NS);
	}
	pthread_mutex_lock(&node->lock);
}

/* --- lists ------------------------------------------------------------------------ */

void node_init(struct cache_node *node)
{
	pthread_mutex_init(&node->lock, NULL);
}

static void count(struct node_list *list, struct slab *slab, bool listed)
{
	list->changes++;
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

void node_end_sort(struct cache_node *node)
{
	if (!node->sort)
		return;
	for (unsigned i = 0; i < NODE_CLASSES; i++)
		queue_prepend(&node->partial.slabs, &node->rest->sorted[i]);
	node->partial.changes++;
	node->sort = 0;
}

/* Empty slabs go to the end, so allocations use them last and they may be released. */
static void add(struct cache_node *node, struct slab *slab, bool empty)
{
	if (empty)
		node_list_add_tail(&node->partial, slab);
	else
		node_list_add_head(&node->partial, slab);
}

/* Put the slabs of node `n` on its list. Returns the slabs of other nodes; adds empty slabs beyond
 * min_partial to *surplus. */
static struct slab *put_on(struct slab_cache *cache, unsigned n, struct slab *slabs,
			   struct slab **surplus)
{
	struct cache_node *node = &cache->node[n];
	struct slab *others = NULL, *next;
	unsigned min_partial = __atomic_load_n(&cache->min_partial, __ATOMIC_RELAXED);

	node_lock(node);
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
	node_unlock(node);
	return others;
}

/* Cut off the first NODE_PIECE slabs of a chain. *slabs becomes the rest. */
static struct slab *cut_piece(struct slab **slabs)
{
	struct slab *first = *slabs, *last = first;

	for (unsigned n = 1; n < NODE_PIECE && last->next; n++)
		last = last->next;
	*slabs = last->next;
	last->next = NULL;
	return first;
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
	struct slab *surplus = NULL, *piece;
	int cpu = cpu_engine->cpu();

	for (struct slab *slab = slabs; slab; slab = slab->next) {
		slab_collect(slab);
		cache_event(cache, cpu, SLAB_EVENT_FREE_ADD_PARTIAL);
	}
	while (slabs)
		for (piece = cut_piece(&slabs); piece;)
			piece = put_on(cache, piece->node, piece, &surplus);
	return node_release(cache, surplus);
}

void node_put_last(struct slab_cache *cache, unsigned n, struct slab *slabs)
{
	struct cache_node *node = &cache->node[n];
	struct slab *next;

	node_lock(node);
	for (; slabs; slabs = next) {
		next = slabs->next;
		node_list_add_tail(&node->partial, slabs);
	}
	node_unlock(node);
}

/* Under the lock: isolate up to `max` slabs. Returns them in front of `taken`, linked by next. */
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
	/* The order of the two loads matters: see count_as_partial() in node_order.c. */
	return !__atomic_load_n(&node->sparse.count, __ATOMIC_ACQUIRE) &&
	       !__atomic_load_n(&node->partial.count, __ATOMIC_RELAXED);
}

bool node_has_slabs(const struct slab_cache *cache, unsigned n)
{
	return !is_without(&cache->node[n]);
}

struct slab *node_take(struct slab_cache *cache, unsigned n, unsigned max)
{
	struct cache_node *node = &cache->node[n];
	struct slab *taken;

	/* Do not lock the node for empty lists. */
	if (is_without(node))
		return NULL;
	node_lock(node);
	if (!node->partial.slabs.first)
		node_end_sort(node);
	taken = take(&node->partial, max, NULL);
	if (!taken)
		taken = take(&node->sparse, max, NULL);
	node_unlock(node);
	return taken;
}

struct slab *node_take_any(struct slab_cache *cache, unsigned n)
{
	struct slab *slab = node_take(cache, n, 1);

	for (unsigned other = 0; other < topology_nodes() && !slab; other++)
		slab = node_take(cache, other, 1);
	return slab;
}

void node_begin_at(struct node_list *list, struct slab *next)
{
	if (!next)
		return;
	queue_begin_at(&list->slabs, next);
	list->changes++;
}

/* Isolate the wanted slabs among the first NODE_PIECE, and move the slabs that were looked at to
 * the end. The next call then starts with other slabs. */
static struct slab *take_wanted(struct node_list *list, unsigned max, const struct list_walk *walk,
				struct node_look *look)
{
	struct slab *taken = NULL, **end = &taken, *slab, *next;

	look->looked = 0;
	for (slab = list->slabs.first; slab && max && look->looked < NODE_PIECE; slab = next) {
		if (look->unwanted >= list->count)
			break;
		next = slab->next;
		look->looked++;
		look->unwanted++;
		if (!walk->wants(slab, walk->arg))
			continue;
		node_list_remove(list, slab);
		slab->next = NULL;
		*end = slab;
		end = &slab->next;
		look->unwanted = 0;
		max--;
	}
	node_begin_at(list, slab);
	look->count = list->count;
	return taken;
}

struct slab *node_take_some(struct slab_cache *cache, unsigned n, unsigned max,
			    const struct list_walk *walk, struct node_look *look)
{
	struct cache_node *node = &cache->node[n];
	struct slab *taken;

	look->looked = look->count = 0;
	if (is_without(node))
		return NULL;
	node_lock_again(node);
	node_end_sort(node);
	taken = take_wanted(look->sparse ? &node->sparse : &node->partial, max, walk, look);
	node_unlock(node);
	return taken;
}

/* --- sparse slabs --------------------------------------------------------------- */

struct slab *node_take_sparse(struct slab_cache *cache, unsigned n)
{
	struct cache_node *node = &cache->node[n];
	struct slab *slab;

	node_lock(node);
	slab = node->sparse.slabs.last;
	if (slab)
		node_list_remove(&node->sparse, slab);
	node_unlock(node);
	return slab;
}

void node_put_sparse(struct slab_cache *cache, struct slab *slab)
{
	struct cache_node *node = &cache->node[slab->node];

	node_lock(node);
	node_list_add_head(&node->sparse, slab);
	node_unlock(node);
}

/* --- objects ---------------------------------------------------------------------- */

static void put(struct slab_cache *cache, struct slab *slab)
{
	slab->next = NULL;
	node_put(cache, slab);
}

/*
 * Take up to `max` objects of an isolated slab. Returns their number; 0: the slab is full, or, with
 * *ret_error set, there was no memory. The slab is not isolated afterwards: it is full, or listed.
 */
static unsigned take_objects(struct slab_cache *cache, struct slab *slab, unsigned max,
			     uint16_t *offset8, int *ret_error)
{
	unsigned n = 0;

	decay_begin_use(slab);
	if (slab_refill(cache, slab, ret_error))
		n = cpu_slab_take(&slab->cpu, max, offset8);
	else if (!*ret_error)
		return 0;
	cpu_inject(CPU_INJECT_OBJECTS_TAKEN);
	if (*ret_error || slab->initialized < slab->objects || slab_refill(cache, slab, ret_error))
		put(cache, slab);
	return n;
}

/* Isolate the first slab on the list that is not empty. Empty slabs in front of it go to the
 * end. */
static struct slab *take_dense(struct slab_cache *cache, unsigned n)
{
	struct cache_node *node = &cache->node[n];
	unsigned left = __atomic_load_n(&node->partial.count, __ATOMIC_RELAXED);
	struct slab *slab, *dense = NULL;

	do {
		node_lock_again(node);
		node_end_sort(node);
		slab = node->partial.slabs.first;
		for (unsigned i = 0; slab && i < NODE_PIECE && !slab_used(slab); i++)
			slab = slab->next;
		node_begin_at(&node->partial, slab);
		if (slab && slab_used(slab)) {
			dense = slab;
			node_list_remove(&node->partial, slab);
		}
		node_unlock(node);
		left -= left < NODE_PIECE ? left : NODE_PIECE;
	} while (!dense && slab && left);
	return dense;
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

/* Isolate a slab of this node, else a fresh one, else (unless `strict`) one of another node. */
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
