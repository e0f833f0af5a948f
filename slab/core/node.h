/* SPDX-License-Identifier: MIT */
/* A node's lists: partial slabs, sparse ones. */
#ifndef SLAB_CORE_NODE_H
#define SLAB_CORE_NODE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/cache.h"

/* How many slabs a thread that walks a node's lists looks at before it releases the lock. */
#define NODE_PIECE 64u

void node_init(struct cache_node *node);
/* The lock, behind those that wait for it: between pieces of what may take long. */
void node_lock_again(struct cache_node *node);
/* Under the node's lock. */
void node_list_add_head(struct node_list *list, struct slab *slab);
void node_list_add_tail(struct node_list *list, struct slab *slab);
void node_list_remove(struct node_list *list, struct slab *slab);
/* Put isolated slabs (linked by next) on their nodes' lists; surplus empty ones
 * go to the page layer: how many. */
unsigned node_put(struct slab_cache *cache, struct slab *slabs);
/* Isolate up to max slabs, linked by next; sparse ones when there are no others. */
struct slab *node_take(struct slab_cache *cache, unsigned node, unsigned max);

/* … up to max that a walk wants, in their order (isolated.h). Of the list, or of the sparse
 * slabs, the first NODE_PIECE are looked at, and go to its end. */
struct list_walk;
struct node_look {
	bool sparse;
	unsigned looked;
	unsigned unwanted; /* the last ones that were looked at, in this and earlier looks */
	unsigned count;    /* of the list */
};
struct slab *node_take_some(struct slab_cache *cache, unsigned node, unsigned max,
			    const struct list_walk *walk, struct node_look *look);

/* … one of this node, or else of another one. */
struct slab *node_take_any(struct slab_cache *cache, unsigned node);
/* Isolated slabs of one node, linked by next, go to the end of its list. */
void node_put_last(struct slab_cache *cache, unsigned node, struct slab *slabs);
/* Empty isolated slabs, linked by next, are released: how many. */
unsigned node_release(struct slab_cache *cache, struct slab *slabs);
/* An isolated slab is the next that this CPU allocates from, if it has objects to give. */
void node_serve(struct slab_cache *cache, struct slab *slab);

/*
 * All slabs to one list, the fullest first. That is done NODE_PIECE slabs at a time; other
 * threads find every slab meanwhile. A slab stands where it belongs by what was in use when
 * it was looked at. A thread that takes the last unsorted slab, or looks through the list
 * itself, ends the sort: then what is sorted so far stands in front, the fullest first.
 */
void node_sort(struct slab_cache *cache, unsigned node);

/* Does the list have as many slabs as its count says? False: what was counted, and what the
 * count was, which is right from now on. A list that changes all the time is not counted. */
bool node_check_count(struct slab_cache *cache, unsigned node, unsigned *ret_counted,
		      unsigned *ret_count);
/* One object straight from a node, for a thread without a CPU or for that node; of another
 * one when it has no memory, unless that is `strict`. */
void *node_alloc(struct slab_cache *cache, unsigned node, bool strict);
/* Up to max objects of one slab of a node, the first on its list that is not empty: how
 * many. */
unsigned node_take_dense(struct slab_cache *cache, unsigned node, unsigned max, uint16_t *offset8,
			 struct slab **ret_slab);
/* The last slabs on the list, all but those that could hold every object of the listed
 * ones, are sparse from now on: how many. */
unsigned node_split(struct slab_cache *cache, unsigned node);
/* Isolate the last of the sparse slabs; NULL: there is none. And back, as the first. */
struct slab *node_take_sparse(struct slab_cache *cache, unsigned node);
void node_put_sparse(struct slab_cache *cache, struct slab *slab);

/* --- among the files that look through the lists: node.c, node_order.c ------------------- */

/* The lock, before those that look through the lists (node_lock_again()). */
void node_lock(struct cache_node *node);
void node_unlock(struct cache_node *node);
/* Under the lock: what is sorted stands in front of the list, and that was the sort. */
void node_end_sort(struct cache_node *node);
/* … the slab becomes the first one; NULL: the list stays as it is. */
void node_begin_at(struct node_list *list, struct slab *slab);

#endif /* SLAB_CORE_NODE_H */
