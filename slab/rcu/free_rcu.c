/* SPDX-License-Identifier: MIT */
/*
 * slab_free_rcu(): frees that wait for a grace period.
 *
 * Each CPU collects freed objects in an array of its own, beside the one that serves allocations.
 * When it is full, the thread sets a bit for each object in a map of the object's slab, which lies
 * apart from the objects (collect.c). So nothing is written to an object that a reader may still
 * use, and nothing has to be allocated: the free cannot fail. A cache keeps a stack of the slabs
 * that have such objects.
 *
 * All this exists twice, for two *phases*. One phase collects the objects that are freed now, the
 * other waits. A flip swaps them:
 *
 *   collect the CPUs' objects · flip · wait for a grace period · recycle the waiting phase
 *
 * An object is unreachable before it is freed, and the thread that frees it reads the phase after
 * that. So whenever the object arrives in the phase, the grace period that follows the next flip
 * began after the object had become unreachable.
 *
 * There are two drivers. One is a callback of the flavour's call_rcu(), which queues itself again
 * until nothing waits. The other is a thread that finds too many objects waiting and calls
 * synchronize_rcu(). `driving` is set while one of them flips or recycles, so a phase never
 * collects and recycles at the same time; waiting for it is bounded. A helper that flips drives
 * until a grace period has ended, so the callback may recycle whatever waits when it comes.
 *
 * A thread may be preempted between reading the phase and adding to it. While it is (`users`), that
 * phase is not recycled.
 *
 * The callback also collects the objects of idle CPUs. A thread adds an object to its array first
 * and then checks whether a callback is pending. The callback clears that flag, fences all CPUs,
 * and checks the arrays again. So either the callback finds the object, or the thread finds no
 * callback pending and queues one.
 *
 * Slabs of type-safe caches wait in the same phases before their memory is released.
 */
#include "rcu/free_rcu.h"
#include "base/compiler.h"
#include "core/shard.h"
#include "core/slab.h"
#include "core/upcalls.h"
#include "core/user_pointer.h"
#include "debug/debug_cache.h"
#include "rcu/grace_period.h"
#include "rseq.h"

#include <errno.h>

/* Bytes of waiting objects before threads in read-side critical sections are delayed. Other
 * threads help from a quarter of this on. BACKLOG_MIN and _MAX bound the number of objects. */
#define BACKLOG_BYTES (UINT64_C(16) << 20)
#define BACKLOG_MIN UINT64_C(16384)
#define BACKLOG_MAX UINT64_C(262144)
/* The least that a CPU's array may hold, so that neighbours come together. */
#define HELD_MIN UINT64_C(64)
/* Objects that a thread moves from its array at once, by way of a stack that may be small. */
#define PART 128u

static uint64_t backlog_of(size_t size)
{
	uint64_t n = BACKLOG_BYTES / size;

	return n < BACKLOG_MIN ? BACKLOG_MIN : n > BACKLOG_MAX ? BACKLOG_MAX : n;
}

/* The most objects in one CPU's array: those of all CPUs are a quarter of the backlog. */
static uint64_t most_held(uint64_t backlog)
{
	uint64_t n = backlog / 4 / cpu_possible();
	uint64_t room = cpu_array_room(true);

	room = room > RCU_ARRAY_MAX ? RCU_ARRAY_MAX : room;
	return n < HELD_MIN ? HELD_MIN : n > room ? room : n;
}

static void release(struct slab_cache *cache, struct slab *slab)
{
	struct cache_rcu *rcu = cache->rcu;
	unsigned phase;

	__atomic_fetch_add(&cache->memory.rcu_pending, 1, __ATOMIC_SEQ_CST);
	phase = rcu_enter_phase(rcu);
	rcu_push(&rcu->leaving[phase], slab, &slab->next);
	rcu_leave_phase(rcu, phase);
	rcu_arm(rcu);
}

static const struct cache_deferral deferral = {release, rcu_enter, rcu_leave};

