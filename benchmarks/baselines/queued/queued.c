/* SPDX-License-Identifier: MIT */
/* SLAB; README.md describes the design. This file has caches, the queues of CPUs, and the reaper. */
#include "queued/queued.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "methods.h"
#include "queued/cache.h"

#define REAP_SECONDS 2
#define LEAST_ALIGN 8u
#define SHARED_BATCHES 8u

/* All caches, for the reaper. A pass holds the lock, and so does the end of a cache. */
static pthread_mutex_t caches_lock = PTHREAD_MUTEX_INITIALIZER;
static struct queued_cache *caches;
static bool reaper_runs;

/* The length of a CPU's queue: the tunables that /proc/slabinfo shows. */
static unsigned limit_of(size_t size)
{
	if (size > FRAME_BYTES)
		return 8;
	if (size > 1024)
		return 24;
	return size > 256 ? 54 : 120;
}

static void choose_queues(struct queued_cache *cache, unsigned limit)
{
	cache->batch = (limit + 1) / 2;
	cache->shared_limit = cache->size > FRAME_BYTES ? 0 : cache->batch * SHARED_BATCHES;
	cache->free_limit = (1 + percpu_cpus()) * cache->batch + cache->objects;
}

static void init_nodes(struct queued_cache *cache)
{
	for (unsigned n = 0; n < pages_nodes; n++) {
		frame_list_init(&cache->node[n].partial);
		frame_list_init(&cache->node[n].full);
		frame_list_init(&cache->node[n].empty);
	}
}

static bool init(struct queued_cache *cache, const struct baseline_args *args)
{
	const unsigned limit = limit_of(args->size);

	cache->align = args->align > LEAST_ALIGN ? args->align : LEAST_ALIGN;
	cache->size = (args->size + cache->align - 1) & ~(cache->align - 1);
	cache->ctor = args->ctor;
	cache->arg = args->arg;
	cache->seen = calloc(percpu_cpus(), sizeof(cache->seen[0]));
	slab_choose(cache);
	choose_queues(cache, limit);
	init_nodes(cache);
	return cache->seen && percpu_init(&cache->cpu, limit);
}

struct on_cpu {
	struct queued_cache *cache;
	bool all;
};

/* Return objects of this CPU's queue. The oldest ones go first; the others stay. */
static void drain_cpu(struct queued_cache *cache, int cpu, bool all)
{
	const size_t count = percpu_count(&cache->cpu, cpu);
	void *objs[PERCPU_MAX];
	size_t n, stay;

	if (!all && (!count || count != cache->seen[cpu])) {
		cache->seen[cpu] = count; /* it is in use */
		return;
	}
	n = percpu_take(&cache->cpu, cpu, PERCPU_MAX, objs);
	stay = all ? 0 : n / 2;
	node_give(cache, n - stay, objs);
	if (stay && !percpu_fill(&cache->cpu, cpu, stay, objs + n - stay))
		node_give(cache, stay, objs + n - stay);
	cache->seen[cpu] = percpu_count(&cache->cpu, cpu);
}

static void drain_on_cpu(void *arg, int cpu)
{
	const struct on_cpu *on = arg;

	drain_cpu(on->cache, cpu, on->all);
}

static void drain(struct queued_cache *cache, bool all)
{
	struct on_cpu on = {cache, all};

	percpu_each(drain_on_cpu, &on);
	for (unsigned n = 0; n < pages_nodes; n++)
		node_drain(cache, n, all);
	/* Alien queues went to the shared ones of other nodes. */
	for (unsigned n = 0; all && n < pages_nodes; n++)
		node_drain(cache, n, all);
}

static void reap_all(void)
{
	pthread_mutex_lock(&caches_lock);
	for (struct queued_cache *cache = caches; cache; cache = cache->next)
		drain(cache, false);
	pthread_mutex_unlock(&caches_lock);
	pages_trim();
}

static void *reaper_main(void *arg)
{
	const struct timespec pause = {REAP_SECONDS, 0};

	(void)arg;
	for (;;) {
		nanosleep(&pause, NULL);
		reap_all();
	}
	return NULL;
}

/* Under caches_lock. A process that cannot start a thread has no reaper. */
static void start_reaper(void)
{
	const char *wanted = getenv("BASELINE_REAPER");
	pthread_t thread;

	if (reaper_runs || (wanted && strcmp(wanted, "off") == 0))
		return;
	reaper_runs = true;
	if (pthread_create(&thread, NULL, reaper_main, NULL) == 0)
		pthread_detach(thread);
}

struct queued_cache *queued_create(const struct baseline_args *args)
{
	struct queued_cache *cache;
	size_t bytes;

	if (!args->size || args->size > BASELINE_MAX_OBJECT || args->align > BASELINE_MAX_ALIGN ||
	    !percpu_start())
		return NULL;
	bytes = sizeof(*cache) + pages_nodes * sizeof(cache->node[0]);
	cache = aligned_alloc(64, bytes);
	if (!cache)
		return NULL;
	memset(cache, 0, bytes);
	if (!init(cache, args)) {
		free(cache->seen);
		free(cache);
		return NULL;
	}
	pthread_mutex_lock(&caches_lock);
	cache->next = caches;
	caches = cache;
	start_reaper();
	pthread_mutex_unlock(&caches_lock);
	return cache;
}

