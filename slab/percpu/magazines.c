/* SPDX-License-Identifier: MIT */
#include "percpu/magazines.h"
#include "core/node.h"
#include "pages/topology.h"

#include <pthread.h>
#include <string.h>

static unsigned full(const struct cache_node *node)
{
	return __atomic_load_n(&node->magazines, __ATOMIC_RELAXED);
}

/* With the node's lock. */
static void set_full(struct slab_cache *cache, struct cache_node *node, unsigned n)
{
	if (n > node->magazines)
		__atomic_fetch_add(&cache->in_magazines, cache->magazine_room, __ATOMIC_RELAXED);
	else
		__atomic_fetch_sub(&cache->in_magazines, cache->magazine_room, __ATOMIC_RELAXED);
	__atomic_store_n(&node->magazines, n, __ATOMIC_RELAXED);
}

static bool lifo_is_full(const struct slab_cache *cache, int cpu)
{
	const struct cpu_lifo *lifo = cpu_lifo(cache->cpu_lifos, cpu);

	return cache->magazine_room &&
	       __atomic_load_n(&lifo->count, __ATOMIC_RELAXED) >= cache->lifo_max;
}

bool magazine_put(struct slab_cache *cache, int cpu)
{
	struct cache_node *node = &cache->node[topology_node_of_cpu(cpu)];
	bool done = false;

	if (full(node) == MAGAZINES_MAX || !lifo_is_full(cache, cpu) ||
	    pthread_mutex_trylock(&node->lock) != 0)
		return false;
	if (full(node) < MAGAZINES_MAX &&
	    cpu_engine->lifo_take(cache->cpu_slots, cpu, cache->magazine_room,
				  node->magazine[full(node)].obj) == CPU_DONE) {
		set_full(cache, node, full(node) + 1);
		done = true;
	}
	node_unlock(node);
	return done;
}

bool magazine_get(struct slab_cache *cache, int cpu)
{
	struct cache_node *node = &cache->node[topology_node_of_cpu(cpu)];
	bool done = false;

	if (!full(node) || pthread_mutex_trylock(&node->lock) != 0)
		return false;
	if (full(node) && cpu_engine->lifo_fill(cache->cpu_slots, cpu, cache->magazine_room,
						node->magazine[full(node) - 1].obj) == CPU_DONE) {
		set_full(cache, node, full(node) - 1);
		done = true;
	}
	node_unlock(node);
	return done;
}

size_t magazine_take(struct slab_cache *cache, struct magazine *ret_magazine)
{
	size_t n = 0;

	for (unsigned i = 0; i < topology_nodes() && !n; i++) {
		struct cache_node *node = &cache->node[i];

		if (!full(node))
			continue;
		node_lock(node);
		if (full(node)) {
			set_full(cache, node, full(node) - 1);
			n = cache->magazine_room;
			memcpy(ret_magazine, &node->magazine[full(node)], n * sizeof(void *));
		}
		node_unlock(node);
	}
	return n;
}
