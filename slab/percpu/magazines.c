/* SPDX-License-Identifier: MIT */
#include "percpu/magazines.h"
#include "percpu/lifo_length.h"
#include "inject.h"
#include "core/node.h"
#include "pages/topology.h"

#include <pthread.h>
#include <string.h>

static unsigned full(const struct cache_node *node)
{
	return __atomic_load_n(&node->magazines, __ATOMIC_RELAXED);
}

/* With the node's lock. */
static void set_full(struct slab_cache *cache, struct cache_node *node, unsigned n, long objects)
{
	__atomic_fetch_add(&cache->in_magazines, (size_t)objects, __ATOMIC_RELAXED);
	__atomic_store_n(&node->magazines, n, __ATOMIC_RELAXED);
}

/* Half of a full LIFO; 0: the LIFO is not full. */
static size_t half_of(const struct slab_cache *cache, int cpu)
{
	const struct cpu_lifo *lifo = cpu_lifo(cache->cpu_lifos, cpu);
	const uint64_t max = lifo_length(cache);

	return __atomic_load_n(&lifo->count, __ATOMIC_RELAXED) >= max ? max / 2 : 0;
}

bool magazine_put(struct slab_cache *cache, int cpu)
{
	struct cache_node *node = &cache->node[topology_node_of_cpu(cpu)];
	const unsigned n = full(node);
	const size_t half = half_of(cache, cpu);
	struct magazine *magazine = &node->rest->magazine[n];
	bool done = false;

	if (n == MAGAZINES_MAX || !half || pthread_mutex_trylock(&node->lock) != 0)
		return false;
	cpu_inject(CPU_INJECT_MAGAZINE_LOCKED);
	if (full(node) == n &&
	    cpu_engine->lifo_take(cache->cpu_slots, cpu, half, magazine->obj) == CPU_DONE) {
		magazine->count = half;
		set_full(cache, node, n + 1, (long)half);
		done = true;
	}
	node_unlock(node);
	return done;
}

bool magazine_get(struct slab_cache *cache, int cpu)
{
	struct cache_node *node = &cache->node[topology_node_of_cpu(cpu)];
	const unsigned n = full(node);
	const struct magazine *magazine = n ? &node->rest->magazine[n - 1] : NULL;
	bool done = false;

	if (!magazine || pthread_mutex_trylock(&node->lock) != 0)
		return false;
	cpu_inject(CPU_INJECT_MAGAZINE_LOCKED);
	if (full(node) == n &&
	    cpu_engine->lifo_push_bulk(cache->cpu_slots, cpu, magazine->count, magazine->obj,
				       lifo_length(cache)) == CPU_DONE) {
		set_full(cache, node, n - 1, -(long)magazine->count);
		done = true;
	}
	node_unlock(node);
	return done;
}

/* With the node's lock. */
static size_t take_last(struct slab_cache *cache, struct cache_node *node, size_t most, void **obj)
{
	struct magazine *magazine = &node->rest->magazine[full(node) - 1];
	size_t n = magazine->count < most ? magazine->count : most;

	magazine->count -= n;
	memcpy(obj, magazine->obj + magazine->count, n * sizeof(obj[0]));
	set_full(cache, node, full(node) - !magazine->count, -(long)n);
	return n;
}

size_t magazine_take(struct slab_cache *cache, size_t most, void **obj)
{
	size_t found = 0;

	for (unsigned i = 0; i < topology_nodes() && !found; i++) {
		struct cache_node *node = &cache->node[i];

		if (!full(node))
			continue;
		node_lock(node);
		if (full(node))
			found = take_last(cache, node, most, obj);
		node_unlock(node);
	}
	return found;
}
