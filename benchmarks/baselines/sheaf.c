/* SPDX-License-Identifier: MIT */
/*
 * Sheaves: arrays of objects in front of SLUB's slabs. A CPU has a main sheaf, which is a LIFO of
 * percpu.h, and a spare one. A barn has full and empty sheaves for all CPUs.
 */
#include "sheaf.h"

#include <stdlib.h>
#include <string.h>

#include "baseline.h"

#define BARN_MAX 10u /* full sheaves of a barn, and empty ones */

/* --- the barn --------------------------------------------------------------------------------- */

static struct sheaf *barn_get(struct sheaf_cache *cache, struct barn_list *list)
{
	struct sheaf *sheaf = NULL;

	if (!__atomic_load_n(&list->count, __ATOMIC_RELAXED))
		return NULL;
	lock_take(&cache->barn_lock);
	if (list->count) {
		sheaf = list->first;
		list->first = sheaf->next;
		__atomic_store_n(&list->count, list->count - 1, __ATOMIC_RELAXED);
	}
	lock_drop(&cache->barn_lock);
	return sheaf;
}

/* An empty sheaf, of the barn or new. NULL: there is no memory. */
static struct sheaf *barn_get_empty(struct sheaf_cache *cache)
{
	struct sheaf *sheaf = barn_get(cache, &cache->empty);

	return sheaf ? sheaf : calloc(1, sizeof(*sheaf));
}

/* false: the barn has enough sheaves of this kind. */
static bool barn_put(struct sheaf_cache *cache, struct sheaf *sheaf)
{
	struct barn_list *list = sheaf->count ? &cache->full : &cache->empty;
	bool done;

	if (__atomic_load_n(&list->count, __ATOMIC_RELAXED) >= BARN_MAX)
		return false;
	lock_take(&cache->barn_lock);
	done = list->count < BARN_MAX;
	if (done) {
		sheaf->next = list->first;
		list->first = sheaf;
		__atomic_store_n(&list->count, list->count + 1, __ATOMIC_RELAXED);
	}
	lock_drop(&cache->barn_lock);
	return done;
}

static void flush(struct sheaf_cache *cache, struct sheaf *sheaf)
{
	sheaf_slabs_give(cache, sheaf->count, sheaf->objs);
	sheaf->count = 0;
}

static void barn_put_or_free(struct sheaf_cache *cache, struct sheaf *sheaf)
{
	if (barn_put(cache, sheaf))
		return;
	flush(cache, sheaf);
	free(sheaf);
}

/* --- the sheaves of CPUs ---------------------------------------------------------------------- */

/* The spare sheaf of a CPU, which another thread gets only after attach(). NULL: there is none. */
static struct sheaf *detach(struct sheaf_cache *cache, int cpu)
{
	struct spare *spare = &cache->spare[cpu < 0 ? 0 : cpu];
	struct sheaf *sheaf;

	lock_take(&spare->lock);
	sheaf = spare->sheaf;
	spare->sheaf = NULL;
	lock_drop(&spare->lock);
	return sheaf;
}

/* Make a sheaf the spare one of a CPU. If it has one already, the barn gets the sheaf. */
static void attach(struct sheaf_cache *cache, int cpu, struct sheaf *sheaf)
{
	struct spare *spare = &cache->spare[cpu < 0 ? 0 : cpu];
	bool done;

	lock_take(&spare->lock);
	done = !spare->sheaf;
	if (done)
		spare->sheaf = sheaf;
	lock_drop(&spare->lock);
	if (!done)
		barn_put_or_free(cache, sheaf);
}

/* For a CPU whose main sheaf is empty: its spare one, one of the barn in exchange for an empty one,
 * or one that is filled from slabs. */
static struct sheaf *get_full(struct sheaf_cache *cache, int cpu)
{
	struct sheaf *spare = detach(cache, cpu), *sheaf;

	if (spare && spare->count)
		return spare;
	sheaf = barn_get(cache, &cache->full);
	if (sheaf) {
		if (spare)
			barn_put_or_free(cache, spare);
		return sheaf;
	}
	sheaf = spare ? spare : barn_get_empty(cache);
	if (sheaf)
		sheaf->count = sheaf_slabs_take(cache, cache->capacity, sheaf->objs);
	return sheaf;
}

static __attribute__((noinline)) void *alloc_slow(struct sheaf_cache *cache)
{
	void *obj = cpu_engine->pop(&cache->main.arrays);
	struct sheaf *sheaf;
	size_t kept;
	int cpu;

	if (obj)
		return obj;
	cpu = cpu_engine->cpu();
	sheaf = get_full(cache, cpu);
	if (!sheaf)
		return NULL;
	if (sheaf->count)
		obj = sheaf->objs[--sheaf->count];
	kept = cpu_engine->put(&cache->main.arrays, sheaf->count, sheaf->objs);
	sheaf->count -= kept;
	memmove(sheaf->objs, sheaf->objs + kept, sheaf->count * sizeof(obj));
	attach(cache, cpu, sheaf);
	return obj;
}

