/* SPDX-License-Identifier: MIT */
/*
 * slab_free_rcu(): frees that wait for a grace period.
 *
 * Each CPU collects freed objects in a LIFO of its own, beside the one that serves allocations. When
 * it is full, the thread sorts the objects by slab and links those of each slab in the slab's links[],
 * which lie apart from the objects (collect.c). So nothing is written to an object that a reader may
 * still use, and nothing has to be allocated: the free cannot fail. A cache keeps a stack of the slabs
 * that have such objects.
 *
 * All this exists twice, for two *phases*. One phase collects the objects that are freed now, the
 * other waits. A flip swaps them:
 *
 *   collect the CPUs' objects · flip · wait for a grace period · recycle the waiting phase
 *
 * An object is unreachable before it is freed, and the thread that frees it reads the phase after
 * that. So whenever the object arrives in the phase, the grace period that follows the next flip began
 * after the object had become unreachable.
 *
 * There are two drivers. One is a callback of the flavour's call_rcu(), which queues itself again
 * until nothing waits. The other is a thread that finds too many objects waiting and calls
 * synchronize_rcu(). `driving` is set while one of them flips or recycles, so a phase never
 * collects and recycles at the same time; waiting for it is bounded. The callback records the
 * phase in which it was queued, since a helper may have flipped in the meantime.
 *
 * The callback also collects the objects of idle CPUs. A thread adds an object to its LIFO first
 * and then checks whether a callback is pending. The callback clears that flag, fences all CPUs,
 * and checks the LIFOs again. So either the callback finds the object, or the thread finds no
 * callback pending and queues one.
 *
 * Slabs of type-safe caches wait in the same phases before their memory is released.
 */
#include "rcu/free_rcu.h"
#include "rseq.h"
#include "base/compiler.h"
#include "core/upcalls.h"
#include "core/slab.h"
#include "core/user_pointer.h"
#include "debug/debug_cache.h"
#include "rcu/grace_period.h"
#include "core/gate.h"

#include <errno.h>

/* Bytes of waiting objects before threads in read-side critical sections are delayed. Other
 * threads help from a quarter of this on. BACKLOG_MIN and _MAX bound the number of objects. */
#define BACKLOG_BYTES (UINT64_C(16) << 20)
#define BACKLOG_MIN UINT64_C(16384)
#define BACKLOG_MAX UINT64_C(262144)
/* The least that a CPU's LIFO may hold, so that there is something to sort. */
#define HELD_MIN UINT64_C(64)

static uint64_t backlog_of(size_t size)
{
	uint64_t n = BACKLOG_BYTES / size;

	return n < BACKLOG_MIN ? BACKLOG_MIN : n > BACKLOG_MAX ? BACKLOG_MAX : n;
}

/* The most objects in one CPU's LIFO: those of all CPUs are a quarter of the backlog. */
static uint64_t most_held(uint64_t backlog)
{
	uint64_t n = backlog / 4 / cpu_possible();

	return n < HELD_MIN ? HELD_MIN : n > CPU_LIFO_MAX ? CPU_LIFO_MAX : n;
}

static void retire(struct slab_cache *cache, struct slab *slab)
{
	struct cache_rcu *rcu = cache->rcu;
	unsigned phase;

	__atomic_fetch_add(&cache->memory.rcu_pending, 1, __ATOMIC_SEQ_CST);
	phase = __atomic_load_n(&rcu->phase, __ATOMIC_SEQ_CST) & 1;
	rcu_push(&rcu->retired[phase], slab, &slab->next);
	rcu_arm(rcu);
}

static const struct cache_deferral deferral = {retire, rcu_enter, rcu_leave};

struct cache_rcu *rcu_create(struct slab_cache *cache, const struct rcu_flavor_struct *flavor)
{
	struct cache_rcu *rcu = rcu_pool_take();
	char *slots = rcu ? slots_create() : NULL;