struct cache_rcu *rcu_create(struct slab_cache *cache, const struct rcu_flavor_struct *flavor)
{
	struct cache_rcu *rcu = rcu_pool_take();
	char *arrays = rcu ? cpu_arrays_create(true) : NULL;

	if (!arrays) {
		if (rcu)
			rcu_pool_put(rcu);
		return NULL;
	}
	*rcu = (struct cache_rcu){
		.cache = cache,
		.flavor = flavor,
		.arrays = arrays,
		.backlog = backlog_of(cache->size),
	};
	cache->deferral = &deferral;
	cache->rcu_arrays = arrays;
	cache->rcu_max = most_held(rcu->backlog);
	return rcu;
}

bool rcu_is_flavor(const struct slab_cache *cache, const struct rcu_flavor_struct *flavor)
{
	return (cache->rcu ? cache->rcu->flavor : NULL) == flavor;
}

/* --- fork --------------------------------------------------------------------------------- */

/* Push each slab with waiting objects onto the stack of its phase. */
static void stack_again(struct slab *slab, void *arg)
{
	struct cache_rcu *rcu = arg;

	for (unsigned phase = 0; phase < 2; phase++) {
		const uint64_t *waiting = slab_waiting(slab, phase);
		unsigned n = 0;

		for (unsigned word = 0; word < map_words(slab->objects); word++)
			n += (unsigned)__builtin_popcountll(waiting[word]);
		*slab_next_waiting(slab, phase) = NULL;
		if (n)
			rcu_push(&rcu->slabs[phase], slab, slab_next_waiting(slab, phase));
		rcu->cache->memory.rcu_pending += n;
	}
}

static void count_again(struct cache_rcu *rcu)
{
	struct slab_cache *cache = rcu->cache;

	cache->memory.rcu_pending = 0;
	for (unsigned phase = 0; phase < 2; phase++) {
		rcu->slabs[phase] = NULL;
		for (struct slab *slab = rcu->leaving[phase]; slab && slab != RCU_END;
		     slab = slab->next)
			cache->memory.rcu_pending++;
	}
	cache_each_slab(cache, stack_again, rcu);
}

/*
 * The child cannot know whether the callback is still pending. So the old struct is left to that
 * callback, which frees it if it comes, and the next free queues another callback with a new
 * struct. Without memory for a new struct, the old one stays in use: if its callback was queued
 * but never comes, nothing is recycled in this child.
 */
static struct cache_rcu *leave_to_callback(struct cache_rcu *old)
{
	struct cache_rcu *rcu = rcu_pool_take();

	if (!rcu)
		return old;
	*rcu = *old;
	rcu->armed = 0;
	old->cache = NULL;
	old->driving = 0;
	return rcu;
}

/* The other threads of the parent stopped at any point and do not exist in the child. Objects
 * that they had taken are lost, as elsewhere (cache/fork.c); this function repairs the rest. */
void rcu_after_fork_child(struct slab_cache *cache)
{
	struct cache_rcu *rcu;

	if (!cache->rcu)
		return;
	rcu = leave_to_callback(cache->rcu);
	GUARD_STEP(fork_rcu_users, rcu->driving = rcu->taking = rcu->users[0] = rcu->users[1] = 0);
	rcu->forked = true;
	for (unsigned cpu = 0; cpu < cpu_possible(); cpu++)
		cpu_engine->open(rcu->arrays, (int)cpu);
	cache->rcu_arrays = rcu->arrays;
	cache->rcu = rcu;
	GUARD_STEP(fork_rcu_counts, count_again(rcu));
}

/* --- freeing -------------------------------------------------------------------------------- */

/* Move the objects of this CPU's array to the phase that collects. */
static SLAB_SLOWPATH void pass_on(struct slab_cache *cache, uint64_t *ret_pending,
				  struct put_bad *ret_bad)
{
	void *objs[PART];
	size_t n;

	if (!GUARD(rcu_pass_on_taking, rcu_begin_taking(cache->rcu)))
		return;
	for (uint64_t left = cache->rcu_max; left; left -= n) {
		n = cpu_engine->take(&cache->rcu_arrays, left < PART ? left : PART, objs);
		if (!n)
			break;
		*ret_pending = rcu_wait_for(cache->rcu, n, objs, ret_bad);
	}
	rcu_end_taking(cache->rcu);
}

