/* SPDX-License-Identifier: MIT */
/*
 * Frees that wait for a grace period.
 *
 * Freed objects are collected in batches, as remote frees are (free_slow.c), in slots of
 * their own: 16-bit offsets of one slab. A batch is then linked in the
 * slab's links[], which stand apart from the objects: nothing is written where a
 * reader may look, and nothing has to be allocated, so a free that waits cannot fail.
 * A cache keeps a stack of the slabs that have such objects.
 *
 * All this exists twice, for two *phases*. One phase collects what is freed now, the other
 * waits. To flip is to swap them:
 *
 *   collect the CPUs' batches · flip · a grace period · recycle what waited
 *
 * An object is unreachable before it is freed, and the thread that frees it reads the phase
 * after that; so whenever its batch arrives, the grace period that follows the next flip
 * began after the object had become unreachable.
 *
 * Two drivers: a callback of the flavour's call_rcu(), one for all that waits, again and
 * again until nothing is left; and a thread that finds too much waiting, with
 * synchronize_rcu(). `driving` is set while one of them flips or recycles, so that a phase
 * never collects and recycles at the same time; waiting for it is bounded. The callback
 * records the phase that it is for, since a helper may have flipped meanwhile.
 *
 * The callback collects objects in batches of idle CPUs. A thread checks whether a callback
 * is pending after it added to its batch; the callback clears that flag, fences all CPUs,
 * and looks at the batches once more: either it finds the object, or the thread that
 * batched it finds no callback pending and queues one.
 *
 * Slabs of type-safe caches wait the same way before their memory goes.
 */
#include "rcu/free_rcu.h"
#include "rseq.h"
#include "base/compiler.h"
#include "core/upcalls.h"
#include "core/slab.h"
#include "debug/debug_cache.h"
#include "rcu/grace_period.h"
#include "registry/gate.h"

#include <errno.h>

/* What may wait before producers are held up; a quarter of it before they help. */
#define BACKLOG_BYTES (UINT64_C(16) << 20)
#define BACKLOG_MIN UINT64_C(16384)
#define BACKLOG_MAX UINT64_C(262144)

static uint64_t backlog_of(size_t size)
{
	uint64_t n = BACKLOG_BYTES / size;

	return n < BACKLOG_MIN ? BACKLOG_MIN : n > BACKLOG_MAX ? BACKLOG_MAX : n;
}

static void retire(struct slab_cache *cache, struct slab *slab)
{
	struct cache_rcu *rcu = cache->rcu;
	unsigned phase;

	__atomic_fetch_add(&cache->memory.rcu_pending, 1, __ATOMIC_SEQ_CST);
	phase = __atomic_load_n(&rcu->phase, __ATOMIC_ACQUIRE) & 1;
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
	return rcu;
}

char *rcu_slots(const struct cache_rcu *rcu)
{
	return rcu->slots;
}

/* --- fork --------------------------------------------------------------------------------- */

/* Every slab that has objects waiting is on its phase's stack again. */
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
 * Whether the callback is under way is not known: so it gets a struct of its own, which it
 * returns if it comes, and the next free queues another. When there is no memory, the
 * struct is used again: if then a callback was queued that never comes, nothing is
 * recycled.
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

/* Other threads were stopped anywhere, and are not there. What they had isolated is lost,
 * as everywhere; the rest is put in order. */
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

/* This CPU's batch waits from now on. */
static void pass_on(struct cache_rcu *rcu, int cpu, uint64_t *ret_pending)
{
	struct cpu_batch batch;

	__atomic_fetch_add(&rcu->taking, 1, __ATOMIC_SEQ_CST);
	if (cpu_engine->batch_take(rcu->slots, cpu, &batch) == CPU_DONE)
		*ret_pending = rcu_wait_for(rcu, &batch);
	__atomic_fetch_sub(&rcu->taking, 1, __ATOMIC_RELEASE);
}

/* false: it was given to us a moment ago. */
static bool batch_add(struct cache_rcu *rcu, struct slab *slab, uint16_t offset8,
		      uint64_t *ret_pending)
{
	int cpu = cpu_engine->cpu();
	struct cpu_batch batch;

	for (unsigned tries = 0; cpu >= 0 && tries < 8; cpu = cpu_engine->cpu(), tries++) {
		enum cpu_result result =
			cpu_engine->batch_add(rcu->slots, cpu, &slab->cpu, offset8);

		if (result == CPU_DONE)
			return true;
		if (result == CPU_DOUBLE)
			return false;
		if (result == CPU_MISS)
			pass_on(rcu, cpu, ret_pending);
	}
	batch = (struct cpu_batch){.slab = &slab->cpu, .count = 1, .offset8 = {offset8}};
	*ret_pending = rcu_wait_for(rcu, &batch);
	return true;
}

/* Can this be freed at all? Reports why not. */
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

/* Another slab's object than the last one, a full buffer, and all that is unusual. */
static SLAB_SLOWPATH void free_slow(struct slab_cache *cache, void *obj, const void *caller)
{
	struct slab *slab = segment_known(obj) ? slab_of(obj) : &slab_none;
	uint64_t pending = 0;

	if (!may_wait(cache, obj, slab, caller))
		return;
	if (!batch_add(cache->rcu, slab, cpu_slab_offset8(&slab->cpu, obj), &pending)) {
		debug_report_double_free(cache, slab, obj, caller);
		return;
	}
	rcu_arm(cache->rcu);
	if (SLAB_UNLIKELY(pending > cache->rcu->backlog / 4))
		rcu_help(cache->rcu);
}

/* The remote batch holds offsets, each of which leads to some object: so the pointer is
 * checked here. */
void slab_free_rcu(struct slab_cache *cache, void *obj)
{
	struct slab *slab;

	if (SLAB_UNLIKELY(!obj))
		return;
	slab = SLAB_LIKELY(segment_known(obj)) ? slab_of(obj) : &slab_none;
	if (SLAB_LIKELY(__atomic_load_n(&slab->cpu.user, __ATOMIC_RELAXED) == cache) &&
	    SLAB_LIKELY(slab_is_object(slab, obj)) &&
	    SLAB_LIKELY(rseq_batch_add(&cache->rcu_slots, &slab->cpu, obj, cpu_rseq_offset)))
		rcu_arm(cache->rcu);
	else
		free_slow(cache, obj, __builtin_return_address(0));
}
