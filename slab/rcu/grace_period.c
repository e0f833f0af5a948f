/* SPDX-License-Identifier: MIT */
/*
 * Phases: objects and slabs that wait for a grace period, the drivers that wait for it, and
 * recycling. The theory is at the head of free_rcu.c.
 */
#include "rcu/grace_period.h"
#include "base/cancel.h"
#include "base/compiler.h"
#include "base/error.h"
#include "percpu/refill.h"
#include "core/slab.h"
#include "debug/debug_cache.h"

#include <errno.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define HOLD_UP_NS 100000L
/* Two rounds of a callback take 20 ms and two grace periods. */
#define MOMENT_NS 60000000L
/* Grace periods in a row that a callback waits for. */
#define CATCH_UP 64u

/* This thread recycles: what destructors free meanwhile need not wait for it. */
static __thread bool recycles;

/* --- the stacks of slabs ---------------------------------------------------------- */

void rcu_push(struct slab **stack, struct slab *slab, struct slab **next)
{
	struct slab *head = __atomic_load_n(stack, __ATOMIC_RELAXED);

	do
		__atomic_store_n(next, head, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(stack, &head, slab, true, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED));
}

/* The whole stack: no thread ever pops a single slab. */
static struct slab *take_all(struct slab **stack)
{
	if (!__atomic_load_n(stack, __ATOMIC_RELAXED))
		return NULL;
	return __atomic_exchange_n(stack, NULL, __ATOMIC_ACQUIRE);
}

/* --- into the phase ------------------------------------------------------------------ */

/* A batch in front of what waits already. */
static uint64_t add_batch(struct slab *slab, const struct cpu_batch *batch, uint64_t waiting)
{
	unsigned first = slab_link_batch(slab, batch->count, batch->offset8, RCU_FIRST(waiting));
	unsigned last = RCU_LAST(waiting);

	if (!last)
		last = cpu_slab_index(&slab->cpu, batch->offset8[0]) + 1;
	return first | last << 16 | (uint64_t)(RCU_COUNT(waiting) + batch->count) << 32;
}

uint64_t rcu_wait_for(struct cache_rcu *rcu, const struct cpu_batch *batch)
{
	struct slab *slab = slab_from_cpu(batch->slab);
	/* In this order on all machines: freed, and only then the phase is read. */
	uint64_t pending =
		__atomic_add_fetch(&rcu->cache->memory.rcu_pending, batch->count, __ATOMIC_SEQ_CST);
	unsigned phase = __atomic_load_n(&rcu->phase, __ATOMIC_ACQUIRE) & 1;
	uint64_t waiting = __atomic_load_n(&slab->waiting[phase], __ATOMIC_RELAXED), value;

	do
		value = add_batch(slab, batch, waiting);
	while (!__atomic_compare_exchange_n(&slab->waiting[phase], &waiting, value, true,
					    __ATOMIC_RELEASE, __ATOMIC_RELAXED));
	if (!waiting)
		rcu_push(&rcu->slabs[phase], slab, &slab->next_waiting[phase]);
	return pending;
}

/* The CPUs' batches join what waits. By the driver. */
static void collect(struct cache_rcu *rcu)
{
	struct cpu_batch batch;
	bool found = false;

	for (unsigned cpu = 0; cpu < cpu_possible(); cpu++) {
		struct cpu_slot *slot = cpu_slot(rcu->slots, cpu);

		if (!__atomic_load_n(&slot->remote_batch, __ATOMIC_RELAXED))
			continue;
		__atomic_store_n(&slot->closed, 1, __ATOMIC_SEQ_CST);
		found = true;
	}
	if (!found)
		return;
	cpu_engine->fence(rcu->slots);
	for (unsigned cpu = 0; cpu < cpu_possible(); cpu++) {
		struct cpu_slot *slot = cpu_slot(rcu->slots, cpu);

		if (!__atomic_load_n(&slot->closed, __ATOMIC_RELAXED))
			continue;
		slot_take_remote_batch(slot, &batch);
		if (batch.count)
			rcu_wait_for(rcu, &batch);
	}
	/* No thread reads the old word once the slot is open again. */
	cpu_engine->fence(rcu->slots);
	for (unsigned cpu = 0; cpu < cpu_possible(); cpu++) {
		struct cpu_slot *slot = cpu_slot(rcu->slots, cpu);

		if (__atomic_load_n(&slot->closed, __ATOMIC_RELAXED))
			__atomic_store_n(&slot->closed, 0, __ATOMIC_RELEASE);
	}
}