/* The array of this CPU has refused an object. Arrays get their limit when they are first used, so
 * that those of unused CPUs take no memory. */
static void make_room(struct slab_cache *cache, int cpu, uint64_t *ret_pending,
		      struct put_bad *ret_bad)
{
	struct cpu_array *array = cpu_array(cache->rcu->arrays, cpu);

	if (cpu_array_limit(array) < cache->rcu_max)
		cpu_array_set_limit(array, (unsigned)cache->rcu_max);
	else if (cpu_array_count(array) >= cache->rcu_max)
		pass_on(cache, ret_pending, ret_bad);
}

/* While the arrays are closed, or other threads disturb this one all the time, objects go to the
 * phase one by one. */
static void add(struct slab_cache *cache, void *obj, uint64_t *ret_pending, struct put_bad *ret_bad)
{
	int cpu = cpu_engine->cpu();

	for (unsigned tries = 0; cpu >= 0 && tries < 8; cpu = cpu_engine->cpu(), tries++) {
		const enum cpu_result result = cpu_engine->push(&cache->rcu_arrays, obj);

		if (result == CPU_DONE)
			return;
		if (result == CPU_DOUBLE) {
			put_note(ret_bad, obj, PUT_FREE_ALREADY);
			return;
		}
		if (__atomic_load_n(&cache->rcu_arrays, __ATOMIC_RELAXED) != cache->rcu->arrays)
			break;
		make_room(cache, cpu, ret_pending, ret_bad);
	}
	*ret_pending = rcu_wait_for(cache->rcu, 1, &obj, ret_bad);
}

/* Is this a valid free? If not, report it. */
static bool may_wait(struct slab_cache *cache, void *obj, struct slab *slab, const void *caller)
{
	if (slab_user(slab) != cache || !cache->rcu) {
		report_bad_free_rcu(cache, obj, caller);
		return false;
	}
	if (slab_is_tagged(slab, SLAB_TAG_DEBUG))
		return debug_begin_waiting(cache, slab, obj, caller);
	if (SLAB_LIKELY(slab_is_object(cache, slab, obj)))
		return true;
	cache->checks->no_object(cache, obj, caller);
	return false;
}

/* Off the fast path: the CPU's array is full or new, or the free is unusual. */
static SLAB_SLOWPATH void free_slow(struct slab_cache *cache, void *obj, const void *caller)
{
	struct slab *slab = segment_known(obj) ? slab_of(obj) : &slab_none;
	struct put_bad bad = {0};
	uint64_t pending = 0;

	if (!may_wait(cache, obj, slab, caller))
		return;
	add(cache, obj, &pending, &bad);
	if (SLAB_UNLIKELY(bad.n))
		objects_report(cache, &bad,
			       bad.bad[put_listed(&bad) - 1].obj == obj ? caller : NULL);
	rcu_arm(cache->rcu);
	if (SLAB_UNLIKELY(pending > cache->rcu->backlog / 4))
		rcu_help(cache->rcu);
}

/* The array got an object. A driver finds it only if walks visit the row of this CPU. */
static inline void begin_waiting(struct slab_cache *cache)
{
	cpu_seen(cpu_rseq_number());
	rcu_arm(cache->rcu);
}

/* The fast path checks the pointer, so that a report names the caller. */
void slab_free_rcu(struct slab_cache *cache, void *obj)
{
	if (SLAB_UNLIKELY(!obj))
		return;
	if (SLAB_UNLIKELY(!slab_has_user(obj, cache)) ||
	    SLAB_UNLIKELY(!slab_is_object(cache, slab_of(obj), obj)) ||
	    SLAB_UNLIKELY(!rseq_push(&cache->rcu_arrays, obj, cpu_rseq_offset)))
		free_slow(cache, obj, __builtin_return_address(0));
	else
		begin_waiting(cache);
}
