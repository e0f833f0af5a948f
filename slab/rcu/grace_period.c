/* SPDX-License-Identifier: MIT */
/*
 * Phases: the objects and slabs that wait for a grace period, the drivers that wait for it, and
 * recycling. A thread flips or recycles only while it has set `driving`; comments call it the
 * driver. free_rcu.c describes the protocol.
 */
#include "rcu/grace_period.h"
#include "base/cancel.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/probe.h"
#include "debug/debug_cache.h"
#include "pages/idle.h"

#define HOLD_UP_NS 100000L
/* If too many objects wait, a thread within a section is delayed once for every 128 that it
 * adds. */
#define HELD_UP_FOR 128u
/* The most time of rcu_wait_a_moment(): two rounds of a callback take 20 ms and two grace
 * periods. */
#define MOMENT_NS 60000000L
#define FORK_WAIT_NS 1000000000L
/* The most grace periods in a row that a callback waits for. */
#define CATCH_UP 64u

/* How long a driver waits for threads that add to the phase. */
#define USERS_WAIT_NS 1000000L

/* This thread is the driver and recycles. Frees by destructors must not make it wait. */
static __thread bool recycles;

static void hold_up(void)
{
	clock_sleep(HOLD_UP_NS);
}

/* Take a whole stack. No thread pops a single slab, so there is no ABA problem. */
static struct slab *take_all(struct slab **stack)
{
	if (!__atomic_load_n(stack, __ATOMIC_RELAXED))
		return RCU_END;
	return __atomic_exchange_n(stack, NULL, __ATOMIC_ACQUIRE);
}

/* --- recycling ------------------------------------------------------------------------ */

/* Free an object of a debug or legacy slab. false: the slab is an ordinary one now. */
static bool free_checked(struct slab_cache *cache, struct slab *slab, unsigned index)
{
	while (slab_is_tagged(slab, SLAB_TAG_DEBUG))
		if (debug_free_waited(cache, slab, index))
			return true;
	return false;
}

/* Free the objects of a tagged slab one by one. Returns the bits of those that are left, to be set
 * as in an ordinary slab. */
static uint64_t free_singly(struct slab_cache *cache, struct slab *slab, unsigned word,
			    uint64_t bits)
{
	uint64_t left = 0;

	for (; bits; bits &= bits - 1) {
		const unsigned index = word * 64 + (unsigned)__builtin_ctzll(bits);

		if (free_checked(cache, slab, index))
			continue;
		slab_clear_freed(slab, slab_object(cache, slab, index));
		left |= bits & -bits;
	}
	return left;
}

/* Free the objects of one word. They keep the slab, which may be gone afterwards. */
static void free_word(struct slab_cache *cache, struct slab *slab, unsigned word, uint64_t bits,
		      struct put_bad *bad)
{
	const char *base = slab->base;
	uint64_t twice;

	if (slab_is_tagged(slab, SLAB_TAGS))
		bits = free_singly(cache, slab, word, bits);
	twice = bits ? objects_put_bits(cache, slab, word, bits) : 0;
	for (; SLAB_UNLIKELY(twice); twice &= twice - 1)
		put_note(bad,
			 (char *)base +
				 (word * 64 + (unsigned)__builtin_ctzll(twice)) * cache->size,
			 PUT_FREE_ALREADY);
}

/* Free the waiting objects of a slab; returns their number. The objects of a word are freed when
 * the next word with objects was read: these keep the slab. */
static unsigned free_slab(struct slab_cache *cache, struct slab *slab, unsigned phase,
			  struct put_bad *bad)
{
	uint64_t *waiting = slab_waiting(slab, phase), held = 0;
	const unsigned words = map_words(slab->objects);
	unsigned held_word = 0, objects = 0;

	__atomic_store_n(slab_next_waiting(slab, phase), NULL, __ATOMIC_RELAXED);
	for (unsigned word = 0; word < words; word++) {
		uint64_t bits = __atomic_exchange_n(&waiting[word], 0, __ATOMIC_ACQ_REL);

		if (!bits)
			continue;
		if (held)
			free_word(cache, slab, held_word, held, bad);
		held = bits;
		held_word = word;
		objects += (unsigned)__builtin_popcountll(bits);
	}
	if (held)
		free_word(cache, slab, held_word, held, bad);
	return objects;
}

