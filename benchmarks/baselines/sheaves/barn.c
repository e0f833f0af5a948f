/* SPDX-License-Identifier: MIT */
/* Barns: full and empty sheaves of a node. */
#include <stdlib.h>

#include "sheaves/cache.h"

struct sheaf *sheaf_new(size_t capacity)
{
	struct sheaf *sheaf = malloc(sizeof(*sheaf) + capacity * sizeof(sheaf->objs[0]));

	if (sheaf) {
		sheaf->count = 0;
		sheaf->capacity = capacity;
	}
	return sheaf;
}

static struct sheaf *get(struct sheaf_node *node, struct barn_list *list)
{
	struct sheaf *sheaf = NULL;

	if (!__atomic_load_n(&list->count, __ATOMIC_RELAXED))
		return NULL;
	lock_take(&node->barn_lock);
	if (list->count) {
		sheaf = list->first;
		list->first = sheaf->next;
		__atomic_store_n(&list->count, list->count - 1, __ATOMIC_RELAXED);
	}
	lock_drop(&node->barn_lock);
	return sheaf;
}

struct sheaf *barn_take_empty(struct sheaf_cache *cache, unsigned node)
{
	return get(&cache->node[node], &cache->node[node].empty);
}

struct sheaf *barn_get_empty(struct sheaf_cache *cache, unsigned node)
{
	struct sheaf *sheaf = barn_take_empty(cache, node);

	return sheaf ? sheaf : sheaf_new(cache->capacity);
}

struct sheaf *barn_get_full(struct sheaf_cache *cache, unsigned node)
{
	return get(&cache->node[node], &cache->node[node].full);
}

bool barn_put(struct sheaf_cache *cache, unsigned n, struct sheaf *sheaf)
{
	struct sheaf_node *node = &cache->node[n];
	struct barn_list *list = sheaf->count ? &node->full : &node->empty;
	bool done;

	if (__atomic_load_n(&list->count, __ATOMIC_RELAXED) >= BARN_MAX)
		return false;
	lock_take(&node->barn_lock);
	done = list->count < BARN_MAX;
	if (done) {
		sheaf->next = list->first;
		list->first = sheaf;
		__atomic_store_n(&list->count, list->count + 1, __ATOMIC_RELAXED);
	}
	lock_drop(&node->barn_lock);
	return done;
}

void sheaf_flush(struct sheaf_cache *cache, struct sheaf *sheaf)
{
	sheaf_slabs_give(cache, sheaf->count, sheaf->objs);
	sheaf->count = 0;
}

void barn_put_or_flush(struct sheaf_cache *cache, unsigned node, struct sheaf *sheaf)
{
	if (barn_put(cache, node, sheaf))
		return;
	sheaf_flush(cache, sheaf);
	free(sheaf);
}

size_t barns_objects(struct sheaf_cache *cache)
{
	size_t n = 0;

	for (unsigned i = 0; i < pages_nodes; i++) {
		struct sheaf_node *node = &cache->node[i];

		lock_take(&node->barn_lock);
		for (struct sheaf *sheaf = node->full.count ? node->full.first : NULL; sheaf;
		     sheaf = sheaf->next)
			n += sheaf->count;
		lock_drop(&node->barn_lock);
	}
	return n;
}
