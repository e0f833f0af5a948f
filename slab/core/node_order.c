/* SPDX-License-Identifier: MIT */
/*
 * Operations on every slab of a node's list: sorting, counting, splitting off sparse slabs. Each
 * goes through the list in pieces (node.c).
 *
 * A sort moves the slabs to the node's queues, one for each class of fullness; slabs on these
 * queues still count as listed. A thread that would find the list empty, or that walks the list,
 * joins the queues and so ends the sort. The sorting thread detects this by the number of the sort.
 */
#include "core/node.h"
#include "core/slab.h"
#include "pages/queue.h"

/* After this number of attempts a list that keeps changing is not counted. */
#define COUNT_TRIES 3u

/* --- order ------------------------------------------------------------------------ */

/* Under the lock: move up to `max` slabs to the queues of their classes. Slabs of one class keep
 * their order. Returns the number of moved slabs. */
static unsigned deal_out(struct cache_node *node, struct slab_queue *slabs, unsigned max)
{
	struct slab *slab;
	unsigned n = 0;

	for (; n < max && (slab = slabs->first); n++) {
		unsigned class = slab_used(slab) * (NODE_CLASSES - 1) / slab->objects;

		queue_remove(slabs, slab);
		queue_add_tail(&node->rest->sorted[class], slab);
	}
	node->partial.changes++;
	return n;
}

/* is_without() in node.c reads both counts without the lock, the sparse count first. It must never
 * find both 0 while there are slabs, because its caller would then not look. So the partial count
 * grows before the sparse count shrinks. */
static void count_as_partial(struct cache_node *node, unsigned n)
{
	__atomic_store_n(&node->partial.count, node->partial.count + n, __ATOMIC_RELAXED);
	__atomic_store_n(&node->sparse.count, node->sparse.count - n, __ATOMIC_RELEASE);
}

/* false: all slabs are sorted, or another thread has ended the sort. */
static bool sort_some(struct cache_node *node, unsigned sort, unsigned *left)
{
	unsigned max = NODE_PIECE < *left ? NODE_PIECE : *left, n, sparse = 0;
	bool more;

	node_lock_again(node);
	more = node->sort == sort;
	if (more) {
		n = deal_out(node, &node->partial.slabs, max);
		if (n < max)
			sparse = deal_out(node, &node->sparse.slabs, max - n);
		count_as_partial(node, sparse);
		*left -= n + sparse;
		more = *left && (node->partial.slabs.first || node->sparse.slabs.first);
		if (!more)
			node_end_sort(node);
	}
	node_unlock(node);
	return more;
}

void node_sort(struct slab_cache *cache, unsigned n)
{
	struct cache_node *node = &cache->node[n];
	unsigned sort, left;

	node_lock_again(node);
	node_end_sort(node);
	sort = node->sort = ++node->sorts ? node->sorts : ++node->sorts;
	left = node->partial.count + node->sparse.count;
	node_unlock(node);
	while (sort_some(node, sort, &left))
		;
}

/* --- counting --------------------------------------------------------------------- */

/* The progress of a count, which starts again when the list changes. */
struct counting {
	const struct slab *next;
	unsigned counted, changes;
};

/* Under the lock. true: the count reached the end of the list. */
static bool count_some(struct counting *at)
{
	for (unsigned n = NODE_PIECE; n && at->next; n--) {
		at->next = at->next->next;
		at->counted++;
	}
	return !at->next;
}

bool node_check_count(struct slab_cache *cache, unsigned n, unsigned *ret_counted,
		      unsigned *ret_count)
{
	struct cache_node *node = &cache->node[n];
	struct node_list *list = &node->partial;
	struct counting at = {0};
	bool right = true, done = false;

	for (unsigned tries = 0; !done && tries <= COUNT_TRIES;) {
		node_lock_again(node);
		node_end_sort(node);
		if (!tries || at.changes != list->changes) {
			at = (struct counting){.next = list->slabs.first, .changes = list->changes};
			tries++;
		}
		done = count_some(&at);
		if (done && at.counted != list->count) {
			*ret_counted = at.counted;
			*ret_count = list->count;
			__atomic_store_n(&list->count, at.counted, __ATOMIC_RELAXED);
			right = false;
		}
		node_unlock(node);
	}
	return right;
}

/* --- sparse slabs ----------------------------------------------------------------- */

/* The number of objects on the partial list that are not in use. The function rotates the list
 * once, so it counts each slab once. */
static unsigned long unused_on(struct cache_node *node)
{
	unsigned left = __atomic_load_n(&node->partial.count, __ATOMIC_RELAXED), n;
	unsigned long unused = 0;

	for (; left; left -= n) {
		struct slab *slab;

		node_lock_again(node);
		node_end_sort(node);
		slab = node->partial.slabs.first;
		for (n = 0; slab && n < left && n < NODE_PIECE; n++) {
			unused += slab->objects - slab_used(slab);
			slab = slab->next;
		}
		node_begin_at(&node->partial, slab);
		node_unlock(node);
		if (!n)
			break;
	}
	return unused;
}

unsigned node_split(struct slab_cache *cache, unsigned n)
{
	struct cache_node *node = &cache->node[n];
	unsigned long surplus = unused_on(node);
	unsigned left = __atomic_load_n(&node->partial.count, __ATOMIC_RELAXED);
	unsigned moved = 0, before;

	do {
		struct slab *slab;

		node_lock_again(node);
		node_end_sort(node);
		before = moved;
		while (moved < left && moved < before + NODE_PIECE &&
		       (slab = node->partial.slabs.last) && slab->objects <= surplus) {
			surplus -= slab->objects;
			node_list_remove(&node->partial, slab);
			node_list_add_head(&node->sparse, slab);
			moved++;
		}
		node_unlock(node);
	} while (moved != before);
	return moved;
}