static uint64_t free_objects(struct slab_cache *cache, unsigned phase)
{
	struct slab *slab = take_all(&cache->rcu->slabs[phase]), *next;
	struct put_bad bad = {0};
	uint64_t objects = 0;

	for (; slab != RCU_END; slab = next) {
		next = __atomic_load_n(slab_next_waiting(slab, phase), __ATOMIC_RELAXED);
		objects += free_slab(cache, slab, phase, &bad);
	}
	if (objects)
		shard_each (shard, cache)
			shard_trim(cache, shard);
	if (SLAB_UNLIKELY(bad.n))
		objects_report(cache, &bad, NULL);
	return objects;
}

static uint64_t free_slabs(struct slab_cache *cache, unsigned phase)
{
	struct slab *slab = take_all(&cache->rcu->leaving[phase]), *next;
	uint64_t slabs = 0;

	for (; slab != RCU_END; slab = next, slabs++) {
		next = slab->next;
		slab_release_now(cache, slab);
	}
	return slabs;
}

/* Wait, for a moment, until no thread adds to a phase. A preempted thread may take longer. */
static bool users_left(const struct cache_rcu *rcu, unsigned phase)
{
	for (unsigned n = 0; n < USERS_WAIT_NS / HOLD_UP_NS; n++) {
		if (GUARD(rcu_users_awaited,
			  !__atomic_load_n(&rcu->users[phase], __ATOMIC_SEQ_CST)))
			return true;
		hold_up();
	}
	return false;
}

/* The grace period of this phase has ended: free its objects and slabs. false: a thread still adds
 * to the phase, so it waits for another grace period. Called by the driver. */
static bool recycle(struct cache_rcu *rcu, unsigned phase)
{
	struct slab_cache *cache = rcu->cache;
	uint64_t objects, slabs;

	if (!users_left(rcu, phase))
		return false;
	SLAB_PROBE(rcu_grace_end, cache->name, cache, phase);
	recycles = true;
	objects = free_objects(cache, phase);
	slabs = free_slabs(cache, phase);
	recycles = false;
	idle_kick();
	SLAB_PROBE(rcu_free, cache->name, cache, objects, slabs);
	__atomic_fetch_add(&cache->memory.rcu_freed, objects, __ATOMIC_RELAXED);
	__atomic_fetch_sub(&cache->memory.rcu_pending, objects + slabs, __ATOMIC_RELEASE);
	return true;
}

/* A thread that adds may have linked a slab and not pushed it yet. Others that free objects of that
 * slab return nevertheless. */
static bool something_waits(const struct cache_rcu *rcu, unsigned phase)
{
	return __atomic_load_n(&rcu->slabs[phase], __ATOMIC_RELAXED) ||
	       __atomic_load_n(&rcu->leaving[phase], __ATOMIC_RELAXED) ||
	       GUARD_AGAINST(rcu_users_wait, __atomic_load_n(&rcu->users[phase], __ATOMIC_SEQ_CST));
}

/* If the collecting phase has anything, flip: it waits from now on, and the other phase, which is
 * empty, collects. Called by the driver. */
static bool flip_phase(struct cache_rcu *rcu)
{
	GUARD_STEP(rcu_flip_collects, rcu_collect(rcu));
	if (!something_waits(rcu, rcu->phase & 1))
		return false;
	SLAB_PROBE(rcu_grace_begin, rcu->cache->name, rcu->cache, (unsigned)rcu->phase & 1);
	__atomic_store_n(&rcu->phase, rcu->phase + 1, __ATOMIC_SEQ_CST);
	cpu_inject(CPU_INJECT_PHASE_FLIPPED);
	return true;
}

/* --- driving: grace periods ---------------------------------------------------------- */

/* Wait for a grace period, and recycle the phase that waited for it; false as recycle(). Called by
 * the driver. */
static bool synchronize(struct cache_rcu *rcu)
{
	int cancel = cancel_disable();

	GUARD_STEP(rcu_synchronizes, rcu_functions(rcu->flavor)->update_synchronize_rcu());
	cancel_restore(cancel);
	return recycle(rcu, ~rcu->phase & 1);
}

