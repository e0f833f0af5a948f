/* SPDX-License-Identifier: MIT */
/* Sheaves; README.md describes the design. This file has caches and the sheaves of CPUs. */
#include "sheaves/sheaf.h"

#include <stdlib.h>
#include <string.h>

#include "methods.h"
#include "sheaves/cache.h"

#define LEAST_ALIGN 8u

static size_t capacity_of(size_t size)
{
	if (size >= FRAME_BYTES)
		return 4;
	if (size >= 1024)
		return 12;
	return size >= 256 ? 28 : 60;
}

static size_t round_up(size_t n, size_t to)
{
	return (n + to - 1) / to * to;
}

/* The freelist's pointer is in the middle of a free object, and behind it if free objects stay
 * constructed. */
static void choose_layout(struct sheaf_cache *cache, const struct baseline_args *args)
{
	const size_t align = args->align > LEAST_ALIGN ? args->align : LEAST_ALIGN;
	const size_t in_use = round_up(args->size, sizeof(void *));

	cache->link = args->ctor ? in_use : args->size / 2 / sizeof(void *) * sizeof(void *);
	cache->size = round_up(args->ctor ? in_use + sizeof(void *) : in_use, align);
	cache->capacity = capacity_of(args->size);
	sheaf_slabs_choose(cache);
}

static bool init(struct sheaf_cache *cache, const struct baseline_args *args)
{
	const size_t spares = percpu_cpus() * sizeof(cache->spare[0]);

	cache->ctor = args->ctor;
	cache->arg = args->arg;
	choose_layout(cache, args);
	for (unsigned n = 0; n < pages_nodes; n++)
		frame_list_init(&cache->node[n].partial);
	cache->spare = aligned_alloc(64, spares);
	if (!cache->spare)
		return false;
	memset(cache->spare, 0, spares);
	return percpu_init(&cache->main, cache->capacity);
}

struct sheaf_cache *sheaf_create(const struct baseline_args *args)
{
	struct sheaf_cache *cache;
	size_t bytes;

	if (!args->size || args->size > BASELINE_MAX_OBJECT || args->align > BASELINE_MAX_ALIGN ||
	    !percpu_start())
		return NULL;
	bytes = round_up(sizeof(*cache), 64) + pages_nodes * sizeof(cache->node[0]);
	cache = aligned_alloc(64, bytes);
	if (!cache)
		return NULL;
	memset(cache, 0, bytes);
	if (!init(cache, args)) {
		free(cache->spare);
		free(cache);
		return NULL;
	}
	return cache;
}

/* The spare sheaf of a CPU, which another thread gets only after attach_spare(). NULL: there is none,
 * or another thread has it. */
static struct sheaf *detach_spare(struct sheaf_cache *cache, int cpu)
{
	struct spare *spare;
	struct sheaf *sheaf;

	if (cpu < 0)
		return NULL;
	spare = &cache->spare[cpu];
	lock_take(&spare->lock);
	sheaf = spare->sheaf;
	spare->sheaf = NULL;
	lock_drop(&spare->lock);
	return sheaf;
}

/* Make a sheaf the spare one of a CPU. If it has one already, the barn gets the sheaf. */
static void attach_spare(struct sheaf_cache *cache, int cpu, struct sheaf *sheaf)
{
	struct spare *spare;
	bool done;

	if (cpu >= 0) {
		spare = &cache->spare[cpu];
		lock_take(&spare->lock);
		done = !spare->sheaf;
		if (done)
			spare->sheaf = sheaf;
		lock_drop(&spare->lock);
		if (done)
			return;
	}
	barn_put_or_flush(cache, pages_node_of_cpu(cpu), sheaf);
}

/* A sheaf with objects for a CPU whose main sheaf is empty: its spare one, one of the barn in exchange
 * for an empty one, or one that is filled from slabs. */
