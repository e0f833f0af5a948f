/* SPDX-License-Identifier: MIT */
/*
 * A thread may be preempted between any two steps and wake up on another CPU. Each step is a
 * section on the CPU where it runs, or takes the lock of a shard that any CPU may use. Between the
 * steps objects are this thread's alone.
 */
#include "percpu/refill.h"

#include <errno.h>

#include "base/maintenance.h"
#include "base/probe.h"
#include "core/shard.h"
#include "core/slab.h"
#include "core/upcalls.h"
#include "pages/idle.h"
#include "pages/os.h"
#include "pages/topology.h"
#include "percpu/length.h"
#include "percpu/magazines.h"
#include "percpu/scratch.h"

/* The most objects that one step takes from slabs, or returns to them, on the stack of a thread that
 * calls malloc(). */
#define MOVE_MAX 128u
/* From so many objects on a refill takes whole words of a map. */
#define WHOLE_WORDS_FROM 64u

static unsigned node_of(int cpu)
{
	return topology_node_of_cpu(cpu);
}

static bool is_closed(const struct slab_cache *cache)
{
	return __atomic_load_n(&cache->arrays, __ATOMIC_RELAXED) == cpu_arrays_none();
}

/* How many objects a CPU with this limit takes from slabs. */
static unsigned refill_size(unsigned limit)
{
	const unsigned n = 1 + limit / 2;

	return n < WHOLE_WORDS_FROM ? n : (n + 63) & ~63u;
}

/* The first refill of an array takes objects of one page: a CPU may need only some. */
static unsigned first_refill_size(const struct slab_cache *cache, unsigned n)
{
	const size_t most = os_page_size() / cache->size;

	return !most ? 1 : n < most ? n : (unsigned)most;
}

#define ANYWHERE (TAKE_PARTIAL | TAKE_OTHERS | TAKE_NEW)

/* One object of another node, which no array gets. Without TAKE_NEW only nodes with more than
 * min_partial partial slabs serve. */
static unsigned take_far(struct slab_cache *cache, unsigned node, int cpu, void **objs,
			 unsigned where, unsigned min_partial)
{
	for (unsigned i = 1; i < topology_nodes(); i++) {
		const unsigned other = (node + i) % topology_nodes();
		struct shard_sums sums;

		node_sums(cache, other, &sums);
		if (!(where & TAKE_NEW) && sums.partial <= min_partial)
			continue;
		if (objects_take(cache, shard_at(cache, other, cpu), 1, objs, where)) {
			cache_event(cache, cpu, SLAB_EVENT_ALLOC_NODE_MISMATCH);
			return 1;
		}
	}
	return 0;
}

/* Do partial slabs of other nodes serve now, rather than a new slab of this one? Of 100 times,
 * other_node_ratio times. A lost update does no harm. */
static bool prefers_far(struct slab_cache *cache)
{
	const unsigned ratio = __atomic_load_n(&cache->other_node_ratio, __ATOMIC_RELAXED);
	const unsigned sum =
		__atomic_load_n(&cache->other_node_percentage, __ATOMIC_RELAXED) + ratio;

	__atomic_store_n(&cache->other_node_percentage, sum % 100, __ATOMIC_RELAXED);
	return sum >= 100;
}

/* Objects of this node, or else of another one. They end at objs[want]. */
static unsigned take_near(struct slab_cache *cache, unsigned node, int cpu, unsigned want,
			  void **objs)
{
	struct shard *shard = shard_at(cache, node, cpu);
	const unsigned min_partial = __atomic_load_n(&cache->min_partial, __ATOMIC_RELAXED);
	void **last = objs + want - 1;
	unsigned n;

	if (SLAB_LIKELY(topology_nodes() == 1))
		return objects_take(cache, shard, want, objs, ANYWHERE);
	n = objects_take(cache, shard, want, objs, TAKE_PARTIAL | TAKE_OTHERS);
	if (!n && prefers_far(cache))
		n = take_far(cache, node, cpu, last, TAKE_PARTIAL | TAKE_OTHERS, min_partial);
	if (!n)
		n = objects_take(cache, shard, want, objs, ANYWHERE);
	return n ? n : take_far(cache, node, cpu, last, ANYWHERE, 0);
}

/* Put objects into the array; what it does not take goes back to the slabs. true: it took all. */
static bool keep(struct slab_cache *cache, unsigned n, void **objs)
{
	const size_t put = n ? cpu_engine->put(&cache->arrays, n, objs) : 0;

	if (SLAB_LIKELY(GUARD(refill_keeps, put == n)))
		return true;
	objects_free(cache, n - (unsigned)put, objs + put, NULL);
	return false;
}

/* Fill the array from partial slabs, in one step. false: no scratch, or no such slab. No constructor
 * runs while the thread has a scratch. */
static bool refill_from_partial(struct slab_cache *cache, unsigned node, int cpu, unsigned want)
{
	struct scratch *scratch = scratch_try(cpu);
	unsigned n;

	if (!scratch)
		return false;
	if (want > SCRATCH_MAX)
		want = SCRATCH_MAX;
	n = objects_take(cache, shard_at(cache, node, cpu), want, scratch->objs,
			 TAKE_PARTIAL | TAKE_READY);
	keep(cache, n, scratch->objs + want - n);
	scratch_drop(scratch, want + 1);
	return n;
}