/* Wait for one grace period, after a flip if necessary. false: nothing waits. Called by the
 * driver. */
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

	return GUARD(rcu_driving, __atomic_compare_exchange_n(&rcu->driving, &idle, 1, false,
							      __ATOMIC_ACQUIRE, __ATOMIC_RELAXED));
}

static void stop_driving(struct cache_rcu *rcu)
{
	__atomic_store_n(&rcu->driving, 0, __ATOMIC_RELEASE);
}

static void callback(struct rcu_callback *called);

void rcu_call(struct cache_rcu *rcu)
{
	const struct rcu_flavor_struct *entered = rcu_enter_flavor(rcu->flavor);
	int cancel = cancel_disable();

	rcu_functions(rcu->flavor)->update_call_rcu(&rcu->callback, callback);
	cancel_restore(cancel);
	rcu_leave(entered);
}

/* Declare that no callback is pending, and queue one if a thread freed an object before it could
 * see that. Without a fence, a callback could not take what CPUs hold. Called by the driver, since
 * rcu_destroy() may free the struct as soon as there is no driver. */
static void disarm(struct cache_rcu *rcu)
{
	bool fenced;

	__atomic_store_n(&rcu->armed, 0, __ATOMIC_SEQ_CST);
	fenced = GUARD(rcu_disarm_fence, cpu_engine->fence());
	if (GUARD_AGAINST(rcu_disarm_pending,
			  __atomic_load_n(&rcu->cache->memory.rcu_pending, __ATOMIC_SEQ_CST)) ||
	    (fenced && GUARD_AGAINST(rcu_disarm_holds, rcu_cpus_hold(rcu))))
		rcu_arm(rcu);
}

/*
 * The flavour's thread looks for callbacks only every 10 ms, and threads that free within
 * read-side critical sections cannot help. If such a thread was delayed, the callback waits for
 * several grace periods in a row. Their number is bounded, since other users of the flavour have
 * callbacks, too. Called by the driver.
 */
static void catch_up(struct cache_rcu *rcu)
{
	if (!__atomic_exchange_n(&rcu->held_up, false, __ATOMIC_RELAXED))
		return;
	for (unsigned n = 0; n < CATCH_UP && grace_period(rcu); n++)
		;
}

static void callback(struct rcu_callback *called)
{
	struct cache_rcu *rcu = (struct cache_rcu *)called; /* its first member */

	/* It comes after rcu_arm(): liburcu sees to that, but ThreadSanitizer does not see it. */
	(void)__atomic_load_n(&rcu->armed, __ATOMIC_ACQUIRE);
	/* A helper drives, or rcu_stop() was called. */
	if (!GUARD(rcu_callback_drives, start_driving(rcu))) {
		rcu_call(rcu);
		return;
	}
	if (GUARD_AGAINST(rcu_callback_cache, !rcu->cache)) {
		rcu_pool_put(rcu);
		return;
	}
	__atomic_store_n(&rcu->forked, false, __ATOMIC_RELAXED);
	recycle(rcu, ~rcu->phase & 1);
	catch_up(rcu);
	if (something_waits(rcu, ~rcu->phase & 1) || flip_phase(rcu))
		rcu_call(rcu);
	else
		disarm(rcu);
	stop_driving(rcu);
}

/* --- driving: helpers ---------------------------------------------------------------------- */

static bool is_too_much(const struct cache_rcu *rcu)
{
	return __atomic_load_n(&rcu->cache->memory.rcu_pending, __ATOMIC_RELAXED) > rcu->backlog;
}

/* Wait for one grace period as the driver; false: another thread drives. */
static bool drive(struct cache_rcu *rcu)
{
	if (!start_driving(rcu))
		return false;
	grace_period(rcu);
	stop_driving(rcu);
	return true;
}

/*
 * The caller found many objects waiting. Outside of read-side critical sections the thread
 * helps. If more than `backlog` wait, it does not return before a grace period or before their
 * number has fallen, so that only threads within sections can add more.
 *
 * In the child of a fork, no thread helps before the first callback came: if the flavour's fork
 * hooks were not called, a lock of the flavour may be locked for ever.
 */
