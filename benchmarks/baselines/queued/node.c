/* SPDX-License-Identifier: MIT */
/* The queues of a node: the shared queue, and alien queues for the objects of other nodes. */
#include <string.h>

#include "queued/cache.h"

static size_t take_shared(struct queued_cache *cache, struct queued_node *node, size_t n,
			  void **objs)
{
	if (n > cache->batch)
		n = cache->batch;
	if (n > node->shared_count)
		n = node->shared_count;
	node->shared_count -= (unsigned)n;
	memcpy(objs, node->shared + node->shared_count, n * sizeof(objs[0]));
	return n;
}

/* Up to n objects of a fresh slab; the others are free on the node's lists. */
static size_t take_fresh(struct queued_cache *cache, unsigned n, size_t wanted, void **objs)
{
	struct queued_node *node = &cache->node[n];
	struct frame *slab = slab_make(cache, n);

	if (!slab)
		return 0;
	wanted = slab_take(cache, slab, wanted, objs);
	lock_take(&node->lock);
	slab_list(cache, node, slab);
	lock_drop(&node->lock);
	return wanted;
}

size_t node_take(struct queued_cache *cache, unsigned n, unsigned mode, size_t wanted, void **objs)
{
	struct queued_node *node = &cache->node[n];
	size_t done = 0;

	if (mode & (BASELINE_PARTIAL | BASELINE_FULL)) {
		lock_take(&node->lock);
		node->is_used = true;
		done = take_shared(cache, node, wanted, objs);
		if (!done || mode & BASELINE_PARTIAL)
			done += slabs_take(cache, node, wanted - done, objs + done,
					   !(mode & BASELINE_FULL));
		lock_drop(&node->lock);
	}
	if (!done && mode & (BASELINE_NEW | BASELINE_FULL))
		done = take_fresh(cache, n, wanted, objs);
	return done;
}

static size_t surplus(const struct queued_cache *cache, const struct queued_node *node)
{
	if (node->free_objects <= cache->free_limit)
		return 0;
	return (node->free_objects - cache->free_limit + cache->objects - 1) / cache->objects;
}

/* Objects of one node. The oldest ones are the first. */
static void give_run(struct queued_cache *cache, struct queued_node *node, size_t n,
		     void *const *objs)
{
	struct frame *released;
	size_t room;

	lock_take(&node->lock);
	node->is_used = true;
	room = cache->shared_limit - node->shared_count;
	if (room > n)
		room = n;
	memcpy(node->shared + node->shared_count, objs, room * sizeof(objs[0]));
	node->shared_count += (unsigned)room;
	slabs_give(cache, node, n - room, objs + room);
	released = slabs_take_empty(cache, node, surplus(cache, node));
	lock_drop(&node->lock);
	slabs_release(cache, released);
}

void node_give(struct queued_cache *cache, size_t n, void *const *objs)
{
	size_t begin = 0;

	if (pages_nodes == 1) {
		if (n)
			give_run(cache, &cache->node[0], n, objs);
		return;
	}
	while (begin < n) {
		const unsigned node = pages_frame(objs[begin])->node;
		size_t end = begin + 1;

		while (end < n && pages_frame(objs[end])->node == node)
			end++;
		give_run(cache, &cache->node[node], end - begin, objs + begin);
		begin = end;
	}
}

void node_give_alien(struct queued_cache *cache, unsigned node, unsigned other, void *obj)
{
	struct alien *alien = &cache->node[node].alien[other];
	void *objs[ALIEN_MAX];
	unsigned n = 0;

	lock_take(&alien->lock);
	if (alien->count == ALIEN_MAX) {
		n = ALIEN_MAX;
		memcpy(objs, alien->objs, sizeof(objs));
		alien->count = 0;
	}
	alien->objs[alien->count++] = obj;
	lock_drop(&alien->lock);
	node_give(cache, n, objs);
}

static void drain_alien(struct queued_cache *cache, struct alien *alien)
{
	void *objs[ALIEN_MAX];
	unsigned n;

	lock_take(&alien->lock);
	n = alien->count;
	memcpy(objs, alien->objs, n * sizeof(objs[0]));
	alien->count = 0;
	lock_drop(&alien->lock);
	node_give(cache, n, objs);
}

void node_drain(struct queued_cache *cache, unsigned n, bool all)
{
	struct queued_node *node = &cache->node[n];
	struct frame *released = NULL;
	unsigned objects;

	for (unsigned other = 0; other < pages_nodes; other++)
		drain_alien(cache, &node->alien[other]);
	lock_take(&node->lock);
	if (all || !node->is_used) {
		objects = all ? node->shared_count : (node->shared_count + 1) / 2;
		slabs_give(cache, node, objects, node->shared);
		node->shared_count -= objects;
		memmove(node->shared, node->shared + objects,
			node->shared_count * sizeof(node->shared[0]));
		released = slabs_take_empty(cache, node,
					    all ? SIZE_MAX : (node->empty.length + 1) / 2);
	}
	node->is_used = false;
	lock_drop(&node->lock);
	slabs_release(cache, released);
}