static __attribute__((noinline)) void *refill_from_slabs(struct slab_cache *cache, unsigned node,
							 int cpu, unsigned want)
{
	void *objs[MOVE_MAX + 1];
	const unsigned n = take_near(cache, node, cpu, want, objs);
	void *obj;

	if (!n)
		return NULL;
	obj = objs[want - 1]; /* keep() overwrites it */
	keep(cache, n - 1, objs + want - n);
	return obj;
}

static void *refill(struct slab_cache *cache, unsigned node, int cpu, unsigned want)
{
	void *obj = NULL;

	if (want > MOVE_MAX && refill_from_partial(cache, node, cpu, want))
		obj = cpu_pop(cache);
	if (!obj)
		obj = refill_from_slabs(cache, node, cpu, want < MOVE_MAX ? want : MOVE_MAX);
	if (obj)
		cache_event(cache, cpu, SLAB_EVENT_ALLOC_REFILL);
	return obj;
}

void *cache_refill(struct slab_cache *cache)
{
	const int cpu = cpu_engine->cpu();
	const unsigned node = node_of(cpu);
	unsigned want = 1;
	void *obj;

	if (cpu >= 0 && !is_closed(cache)) {
		const bool is_first = !cpu_array_limit(cpu_array(cache_own_arrays(cache), cpu));

		want = refill_size(length_miss(cache, cpu));
		if (is_first)
			want = first_refill_size(cache, want);
		if (magazine_get(cache, node) && (obj = cpu_pop(cache))) {
			cache_event(cache, cpu, SLAB_EVENT_ALLOC_MAGAZINE);
			return obj;
		}
	}
	obj = refill(cache, node, cpu, want);
	idle_kick();
	maintenance_resume();
	return obj;
}

void *node_alloc(struct slab_cache *cache, unsigned node, bool strict)
{
	const int cpu = cpu_engine->cpu();
	void *objs[2];

	if (strict ? objects_take(cache, shard_at(cache, node, cpu), 1, objs, ANYWHERE)
		   : take_near(cache, node, cpu, 1, objs))
		return objs[0];
	return NULL;
}

/* --- frees ------------------------------------------------------------------------------------ */

static void free_one(struct slab_cache *cache, void *obj, const void *caller)
{
	void *objs[2] = {obj, NULL};

	objects_free(cache, 1, objs, caller);
}

/* Return n objects of this CPU's array to their slabs, at most `most` in a step. */
static void flush_by(struct slab_cache *cache, unsigned n, unsigned most, void **objs)
{
	size_t got = 1;

	for (; n && got; n -= (unsigned)got) {
		got = cpu_engine->take(&cache->arrays, n < most ? n : most, objs);
		if (got)
			objects_free(cache, (unsigned)got, objs, NULL);
	}
}

static __attribute__((noinline)) void flush_by_stack(struct slab_cache *cache, unsigned n)
{
	void *objs[MOVE_MAX + 1];

	flush_by(cache, n, MOVE_MAX, objs);
}

static void flush(struct slab_cache *cache, int cpu, unsigned n)
{
	struct scratch *scratch = n > MOVE_MAX ? scratch_try(cpu) : NULL;

	cache_event(cache, cpu, SLAB_EVENT_FREE_FLUSH);
	if (!scratch) {
		flush_by_stack(cache, n);
		return;
	}
	flush_by(cache, n, SCRATCH_MAX, scratch->objs);
	scratch_drop(scratch, n < SCRATCH_MAX ? n + 1 : SCRATCH_MAX + 1);
}

/* Half of the array goes away. */
static void make_room(struct slab_cache *cache, int cpu)
{
	const unsigned n = cpu_array_count(cpu_array(cache_own_arrays(cache), cpu));

	if (magazine_put(cache, node_of(cpu)))
		cache_event(cache, cpu, SLAB_EVENT_FREE_MAGAZINE);
	else
		flush(cache, cpu, n > 1 ? n / 2 : n);
}

/* Push, after the array has made room if it is full. true: done, or reported. */
static bool push(struct slab_cache *cache, void *obj, int cpu, const void *caller)
{
	enum cpu_result result = cpu_engine->push(&cache->arrays, obj);

	if (result == CPU_MISS) {
		const unsigned limit = length_miss(cache, cpu);

		if (cpu_array_count(cpu_array(cache_own_arrays(cache), cpu)) >= limit)
			make_room(cache, cpu);
		result = cpu_engine->push(&cache->arrays, obj);
	}
	if (SLAB_UNLIKELY(result == CPU_DOUBLE))
		cache->checks->free_already(cache, slab_of(obj), obj, caller);
	return result != CPU_MISS;
}

void cache_free(struct slab_cache *cache, void *obj, const void *caller)
{
	const int cpu = cpu_engine->cpu();

	SLAB_PROBE(free_slow, cache->name, cache, caller, obj, cpu);
	cache_event(cache, cpu, SLAB_EVENT_FREE_SLOWPATH);
	if (cpu >= 0 && !is_closed(cache) && slab_is_near(obj, cpu)) {
		if (push(cache, obj, cpu, caller)) {
			idle_begin();
			maintenance_poll();
			return;
		}
	} else if (cpu >= 0 && !slab_is_near(obj, cpu)) {
		cache_event(cache, cpu, SLAB_EVENT_FREE_OTHER_NODE);
	}
	free_one(cache, obj, caller);
	maintenance_resume();
	maintenance_poll();
}