	if (!slots) {
		if (rcu)
			rcu_pool_put(rcu);
		return NULL;
	}
	*rcu = (struct cache_rcu){
		.cache = cache,
		.flavor = flavor,
		.slots = slots,
		.backlog = backlog_of(cache->size),
	};
	cache->deferral = &deferral;
	cache->rcu_lifos = cpu_slots_lifos(slots);
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
		if (!slab->waiting[phase])
			continue;
		rcu_push(&rcu->slabs[phase], slab, &slab->next_waiting[phase]);
		rcu->cache->memory.rcu_pending += RCU_COUNT(slab->waiting[phase]);
	}
}

static void count_again(struct cache_rcu *rcu)
{
	struct slab_cache *cache = rcu->cache;

	cache->memory.rcu_pending = 0;
	for (unsigned phase = 0; phase < 2; phase++) {
		rcu->slabs[phase] = NULL;
		for (struct slab *slab = rcu->retired[phase]; slab; slab = slab->next)
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
	rcu->driving = rcu->taking = 0;
	rcu->forked = true;
	for (unsigned cpu = 0; cpu < cpu_possible(); cpu++) {
		struct cpu_slot *slot = cpu_slot(rcu->slots, cpu);

		if (slot->closed)
			slot->closed = 0;
	}
	cache->rcu = rcu;
	count_again(rcu);
}

/* --- freeing -------------------------------------------------------------------------------- */

/* Move the CPU's LIFO to the phase that collects. */
static SLAB_SLOWPATH void pass_on(struct cache_rcu *rcu, int cpu, uint64_t *ret_pending)
{
	void *objs[CPU_LIFO_MAX];
	const size_t n = rcu->cache->rcu_max;

	if (!rcu_begin_taking(rcu))
		return;
	if (cpu_engine->lifo_take(rcu->slots, cpu, n, objs) == CPU_DONE)
		*ret_pending = rcu_wait_for(rcu, n, objs);
	rcu_end_taking(rcu);
}

/* Add an object to the CPU's LIFO. false: it is the newest already, a double free. */
static bool add(struct cache_rcu *rcu, void *obj, uint64_t *ret_pending)
{
	int cpu = cpu_engine->cpu();

	for (unsigned tries = 0; cpu >= 0 && tries < 8; cpu = cpu_engine->cpu(), tries++) {
		enum cpu_result result =
			cpu_engine->lifo_push(rcu->slots, cpu, obj, rcu->cache->rcu_max);

		if (result == CPU_DONE)
			return true;
		if (result == CPU_DOUBLE)
			return false;
		if (result == CPU_MISS)
			pass_on(rcu, cpu, ret_pending);
	}
	*ret_pending = rcu_wait_for(rcu, 1, &obj);
	return true;
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
	if (SLAB_LIKELY(slab_is_object(slab, obj)))
		return true;
	debug_report_interior(cache, slab, obj, caller);
	return false;
}

/* Off the fast path: the CPU's LIFO is full, or the free is unusual. */
static SLAB_SLOWPATH void free_slow(struct slab_cache *cache, void *obj, const void *caller)
{
	struct slab *slab = segment_known(obj) ? slab_of(obj) : &slab_none;
	uint64_t pending = 0;

	if (!may_wait(cache, obj, slab, caller))
		return;
	if (!add(cache->rcu, obj, &pending)) {
		debug_report_double_free(cache, slab, obj, caller);
		return;
	}
	rcu_arm(cache->rcu);
	if (SLAB_UNLIKELY(pending > cache->rcu->backlog / 4))
		rcu_help(cache->rcu);
}

/* The LIFO got an object. A driver finds it only if walks visit the row of this CPU. */
static inline void begin_waiting(struct slab_cache *cache)
{
	cpu_seen(cpu_rseq_number());
	rcu_arm(cache->rcu);
}

/* The fast path checks the pointer, so that a report names the caller. */
void slab_free_rcu(struct slab_cache *cache, void *obj)
{
	struct slab *slab;
	bool other;

	if (SLAB_UNLIKELY(!obj))
		return;
	slab = slab_of_user(obj, cache, &other);
	if (SLAB_UNLIKELY(other) || SLAB_UNLIKELY(!slab_is_object(slab, obj)) ||
	    SLAB_UNLIKELY(!rseq_push(&cache->rcu_lifos, obj, cpu_rseq_offset)))
		free_slow(cache, obj, __builtin_return_address(0));
	else
		begin_waiting(cache);
}