FASTPATH void *sheaf_alloc(struct sheaf_cache *cache)
{
	void *obj;

	if (LIKELY(percpu_pop(&cache->main, &obj)))
		return obj;
	return alloc_slow(cache);
}

/* For a CPU whose main sheaf is full: its spare one, an empty one in exchange for the full spare
 * one, or the spare one after its objects went to their slabs. */
static struct sheaf *get_empty(struct sheaf_cache *cache, int cpu)
{
	struct sheaf *spare = detach(cache, cpu);

	if (!spare)
		return barn_get_empty(cache);
	if (spare->count && barn_put(cache, spare))
		return barn_get_empty(cache);
	flush(cache, spare);
	return spare;
}

static __attribute__((noinline)) void free_slow(struct sheaf_cache *cache, void *obj)
{
	struct sheaf *sheaf;
	int cpu;

	if (percpu_push_again(&cache->main, obj))
		return;
	cpu = cpu_engine->cpu();
	sheaf = get_empty(cache, cpu);
	if (sheaf) {
		sheaf->count = cpu_engine->take(&cache->main.arrays, cache->capacity, sheaf->objs);
		attach(cache, cpu, sheaf);
	}
	if (!percpu_push_again(&cache->main, obj))
		sheaf_slabs_give(cache, 1, &obj);
}

FASTPATH void sheaf_free(struct sheaf_cache *cache, void *obj)
{
	if (LIKELY(percpu_push(&cache->main, obj)))
		return;
	free_slow(cache, obj);
}

size_t sheaf_alloc_bulk(struct sheaf_cache *cache, size_t n, void **objs)
{
	const int cpu = cpu_engine->cpu();
	size_t done = cpu_engine->take(&cache->main.arrays, n, objs);
	struct sheaf *sheaf = done < n ? detach(cache, cpu) : NULL;

	if (sheaf) {
		while (done < n && sheaf->count)
			objs[done++] = sheaf->objs[--sheaf->count];
		attach(cache, cpu, sheaf);
	}
	if (done < n)
		done += sheaf_slabs_take(cache, n - done, objs + done);
	return done;
}

void sheaf_free_bulk(struct sheaf_cache *cache, size_t n, void *const *objs)
{
	for (size_t i = 0; i < n; i++)
		sheaf_free(cache, objs[i]);
}

/* --- caches ----------------------------------------------------------------------------------- */

static size_t capacity_of(size_t size)
{
	if (size >= FRAME_BYTES)
		return 4;
	if (size >= 1024)
		return 12;
	return size >= 256 ? 28 : SHEAF_MAX;
}

struct sheaf_cache *sheaf_create(size_t size)
{
	struct sheaf_cache *cache;

	if (!size || size > BASELINE_MAX_OBJECT || !percpu_start())
		return NULL;
	cache = percpu_alloc(sizeof(*cache) + cpu_possible() * sizeof(cache->spare[0]));
	if (!cache || !percpu_init(&cache->main, capacity_of(size))) {
		free(cache);
		return NULL;
	}
	cache->capacity = capacity_of(size);
	cache->size = (size + 7) & ~(size_t)7;
	cache->link = size / 2 / sizeof(void *) * sizeof(void *);
	frame_list_init(&cache->partial);
	sheaf_slabs_choose(cache);
	return cache;
}

static void drain_cpu(void *arg, int cpu)
{
	struct sheaf_cache *cache = arg;
	struct sheaf *sheaf = detach(cache, cpu);
	void *objs[PERCPU_MAX];

	if (sheaf) {
		flush(cache, sheaf);
		free(sheaf);
	}
	sheaf_slabs_give(cache, cpu_engine->take(&cache->main.arrays, PERCPU_MAX, objs), objs);
}

static void drain(struct sheaf_cache *cache)
{
	struct sheaf *sheaf;

	percpu_each(drain_cpu, cache);
	while ((sheaf = barn_get(cache, &cache->full))) {
		flush(cache, sheaf);
		free(sheaf);
	}
	while ((sheaf = barn_get(cache, &cache->empty)))
		free(sheaf);
	sheaf_slabs_release_empty(cache);
}

void sheaf_shrink(struct sheaf_cache *cache)
{
	drain(cache);
	pages_trim();
}

void sheaf_destroy(struct sheaf_cache *cache)
{
	drain(cache);
	if (cache->bytes)
		baseline_abort("a cache was destroyed that has objects in use", cache);
	percpu_destroy(&cache->main);
	free(cache);
}

size_t sheaf_bytes(const struct sheaf_cache *cache)
{
	return __atomic_load_n(&cache->bytes, __ATOMIC_RELAXED);
}