SLAB_SLOWPATH void rcu_help(struct cache_rcu *rcu)
{
	bool helped = false;

	if (recycles || __atomic_load_n(&rcu->forked, __ATOMIC_RELAXED))
		return;
	if (rcu_functions(rcu->flavor)->read_ongoing()) {
		if (!is_too_much(rcu))
			return;
		__atomic_store_n(&rcu->held_up, true, __ATOMIC_RELAXED);
		for (uint64_t n = 0; n < rcu->cache->rcu_max && is_too_much(rcu); n += HELD_UP_FOR)
			hold_up();
	} else {
		while (!(helped = drive(rcu)) && is_too_much(rcu))
			hold_up();
		if (!helped)
			return;
	}
	__atomic_fetch_add(&rcu->cache->memory.rcu_helped, 1, __ATOMIC_RELAXED);
}

/* An object goes from an array to a thread that takes it, and then it is pending: in this order of
 * looks, which loads that acquire keep, none is passed over. */
bool rcu_has_waiting(const struct slab_cache *cache)
{
	return rcu_cpus_hold(cache->rcu) ||
	       __atomic_load_n(&cache->rcu->taking, __ATOMIC_SEQ_CST) ||
	       __atomic_load_n(&cache->memory.rcu_pending, __ATOMIC_ACQUIRE);
}

/*
 * This polls and does not call synchronize_rcu(): the thread that allocates may hold a lock that
 * a reader waits for within its section, and the grace period would never end.
 */
void rcu_wait_a_moment(struct slab_cache *cache)
{
	struct cache_rcu *rcu = cache->rcu;

	if (!rcu || recycles || rcu_functions(rcu->flavor)->read_ongoing())
		return;
	for (unsigned n = 0; n < MOMENT_NS / HOLD_UP_NS; n++) {
		if (!rcu_has_waiting(cache))
			break;
		hold_up();
	}
}

/* The wait is bounded, because a signal handler that forks, which the manual forbids, may have
 * interrupted a thread that has such objects. Such a fork takes up to 2 s, and its child may lack
 * the objects. */
void rcu_fork_wait(struct slab_cache *cache)
{
	for (unsigned n = 0; cache->rcu && n < FORK_WAIT_NS / HOLD_UP_NS; n++) {
		if (GUARD(rcu_fork_waits, !__atomic_load_n(&cache->rcu->taking, __ATOMIC_SEQ_CST)))
			break;
		hold_up();
	}
}

/* In the QSBR flavour, a thread that is online counts as a reader: it goes offline to wait. */
static int leave_section(const struct rcu_flavor_struct *flavor, bool *ret_online)
{
	*ret_online = rcu_functions(flavor)->read_ongoing();
	if (!*ret_online)
		return 0;
	rcu_functions(flavor)->thread_offline();
	if (!rcu_functions(flavor)->read_ongoing())
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
	while (GUARD_AGAINST(rcu_drain_first, !synchronize(rcu)))
		;
	/* An object is in an array, or a thread has taken it and is adding it to the phase. */
	while (GUARD_AGAINST(rcu_drain_collects, (error = rcu_collect(rcu)) == -EAGAIN))
		hold_up();
	while (GUARD_AGAINST(rcu_drain_taking, __atomic_load_n(&rcu->taking, __ATOMIC_SEQ_CST)))
		hold_up();
	if (flip_phase(rcu))
		while (!synchronize(rcu))
			;
	stop_driving(rcu);
	if (online)
		rcu_functions(rcu->flavor)->thread_online();
	return with_errno(error);
}

int slab_rcu_barrier(struct slab_cache *cache)
{
	if (!cache || cache->magic != CACHE_MAGIC || !cache->rcu)
		return with_errno(-EINVAL);
	return rcu_drain(cache);
}

void rcu_stop(struct cache_rcu *rcu)
{
	while (!GUARD(rcu_stop_driving, start_driving(rcu)))
		hold_up();
}

void rcu_destroy(struct cache_rcu *rcu)
{
	cpu_arrays_destroy(rcu->arrays);
	rcu->cache = NULL;
	if (GUARD_AGAINST(rcu_destroy_armed, __atomic_load_n(&rcu->armed, __ATOMIC_ACQUIRE)))
		stop_driving(rcu); /* the pending callback frees the struct */
	else
		rcu_pool_put(rcu);
}