/* --- out of it ------------------------------------------------------------------------ */

static void free_waited(struct slab_cache *cache, struct slab *slab, unsigned index)
{
	char *obj = slab->cpu.base + index * slab_size(slab);
	uint16_t offset8;

	while (slab_is_tagged(slab, SLAB_TAG_DEBUG))
		if (debug_free_waited(cache, slab, index))
			return;
	slab_clear_freed(slab, obj);
	offset8 = cpu_slab_offset8(&slab->cpu, obj);
	slab_free_remote(cache, slab, 1, &offset8);
}

/* Objects of slabs that frees treat specially: one by one, as they would be freed. */
static void free_singly(struct slab_cache *cache, struct slab *slab, uint64_t waiting)
{
	unsigned i = RCU_FIRST(waiting);

	for (unsigned left = RCU_COUNT(waiting); i && left; left--) {
		unsigned next = __atomic_load_n(&slab->links[i - 1], __ATOMIC_RELAXED);

		free_waited(cache, slab, i - 1);
		i = next;
	}
}

/* A chain of freed objects is what a slab's remote word holds, too. */
static void free_chain(struct slab_cache *cache, struct slab *slab, uint64_t waiting)
{
	if (slab_is_tagged(slab, SLAB_TAGS))
		free_singly(cache, slab, waiting);
	else
		slab_free_chain(cache, slab, RCU_FIRST(waiting), RCU_LAST(waiting),
				RCU_COUNT(waiting));
}

/* The grace period of this phase is over. By the driver. */
static void recycle(struct cache_rcu *rcu, unsigned phase)
{
	struct slab_cache *cache = rcu->cache;
	struct slab *slab = take_all(&rcu->slabs[phase]), *next;
	struct slab *retired = take_all(&rcu->retired[phase]);
	uint64_t objects = 0, slabs = 0;

	recycles = true;
	for (; slab; slab = next) {
		uint64_t waiting;

		/* From the exchange on, other threads may put it on the stack again. */
		next = __atomic_load_n(&slab->next_waiting[phase], __ATOMIC_RELAXED);
		waiting = __atomic_exchange_n(&slab->waiting[phase], 0, __ATOMIC_ACQ_REL);
		free_chain(cache, slab, waiting);
		objects += RCU_COUNT(waiting);
	}
	for (; retired; retired = next, slabs++) {
		next = retired->next;
		debug_slab_release_now(cache, retired);
	}
	recycles = false;
	__atomic_fetch_add(&cache->memory.rcu_freed, objects, __ATOMIC_RELAXED);
	__atomic_fetch_sub(&cache->memory.rcu_pending, objects + slabs, __ATOMIC_RELEASE);
}

static bool something_waits(const struct cache_rcu *rcu, unsigned phase)
{
	return __atomic_load_n(&rcu->slabs[phase], __ATOMIC_RELAXED) ||
	       __atomic_load_n(&rcu->retired[phase], __ATOMIC_RELAXED);
}

/* Is there anything in the phase that collects? Then it waits from now on, and the
 * other one, which is empty, takes in. By the driver. */
static bool flip_phase(struct cache_rcu *rcu)
{
	collect(rcu);
	if (!something_waits(rcu, rcu->phase & 1))
		return false;
	__atomic_store_n(&rcu->phase, rcu->phase + 1, __ATOMIC_SEQ_CST);
	return true;
}

