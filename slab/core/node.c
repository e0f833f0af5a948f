/* SPDX-License-Identifier: MIT */
/*
 * A node's partial list: slabs with free objects that no CPU owns.
 *
 * A listed slab has REMOTE_OWNED set, so frees go to its remote word and no other
 * thread moves it; a thread that takes it off the list, under the lock, isolates it.
 * Entirely free slabs stay here up to min_partial and go to the page layer
 * beyond. The list knows slabs, not objects: a slab whose last object is freed
 * while it is listed stays until it is taken or the cache is shrunk.
 *
 * Slabs that are to be emptied (defrag.c) stand on a list of their own, so that they
 * are filled last, but before any fresh slab. Which of the two a slab is on makes no
 * other difference: a thread that takes all takes both, and puts them on the first.
 *
 * The lists may have a million slabs, and allocations wait for the lock. So an operation
 * that looks at more than one slab takes NODE_PIECE of them at a time, and lets waiting
 * threads have the lock in between; a mutex alone would not (isolated.h). Meanwhile every slab
 * stays where other threads, and the child of a fork, find it.
 */
#include <errno.h>
#include <pthread.h>
#include <slab/stats.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "core/node.h"
#include "core/isolated.h"
#include "core/slab.h"
#include "pages/idle.h"
#include "pages/queue.h"
#include "pages/topology.h"

/* Other threads go first for about 10 ms at most. */
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
	const struct timespec step = {.tv_nsec = STEP_NS};
	int saved = errno;

	/* nanosleep() would be a place where a thread can be cancelled. */
	for (unsigned steps = STEPS; steps; steps--) {
		if (!__atomic_load_n(&node->waiting, __ATOMIC_RELAXED))
			break;
		syscall(SYS_nanosleep, &step, NULL);
	}
	errno = saved;
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
		queue_prepend(&node->partial.slabs, &node->sorted[i]);
	node->partial.changes++;
	node->sort = 0;
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

/* The first slabs of a chain; *slabs: the others. */
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

/* Isolated, linked by next, in front of `taken`. Under the lock. */
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

/* Slabs that were looked at are at the end then, so that the next look does not meet them
 * again. */
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
 * Up to max objects of an isolated slab: how many; 0: it is full, or, with *ret_error set,
 * there was no memory. Not isolated afterwards: back to the list while it has more to
 * give.
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
	if (*ret_error || slab->initialized < slab->objects || slab_refill(cache, slab, ret_error))
		put(cache, slab);
	return n;
}

/* The first slab on the list that is not empty; empty ones go to the end. */
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

/* Isolate some slab, of this node, a fresh one, or another node's. */
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