void queued_destroy(struct queued_cache *cache)
{
	struct queued_cache **link = &caches;

	pthread_mutex_lock(&caches_lock);
	while (*link != cache)
		link = &(*link)->next;
	*link = cache->next;
	pthread_mutex_unlock(&caches_lock);
	drain(cache, true);
	if (cache->bytes)
		baseline_abort("a cache was destroyed that has objects in use", cache);
	percpu_destroy(&cache->cpu);
	free(cache->seen);
	free(cache);
}

/* The CPU's queue is empty: a batch of its node's objects. */
static __attribute__((noinline)) void *alloc_slow(struct queued_cache *cache)
{
	void *objs[PERCPU_MAX], *obj = percpu_pop_again(&cache->cpu);
	int cpu;
	size_t n;

	if (obj)
		return obj;
	cpu = percpu_cpu();
	n = node_take(cache, pages_node_of_cpu(cpu), BASELINE_FULL, cache->batch, objs);
	if (!n)
		return NULL;
	n--;
	if (n && !percpu_fill(&cache->cpu, cpu, n, objs))
		node_give(cache, n, objs);
	return objs[n];
}

FASTPATH void *queued_alloc(struct queued_cache *cache)
{
	void *obj;

	if (LIKELY(percpu_pop(&cache->cpu, &obj)))
		return obj;
	return alloc_slow(cache);
}

/* The CPU's queue is full: its oldest objects go to the node. */
static __attribute__((noinline)) void free_slow(struct queued_cache *cache, void *obj)
{
	void *objs[PERCPU_MAX];
	size_t n, batch;
	int cpu;

	if (percpu_push_again(&cache->cpu, obj))
		return;
	cpu = percpu_cpu();
	n = percpu_take(&cache->cpu, cpu, PERCPU_MAX, objs);
	batch = n < cache->batch ? n : cache->batch;
	node_give(cache, batch, objs);
	if (n > batch && !percpu_fill(&cache->cpu, cpu, n - batch, objs + batch))
		node_give(cache, n - batch, objs + batch);
	if (!percpu_push_again(&cache->cpu, obj))
		node_give(cache, 1, &obj);
}

/* false: the object is of this CPU's node. */
static __attribute__((noinline)) bool free_alien(struct queued_cache *cache, void *obj)
{
	const unsigned node = pages_node_of_cpu(percpu_cpu()), other = pages_frame(obj)->node;

	if (node == other)
		return false;
	node_give_alien(cache, node, other, obj);
	return true;
}

FASTPATH void queued_free(struct queued_cache *cache, void *obj)
{
	if (UNLIKELY(pages_nodes > 1) && free_alien(cache, obj))
		return;
	if (LIKELY(percpu_push(&cache->cpu, obj)))
		return;
	free_slow(cache, obj);
}

size_t queued_alloc_bulk(struct queued_cache *cache, unsigned mode, size_t n, void **objs)
{
	const int cpu = percpu_cpu();
	size_t done = percpu_take(&cache->cpu, cpu, n, objs), found = 1;

	while (done < n && found) {
		found = node_take(cache, pages_node_of_cpu(cpu), mode, n - done, objs + done);
		done += found;
	}
	return done;
}

void queued_free_bulk(struct queued_cache *cache, size_t n, void *const *objs)
{
	for (size_t i = 0; i < n; i++)
		queued_free(cache, objs[i]);
}

void queued_shrink(struct queued_cache *cache)
{
	pthread_mutex_lock(&caches_lock);
	drain(cache, true);
	pthread_mutex_unlock(&caches_lock);
	pages_trim();
}

void queued_reap(struct queued_cache *cache)
{
	pthread_mutex_lock(&caches_lock);
	drain(cache, false);
	pthread_mutex_unlock(&caches_lock);
	pages_trim();
}

static size_t queued_on_cpus(const struct queued_cache *cache)
{
	size_t n = 0;

	for (unsigned cpu = 0; cpu < percpu_cpus(); cpu++)
		n += percpu_count(&cache->cpu, (int)cpu);
	return n;
}

void queued_stats(struct queued_cache *cache, struct baseline_stats *stats)
{
	stats->bytes = __atomic_load_n(&cache->bytes, __ATOMIC_RELAXED);
	stats->queued = queued_on_cpus(cache);
	for (unsigned n = 0; n < pages_nodes; n++) {
		struct queued_node *node = &cache->node[n];

		lock_take(&node->lock);
		stats->queued += node->shared_count;
		lock_drop(&node->lock);
		for (unsigned other = 0; other < pages_nodes; other++) {
			lock_take(&node->alien[other].lock);
			stats->queued += node->alien[other].count;
			lock_drop(&node->alien[other].lock);
		}
	}
}

BASELINE_METHODS(queued, "SLAB");