/* --- driving: grace periods ---------------------------------------------------------- */

/* A grace period, and what waited for it. By the driver. */
static void synchronize(struct cache_rcu *rcu)
{
	int cancel = cancel_disable();

	rcu->flavor->update_synchronize_rcu();
	cancel_restore(cancel);
	recycle(rcu, ~rcu->phase & 1);
}

/* One for as much as possible. false: nothing waits. By the driver. */
static bool grace_period(struct cache_rcu *rcu)
{
	if (!something_waits(rcu, ~rcu->phase & 1) && !flip_phase(rcu))
		return false;
	synchronize(rcu);
	return true;
}

/* --- driving: the callback -------------------------------------------------------------- */

static bool start_driving(struct cache_rcu *rcu)
{
	uint32_t idle = 0;

	return __atomic_compare_exchange_n(&rcu->driving, &idle, 1, false, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

static void stop_driving(struct cache_rcu *rcu)
{
	__atomic_store_n(&rcu->driving, 0, __ATOMIC_RELEASE);
}

static void callback(struct rcu_head *head);

void rcu_call(struct cache_rcu *rcu)
{
	const struct rcu_flavor_struct *entered = rcu_enter_flavor(rcu->flavor);
	int cancel = cancel_disable();

	__atomic_store_n(&rcu->armed_phase, __atomic_load_n(&rcu->phase, __ATOMIC_RELAXED),
			 __ATOMIC_RELEASE);
	rcu->flavor->update_call_rcu(&rcu->head, callback);
	cancel_restore(cancel);
	rcu_leave(entered);
}

static bool is_batched(const struct cache_rcu *rcu)
{
	for (unsigned cpu = 0; cpu < cpu_possible(); cpu++)
		if (__atomic_load_n(&cpu_slot(rcu->slots, cpu)->remote_batch, __ATOMIC_RELAXED))
			return true;
	return false;
}

/* No callback any more, unless something arrived that has not seen that. By the driver:
 * rcu_destroy() may give all this to another cache as soon as there is no driver. */
static void disarm(struct cache_rcu *rcu)
{
	__atomic_store_n(&rcu->armed, 0, __ATOMIC_SEQ_CST);
	cpu_engine->fence(rcu->slots);
	if (__atomic_load_n(&rcu->cache->memory.rcu_pending, __ATOMIC_SEQ_CST) || is_batched(rcu))
		rcu_arm(rcu);
}

/*
 * The flavour's thread looks for callbacks every 10 ms only, and threads that free within
 * sections cannot help. If such a thread was held up, one grace period follows another, but
 * not without end: other users of the flavour have callbacks, too. By the driver.
 */
static void catch_up(struct cache_rcu *rcu)
{
	if (!__atomic_exchange_n(&rcu->held_up, false, __ATOMIC_RELAXED))
		return;
	for (unsigned n = 0; n < CATCH_UP && grace_period(rcu); n++)
		;
}

static void callback(struct rcu_head *head)
{
	struct cache_rcu *rcu = (struct cache_rcu *)head; /* its first member */
	uint64_t phase = __atomic_load_n(&rcu->armed_phase, __ATOMIC_ACQUIRE);

	/* A helper is at it, or rcu_destroy(). */
	if (!start_driving(rcu)) {
		rcu_call(rcu);
		return;
	}
	if (!rcu->cache) {
		rcu_pool_put(rcu);
		return;
	}

	unsigned waits = ~rcu->phase & 1;

	__atomic_store_n(&rcu->forked, false, __ATOMIC_RELAXED);
	if (phase == rcu->phase)
		recycle(rcu, waits);
	catch_up(rcu);
	waits = ~rcu->phase & 1;
	if (something_waits(rcu, waits) || flip_phase(rcu))
		rcu_call(rcu);
	else
		disarm(rcu);
	stop_driving(rcu);
}

/* --- driving: helpers ---------------------------------------------------------------------- */

static void hold_up(void)
{
	const struct timespec time = {.tv_nsec = HOLD_UP_NS};

	syscall(SYS_nanosleep, &time, NULL); /* no cancellation point */
}

static bool is_too_much(const struct cache_rcu *rcu)
{
	return __atomic_load_n(&rcu->cache->memory.rcu_pending, __ATOMIC_RELAXED) > rcu->backlog;
}

/* false: another thread drives. */
static bool drive(struct cache_rcu *rcu)
{
	if (!start_driving(rcu))
		return false;
	grace_period(rcu);
	stop_driving(rcu);
	return true;
}

/*
 * Much waits, or too much: then only threads within sections add to it.
 *
 * Not in a child before its first callback came: a flavour whose hooks were not called
 * around fork() may have a lock there that is never released.
 */
SLAB_SLOWPATH void rcu_help(struct cache_rcu *rcu)
{
	bool helped = false;

	if (recycles || __atomic_load_n(&rcu->forked, __ATOMIC_RELAXED))
		return;
	if (rcu->flavor->read_ongoing()) {
		if (!is_too_much(rcu))
			return;
		__atomic_store_n(&rcu->held_up, true, __ATOMIC_RELAXED);
		hold_up();
	} else {
		while (!(helped = drive(rcu)) && is_too_much(rcu))
			hold_up();
		if (!helped)
			return;
	}
	__atomic_fetch_add(&rcu->cache->memory.rcu_helped, 1, __ATOMIC_RELAXED);
}

/*
 * Not with synchronize_rcu(): a thread that allocates may hold a lock that a reader waits for
 * within its section, and the grace period would never end.
 */
void rcu_wait_a_moment(struct slab_cache *cache)
{
	struct cache_rcu *rcu = cache->rcu;

	if (!rcu || recycles || rcu->flavor->read_ongoing())
		return;
	for (unsigned n = 0; n < MOMENT_NS / HOLD_UP_NS; n++) {
		if (!__atomic_load_n(&cache->memory.rcu_pending, __ATOMIC_ACQUIRE) &&
		    !is_batched(rcu))
			break;
		hold_up();
	}
}

/* In the qsbr flavour a thread that is online is within a section, so to speak. */
static int leave_section(const struct rcu_flavor_struct *flavor, bool *ret_online)
{
	*ret_online = flavor->read_ongoing();
	if (!*ret_online)
		return 0;
	flavor->thread_offline();
	if (!flavor->read_ongoing())
		return 0;
	return with_errno(-EDEADLK);
}

int rcu_drain(struct slab_cache *cache)
{
	struct cache_rcu *rcu = cache->rcu;
	bool online;
	int error = leave_section(rcu->flavor, &online);

	if (error)
		return error;
	while (!start_driving(rcu))
		hold_up();
	synchronize(rcu);
	/* Batches are in a slot, or a thread is handing them over. */
	collect(rcu);
	while (__atomic_load_n(&rcu->taking, __ATOMIC_SEQ_CST))
		sched_yield();
	if (flip_phase(rcu))
		synchronize(rcu);
	stop_driving(rcu);
	if (online)
		rcu->flavor->thread_online();
	return 0;
}

int slab_rcu_barrier(struct slab_cache *cache)
{
	if (!cache || cache->magic != CACHE_MAGIC || !cache->rcu)
		return with_errno(-EINVAL);
	return rcu_drain(cache);
}

void rcu_stop(struct cache_rcu *rcu)
{
	while (!start_driving(rcu))
		hold_up();
}

void rcu_destroy(struct cache_rcu *rcu)
{
	cpu_slots_destroy(rcu->slots);
	rcu->cache = NULL;
	if (__atomic_load_n(&rcu->armed, __ATOMIC_ACQUIRE))
		stop_driving(rcu); /* the callback has the rest */
	else
		rcu_pool_put(rcu);
}
