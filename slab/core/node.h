/* SPDX-License-Identifier: MIT */
/* A node's lists, among the files that look through them: node.c and node_order.c. */
#ifndef SLAB_NODE_H
#define SLAB_NODE_H

#include "core/slab_internal.h"

/* The lock, before those that look through the lists (node_lock_again()). */
void node_lock(struct cache_node *node);
void node_unlock(struct cache_node *node);
/* Under the lock: what is sorted stands in front of the list, and that was the sort. */
void node_end_sort(struct cache_node *node);
/* … the slab becomes the first one; NULL: the list stays as it is. */
void node_begin_at(struct node_list *list, struct slab *slab);

#endif /* SLAB_NODE_H */