static struct sheaf *get_full(struct sheaf_cache *cache, int cpu)
{
	const unsigned node = pages_node_of_cpu(cpu);
	struct sheaf *spare = detach_spare(cache, cpu), *sheaf;

	if (spare && spare->count)
		return spare;
	sheaf = barn_get_full(cache, node);
	if (sheaf) {
		if (spare)
			barn_put_or_flush(cache, node, spare);
		return sheaf;
	}
	sheaf = spare ? spare : barn_get_empty(cache, node);
	if (sheaf)
		sheaf->count =
			sheaf_slabs_take(cache, node, BASELINE_FULL, sheaf->capacity, sheaf->objs);
	return sheaf;
}

static __attribute__((noinline)) void *alloc_slow(struct sheaf_cache *cache)
{
	void *obj = percpu_pop_again(&cache->main);
	struct sheaf *sheaf;
	int cpu;

	if (obj)
		return obj;
	cpu = percpu_cpu();
	sheaf = get_full(cache, cpu);
	if (!sheaf)
		return NULL;
	obj = sheaf_pop(sheaf);
	if (sheaf->count && percpu_fill(&cache->main, cpu, sheaf->count, sheaf->objs))
		sheaf->count = 0;
	attach_spare(cache, cpu, sheaf);
	return obj;
}

FASTPATH void *sheaf_alloc(struct sheaf_cache *cache)
{
	void *obj;

	if (LIKELY(percpu_pop(&cache->main, &obj)))
		return obj;
	return alloc_slow(cache);
}

/* An empty sheaf for a CPU whose main sheaf is full: its spare one, one of the barn in exchange for
 * the full spare one, or the spare one after its objects went to their slabs. */
static struct sheaf *get_empty(struct sheaf_cache *cache, int cpu)
{
	const unsigned node = pages_node_of_cpu(cpu);
	struct sheaf *spare = detach_spare(cache, cpu), *sheaf;

	if (!spare)
		return barn_get_empty(cache, node);
	if (!spare->count)
		return spare;
	if (barn_put(cache, node, spare)) {
		sheaf = barn_get_empty(cache, node);
		return sheaf;
	}
	sheaf_flush(cache, spare);
	return spare;
}

static __attribute__((noinline)) void free_slow(struct sheaf_cache *cache, void *obj)
{
	struct sheaf *sheaf;
	int cpu;

	if (percpu_push_again(&cache->main, obj))
		return;
	cpu = percpu_cpu();
	sheaf = get_empty(cache, cpu);
	if (sheaf) {
		sheaf->count = percpu_take(&cache->main, cpu, sheaf->capacity, sheaf->objs);
		attach_spare(cache, cpu, sheaf);
	}
	if (!percpu_push_again(&cache->main, obj))
		sheaf_slabs_give(cache, 1, &obj);
}

/* false: the object is of this CPU's node. */
static __attribute__((noinline)) bool free_remote(struct sheaf_cache *cache, void *obj)
{
	if (pages_node_of_cpu(percpu_cpu()) == pages_frame(obj)->node)
		return false;
	sheaf_slabs_give(cache, 1, &obj);
	return true;
}

FASTPATH void sheaf_free(struct sheaf_cache *cache, void *obj)
{
	if (UNLIKELY(pages_nodes > 1) && free_remote(cache, obj))
		return;
	if (LIKELY(percpu_push(&cache->main, obj)))
		return;
	free_slow(cache, obj);
}

/* Take objects of the spare sheaf of a CPU. */
static size_t take_spare(struct sheaf_cache *cache, int cpu, size_t n, void **objs)
{
	struct sheaf *sheaf = detach_spare(cache, cpu);
	size_t done = 0;

	if (!sheaf)
		return 0;
	while (done < n && sheaf->count)
		objs[done++] = sheaf->objs[--sheaf->count];
	attach_spare(cache, cpu, sheaf);
	return done;
}

