/* SPDX-License-Identifier: MIT */
/* A node's partial list and sparse list: taking slabs off them and putting slabs on them.
 * docs/design.md explains when a slab is listed. */
#ifndef SLAB_CORE_NODE_H
#define SLAB_CORE_NODE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/cache.h"

/* The number of slabs that a thread visits before it releases a node's lock. */
#define NODE_PIECE 32u

void node_init(struct cache_node *node);
/* Lock the node after the threads that wait for its lock. Long operations use this between
 * pieces. */
void node_lock_again(struct cache_node *node);
/* The caller holds the node's lock. */
void node_list_add_head(struct node_list *list, struct slab *slab);
void node_list_add_tail(struct node_list *list, struct slab *slab);
void node_list_remove(struct node_list *list, struct slab *slab);
/* Put isolated slabs (linked by next) on their nodes' lists and release surplus empty ones;
 * returns the number released. */
unsigned node_put(struct slab_cache *cache, struct slab *slabs);
/* Has the node a slab on a list? The answer may be outdated at once. */
bool node_has_slabs(const struct slab_cache *cache, unsigned node);
/* Isolate up to `max` slabs of the partial list, or of the sparse list if that is empty. Returns
 * them linked by next. */
struct slab *node_take(struct slab_cache *cache, unsigned node, unsigned max);

/* Isolate up to `max` slabs that a walk wants, in the order of the list (isolated.h). The function
 * looks at the first NODE_PIECE slabs of the partial or the sparse list, and moves them to its
 * end. */
struct list_walk;
struct node_look {
	bool sparse;
	unsigned looked;
	unsigned unwanted; /* slabs rejected in a row, in this and earlier calls */
	unsigned count;    /* number of slabs on the list */
};
struct slab *node_take_some(struct slab_cache *cache, unsigned node, unsigned max,
			    const struct list_walk *walk, struct node_look *look);

/* Isolate a slab of this node, or else of another node. */
struct slab *node_take_any(struct slab_cache *cache, unsigned node);
/* Put isolated slabs of one node, linked by next, at the end of its list. */
void node_put_last(struct slab_cache *cache, unsigned node, struct slab *slabs);
/* Release empty isolated slabs, linked by next; returns their number. */
unsigned node_release(struct slab_cache *cache, struct slab *slabs);
/* Give an isolated slab to this CPU for its next allocations, if the slab has free objects. */
void node_serve(struct slab_cache *cache, struct slab *slab);

/*
 * Merge both lists into one, the fullest slabs first. The function sorts NODE_PIECE slabs at a
 * time; other threads find every slab in between. The order is that of the objects in use when
 * the sort visits each slab. A thread that takes the last unsorted slab, or walks the list, ends
 * the sort early. The slabs sorted so far are in front then, the fullest first.
 */
void node_sort(struct slab_cache *cache, unsigned node);

/* Does the partial list have as many slabs as its count says? If not, the function stores both
 * numbers, corrects the count, and returns false. It gives up when the list changes too often. */
bool node_check_count(struct slab_cache *cache, unsigned node, unsigned *ret_counted,
		      unsigned *ret_count);
/* Allocate an object directly from a node, for a thread without a CPU or for slab_alloc_node(). If
 * the node has no memory, the object is of another node, unless `strict`. */
void *node_alloc(struct slab_cache *cache, unsigned node, bool strict);
/* Take up to `max` free objects of the first slab on a node's list that is not empty. Returns their
 * number. */
unsigned node_take_dense(struct slab_cache *cache, unsigned node, unsigned max, uint16_t *offset8,
			 struct slab **ret_slab);
/* Move slabs from the end of the partial list to the sparse list. The slabs that are needed to hold
 * all objects of the listed slabs stay. Returns the number of moved slabs. */
unsigned node_split(struct slab_cache *cache, unsigned node);
/* Isolate the last slab of the sparse list. NULL: the list is empty. node_put_sparse() puts a slab
 * at its front. */
struct slab *node_take_sparse(struct slab_cache *cache, unsigned node);
void node_put_sparse(struct slab_cache *cache, struct slab *slab);

/* --- between node.c and node_order.c ------------------------------------------------------ */

/* Take the lock ahead of threads that walk the lists (node_lock_again()). */
void node_lock(struct cache_node *node);
void node_unlock(struct cache_node *node);
/* Under the lock: put the sorted slabs in front of the list and end the sort. */
void node_end_sort(struct cache_node *node);
/* Under the lock: rotate the list so that the slab is first. NULL: the list stays as it is. */
void node_begin_at(struct node_list *list, struct slab *slab);

#endif /* SLAB_CORE_NODE_H */