size_t sheaf_alloc_bulk(struct sheaf_cache *cache, unsigned mode, size_t n, void **objs)
{
	const int cpu = percpu_cpu();
	size_t done = percpu_take(&cache->main, cpu, n, objs);

	if (done < n)
		done += take_spare(cache, cpu, n - done, objs + done);
	if (done < n && mode & ~BASELINE_LOCAL)
		done += sheaf_slabs_take(cache, pages_node_of_cpu(cpu), mode, n - done,
					 objs + done);
	return done;
}

void sheaf_free_bulk(struct sheaf_cache *cache, size_t n, void *const *objs)
{
	for (size_t i = 0; i < n; i++)
		sheaf_free(cache, objs[i]);
}

struct sheaf *sheaf_prefill(struct sheaf_cache *cache, size_t n)
{
	const int cpu = percpu_cpu();
	struct sheaf *sheaf;

	if (n > cache->capacity)
		sheaf = sheaf_new(n);
	else
		sheaf = get_full(cache, cpu);
	if (sheaf && sheaf->count < n)
		sheaf->count += sheaf_slabs_take(cache, pages_node_of_cpu(cpu), BASELINE_FULL,
						 n - sheaf->count, sheaf->objs + sheaf->count);
	if (sheaf && sheaf->count < n) {
		sheaf_return(cache, sheaf);
		sheaf = NULL;
	}
	return sheaf;
}

void *sheaf_pop(struct sheaf *sheaf)
{
	return sheaf->count ? sheaf->objs[--sheaf->count] : NULL;
}

void sheaf_return(struct sheaf_cache *cache, struct sheaf *sheaf)
{
	if (sheaf->capacity == cache->capacity) {
		attach_spare(cache, percpu_cpu(), sheaf);
		return;
	}
	sheaf_flush(cache, sheaf);
	free(sheaf);
}

static void flush_on_cpu(void *arg, int cpu)
{
	struct sheaf_cache *cache = arg;
	struct sheaf *sheaf = detach_spare(cache, cpu);
	void *objs[PERCPU_MAX];
	size_t n;

	if (sheaf) {
		sheaf_flush(cache, sheaf);
		free(sheaf);
	}
	n = percpu_take(&cache->main, cpu, PERCPU_MAX, objs);
	sheaf_slabs_give(cache, n, objs);
}

static void flush(struct sheaf_cache *cache)
{
	struct sheaf *sheaf;

	percpu_each(flush_on_cpu, cache);
	for (unsigned n = 0; n < pages_nodes; n++) {
		while ((sheaf = barn_get_full(cache, n))) {
			sheaf_flush(cache, sheaf);
			free(sheaf);
		}
		while ((sheaf = barn_take_empty(cache, n)))
			free(sheaf);
	}
	sheaf_slabs_release_empty(cache);
}

void sheaf_shrink(struct sheaf_cache *cache)
{
	flush(cache);
	pages_trim();
}

void sheaf_reap(struct sheaf_cache *cache)
{
	(void)cache; /* sheaves stay until a shrink */
}

void sheaf_destroy(struct sheaf_cache *cache)
{
	flush(cache);
	if (cache->bytes)
		baseline_abort("a cache was destroyed that has objects in use", cache);
	percpu_destroy(&cache->main);
	free(cache->spare);
	free(cache);
}

void sheaf_stats(struct sheaf_cache *cache, struct baseline_stats *stats)
{
	stats->bytes = __atomic_load_n(&cache->bytes, __ATOMIC_RELAXED);
	stats->queued = barns_objects(cache);
	for (unsigned cpu = 0; cpu < percpu_cpus(); cpu++) {
		struct spare *spare = &cache->spare[cpu];

		stats->queued += percpu_count(&cache->main, (int)cpu);
		lock_take(&spare->lock);
		stats->queued += spare->sheaf ? spare->sheaf->count : 0;
		lock_drop(&spare->lock);
	}
}

BASELINE_METHODS(sheaf, "sheaves");
