/* SPDX-License-Identifier: MIT */
/*
 * Frees that wait for a grace period.
 *
 * Freed objects are gathered as those of foreign slabs are (free.c), in slots of
 * their own: 16-bit offsets while they are of one slab. A batch is then linked in the
 * slab's links[], which stand apart from the objects: nothing is written where a
 * reader may look, and nothing has to be allocated, so a free that waits cannot fail.
 * A cache keeps a stack of the slabs that have such objects.
 *
 * All this exists twice, for two *turns*. One turn takes in what is freed now, the other
 * waits. To turn is to swap them:
 *
 *   collect what CPUs have gathered · turn · a grace period · recycle what waited
 *
 * An object is unreachable before it is freed, and whoever frees it looks at the turn
 * after that; so whenever its batch arrives, the grace period that follows the next
 * turning is one that began after the object had become unreachable.
 *
 * Who drives this: a callback of the flavour's call_rcu(), one for all that waits, again
 * and again until nothing is left; and a thread that finds too much waiting, with
 * synchronize_rcu(). `driving` is set while one of them changes the turn or recycles, so
 * that a turn is never taken in and recycled at the same time; nobody waits for it
 * without end. The callback remembers the turn that it is for, since a helper may have
 * turned on meanwhile.
 *
 * Objects in gather buffers of idle CPUs are collected by the callback. Whether one is
 * under way is asked after gathering; the callback says that it is over, fences all
 * CPUs, and looks at the buffers once more: either it finds the object, or the thread
 * that gathered it finds no callback and asks for one.
 *
 * Slabs of type-safe caches wait the same way before their memory goes.
 */
#include "cache_rcu.h"

#include <errno.h>
#include <sched.h>
#include <time.h>
#include <urcu/call-rcu.h>
#include <urcu/flavor.h>

#include "debug_cache.h"
#include "rseq.h"
#include "user_pointer.h"

/* What may wait before producers are held up; a quarter of it before they help. */
#define BACKLOG_BYTES (UINT64_C(16) << 20)
#define BACKLOG_MIN UINT64_C(16384)
#define BACKLOG_MAX UINT64_C(262144)
#define HOLD_UP_NS 100000L
/* Two rounds of a callback take 20 ms and two grace periods. */
#define MOMENT_NS 60000000L

#define PAGE ((size_t)4096)
#define PART ((size_t)256)

#define FIRST(waiting) ((unsigned)((waiting) & 0xffff))
#define LAST(waiting) ((unsigned)((waiting) >> 16 & 0xffff))
#define COUNT(waiting) ((unsigned)((waiting) >> 32))

/*
 * Outlives its cache when a callback is still under way: then `cache` is NULL, and the
 * callback gives it back. Such memory is never unmapped.
 */
struct cache_rcu {
	struct rcu_head head;
	struct slab_cache *cache;
	const struct rcu_flavor_struct *flavor;
	char *slots;             /* where objects are gathered */
	uint64_t backlog;        /* objects that may wait */
	uint32_t armed;          /* a callback is under way */
	uint32_t driving;        /* somebody turns or recycles */
	uint64_t turn;           /* its lowest bit says which one takes in */
	uint64_t armed_turn;     /* at the end of which the callback's grace period began */
	struct slab *slabs[2];   /* that have objects waiting */
	struct slab *retired[2]; /* that wait themselves */
	uint32_t taking;         /* threads that have a batch in hand */
	bool forked;             /* in a child: no grace period has ended here yet */
	struct cache_rcu *next;  /* free ones */
};

_Static_assert(sizeof(struct cache_rcu) <= PART, "a part of a page holds it");

static pthread_mutex_t free_lock = PTHREAD_MUTEX_INITIALIZER;
static struct cache_rcu *free_list;

/* call_rcu() wants threads that its flavour knows, and so do the callbacks of caches. */
static __thread bool is_ours;
static __thread const struct rcu_flavor_struct *known;
/* This thread recycles: what destructors free meanwhile need not wait for it. */
static __thread bool recycles;

void rcu_this_thread_is_ours(void)
{
	is_ours = true;
}

static const struct rcu_flavor_struct *enter(const struct rcu_flavor_struct *flavor)
{
	const struct rcu_flavor_struct *was = known;

	if (is_ours && flavor != was) {
		flavor->register_thread();
		known = flavor;
	}
	return was;
}

const struct rcu_flavor_struct *rcu_enter(const struct slab_cache *cache)
{
	return cache->rcu ? enter(cache->rcu->flavor) : known;
}

void rcu_leave(const struct rcu_flavor_struct *was)
{
	if (known == was)
		return;
	known->unregister_thread();
	known = was;
}

/* --- memory ------------------------------------------------------------------- */

static void give_free(struct cache_rcu *rcu)
{
	pthread_mutex_lock(&free_lock);
	rcu->next = free_list;
	free_list = rcu;
	pthread_mutex_unlock(&free_lock);
}

/* Few caches have one: a page serves many. */
static struct cache_rcu *take_fresh(void)
{
	char *page = os_map(PAGE, PAGE);

	if (!page)
		return NULL;
	for (size_t at = PART; at < PAGE; at += PART)
		give_free((struct cache_rcu *)(page + at));
	return (struct cache_rcu *)page;
}

static struct cache_rcu *take_free(void)
{
	struct cache_rcu *rcu;

	pthread_mutex_lock(&free_lock);
	rcu = free_list;
	if (rcu)
		free_list = rcu->next;
	pthread_mutex_unlock(&free_lock);
	return rcu ? rcu : take_fresh();
}

static uint64_t backlog_of(size_t size)
{
	uint64_t n = BACKLOG_BYTES / size;

	return n < BACKLOG_MIN ? BACKLOG_MIN : n > BACKLOG_MAX ? BACKLOG_MAX : n;
}

struct cache_rcu *rcu_create(struct slab_cache *cache, const struct rcu_flavor_struct *flavor)
{
	struct cache_rcu *rcu = take_free();
	char *slots = rcu ? slots_create() : NULL;

	if (!slots) {
		if (rcu)
			give_free(rcu);
		return NULL;
	}
	*rcu = (struct cache_rcu){
		.cache = cache,
		.flavor = flavor,
		.slots = slots,
		.backlog = backlog_of(cache->size),
	};
	return rcu;
}

char *rcu_slots(const struct cache_rcu *rcu)
{
	return rcu->slots;
}

/* --- the stacks of slabs ---------------------------------------------------------- */

static void push(struct slab **stack, struct slab *slab, struct slab **next)
{
	struct slab *head = __atomic_load_n(stack, __ATOMIC_RELAXED);

	do
		__atomic_store_n(next, head, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(stack, &head, slab, true, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED));
}

/* The whole stack: nobody ever pops a single slab. */
static struct slab *take_all(struct slab **stack)
{
	if (!__atomic_load_n(stack, __ATOMIC_RELAXED))
		return NULL;
	return __atomic_exchange_n(stack, NULL, __ATOMIC_ACQUIRE);
}

/* --- into the turn ------------------------------------------------------------------ */

/* A batch in front of what waits already. */
static uint64_t add_batch(struct slab *slab, const struct cpu_batch *batch, uint64_t waiting)
{
	unsigned first = slab_link_batch(slab, batch->count, batch->offset8, FIRST(waiting));
	unsigned last = LAST(waiting);

	if (!last)
		last = cpu_slab_index(&slab->cpu, batch->offset8[0]) + 1;
	return first | last << 16 | (uint64_t)(COUNT(waiting) + batch->count) << 32;
}

static uint64_t wait_for(struct cache_rcu *rcu, const struct cpu_batch *batch)
{
	struct slab *slab = slab_from_cpu(batch->slab);
	/* In this order on all machines: freed, and only then the turn is looked at. */
	uint64_t pending =
		__atomic_add_fetch(&rcu->cache->memory.rcu_pending, batch->count, __ATOMIC_SEQ_CST);
	unsigned turn = __atomic_load_n(&rcu->turn, __ATOMIC_ACQUIRE) & 1;
	uint64_t waiting = __atomic_load_n(&slab->waiting[turn], __ATOMIC_RELAXED), value;

	do
		value = add_batch(slab, batch, waiting);
	while (!__atomic_compare_exchange_n(&slab->waiting[turn], &waiting, value, true,
					    __ATOMIC_RELEASE, __ATOMIC_RELAXED));
	if (!waiting)
		push(&rcu->slabs[turn], slab, &slab->next_waiting[turn]);
	return pending;
}

/* What CPUs have gathered joins what waits. By the driver. */
static void collect(struct cache_rcu *rcu)
{
	struct cpu_batch batch;
	bool found = false;

	for (unsigned cpu = 0; cpu < cpu_possible(); cpu++) {
		struct cpu_slot *slot = cpu_slot(rcu->slots, cpu);

		if (!__atomic_load_n(&slot->gather, __ATOMIC_RELAXED))
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
		slot_take_gather(slot, &batch);
		if (batch.count)
			wait_for(rcu, &batch);
	}
	/* Nobody reads the old word once the slot is open again. */
	cpu_engine->fence(rcu->slots);
	for (unsigned cpu = 0; cpu < cpu_possible(); cpu++) {
		struct cpu_slot *slot = cpu_slot(rcu->slots, cpu);

		if (__atomic_load_n(&slot->closed, __ATOMIC_RELAXED))
			__atomic_store_n(&slot->closed, 0, __ATOMIC_RELEASE);
	}
}

/* --- out of it ------------------------------------------------------------------------ */

/* Objects of slabs that frees treat specially: one by one, as they would be freed. */
static void free_singly(struct slab_cache *cache, struct slab *slab, uint64_t waiting)
{
	unsigned i = FIRST(waiting);

	for (unsigned left = COUNT(waiting); i && left; left--) {
		unsigned next = __atomic_load_n(&slab->links[i - 1], __ATOMIC_RELAXED);

		debug_free_waited(cache, slab, i - 1);
		i = next;
	}
}

/* A chain of freed objects is what a slab's remote word holds, too. */
static void free_chain(struct slab_cache *cache, struct slab *slab, uint64_t waiting)
{
	if (slab_is_tagged(slab, SLAB_TAGS))
		free_singly(cache, slab, waiting);
	else
		slab_free_chain(cache, slab, FIRST(waiting), LAST(waiting), COUNT(waiting));
}

/* The grace period of this turn is over. By the driver. */
static void recycle(struct cache_rcu *rcu, unsigned turn)
{
	struct slab_cache *cache = rcu->cache;
	struct slab *slab = take_all(&rcu->slabs[turn]), *next;
	struct slab *retired = take_all(&rcu->retired[turn]);
	uint64_t objects = 0, slabs = 0;

	recycles = true;
	for (; slab; slab = next) {
		uint64_t waiting;

		/* From the exchange on, others may put it on the stack again. */
		next = __atomic_load_n(&slab->next_waiting[turn], __ATOMIC_RELAXED);
		waiting = __atomic_exchange_n(&slab->waiting[turn], 0, __ATOMIC_ACQ_REL);
		free_chain(cache, slab, waiting);
		objects += COUNT(waiting);
	}
	for (; retired; retired = next, slabs++) {
		next = retired->next;
		debug_slab_release_now(cache, retired);
	}
	recycles = false;
	__atomic_fetch_add(&cache->memory.rcu_freed, objects, __ATOMIC_RELAXED);
	__atomic_fetch_sub(&cache->memory.rcu_pending, objects + slabs, __ATOMIC_RELEASE);
}

static bool something_waits(const struct cache_rcu *rcu, unsigned turn)
{
	return __atomic_load_n(&rcu->slabs[turn], __ATOMIC_RELAXED) ||
	       __atomic_load_n(&rcu->retired[turn], __ATOMIC_RELAXED);
}

/* Is there anything in the turn that takes in? Then it waits from now on, and the
 * other one, which is empty, takes in. By the driver. */
static bool turn_over(struct cache_rcu *rcu)
{
	collect(rcu);
	if (!something_waits(rcu, rcu->turn & 1))
		return false;
	__atomic_store_n(&rcu->turn, rcu->turn + 1, __ATOMIC_SEQ_CST);
	return true;
}

/* --- driving: the callback -------------------------------------------------------------- */

static bool start_driving(struct cache_rcu *rcu)
{
	uint32_t nobody = 0;

	return __atomic_compare_exchange_n(&rcu->driving, &nobody, 1, false, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

static void stop_driving(struct cache_rcu *rcu)
{
	__atomic_store_n(&rcu->driving, 0, __ATOMIC_RELEASE);
}

static void callback(struct rcu_head *head);

static void call(struct cache_rcu *rcu)
{
	const struct rcu_flavor_struct *was = enter(rcu->flavor);

	__atomic_store_n(&rcu->armed_turn, __atomic_load_n(&rcu->turn, __ATOMIC_RELAXED),
			 __ATOMIC_RELEASE);
	rcu->flavor->update_call_rcu(&rcu->head, callback);
	rcu_leave(was);
}

/* Make sure that a callback comes. */
static void arm(struct cache_rcu *rcu)
{
	uint32_t no = 0;

	if (!__atomic_load_n(&rcu->armed, __ATOMIC_RELAXED) &&
	    __atomic_compare_exchange_n(&rcu->armed, &no, 1, false, __ATOMIC_ACQ_REL,
					__ATOMIC_RELAXED))
		call(rcu);
}

static bool is_gathered(const struct cache_rcu *rcu)
{
	for (unsigned cpu = 0; cpu < cpu_possible(); cpu++)
		if (__atomic_load_n(&cpu_slot(rcu->slots, cpu)->gather, __ATOMIC_RELAXED))
			return true;
	return false;
}

/* No callback any more, unless something arrived that has not seen that. By the driver:
 * rcu_destroy() may give all this to another cache as soon as nobody drives. */
static void disarm(struct cache_rcu *rcu)
{
	__atomic_store_n(&rcu->armed, 0, __ATOMIC_SEQ_CST);
	cpu_engine->fence(rcu->slots);
	if (__atomic_load_n(&rcu->cache->memory.rcu_pending, __ATOMIC_SEQ_CST) || is_gathered(rcu))
		arm(rcu);
}

static void callback(struct rcu_head *head)
{
	struct cache_rcu *rcu = (struct cache_rcu *)head; /* its first member */
	uint64_t turn = __atomic_load_n(&rcu->armed_turn, __ATOMIC_ACQUIRE);

	/* A helper is at it, or rcu_destroy(). */
	if (!start_driving(rcu)) {
		call(rcu);
		return;
	}
	if (!rcu->cache) {
		give_free(rcu);
		return;
	}

	unsigned waits = ~rcu->turn & 1;

	__atomic_store_n(&rcu->forked, false, __ATOMIC_RELAXED);
	if (turn == rcu->turn)
		recycle(rcu, waits);
	if (something_waits(rcu, waits) || turn_over(rcu))
		call(rcu);
	else
		disarm(rcu);
	stop_driving(rcu);
}

/* --- driving: helpers ---------------------------------------------------------------------- */

/* A grace period, and what waited for it. By the driver. */
static void synchronize(struct cache_rcu *rcu)
{
	rcu->flavor->update_synchronize_rcu();
	recycle(rcu, ~rcu->turn & 1);
}

static void hold_up(void)
{
	const struct timespec time = {.tv_nsec = HOLD_UP_NS};

	nanosleep(&time, NULL);
}

static bool is_too_much(const struct cache_rcu *rcu)
{
	return __atomic_load_n(&rcu->cache->memory.rcu_pending, __ATOMIC_RELAXED) > rcu->backlog;
}

/* One grace period for as much as possible. false: somebody else is at it. */
static bool drive(struct cache_rcu *rcu)
{
	if (!start_driving(rcu))
		return false;
	if (!something_waits(rcu, ~rcu->turn & 1))
		turn_over(rcu);
	synchronize(rcu);
	stop_driving(rcu);
	return true;
}

/*
 * Much waits, or too much: then nobody adds to it but within sections.
 *
 * Not in a child before its first callback came: a flavour whose hooks were not called
 * around fork() may have a lock there that nobody gives back.
 */
static SLAB_SLOWPATH void help(struct cache_rcu *rcu)
{
	bool helped = false;

	if (recycles || __atomic_load_n(&rcu->forked, __ATOMIC_RELAXED))
		return;
	if (rcu->flavor->read_ongoing()) {
		if (!is_too_much(rcu))
			return;
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
 * Not with synchronize_rcu(): whoever allocates may hold a lock that a reader waits for
 * within its section, and the grace period would never end.
 */
void rcu_wait_a_moment(struct slab_cache *cache)
{
	struct cache_rcu *rcu = cache->rcu;

	if (!rcu || recycles || rcu->flavor->read_ongoing())
		return;
	for (unsigned n = 0; n < MOMENT_NS / HOLD_UP_NS; n++) {
		if (!__atomic_load_n(&cache->memory.rcu_pending, __ATOMIC_ACQUIRE) &&
		    !is_gathered(rcu))
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
	errno = EDEADLK;
	return -EDEADLK;
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
	/* Batches are in a buffer, or in a thread's hand. */
	collect(rcu);
	while (__atomic_load_n(&rcu->taking, __ATOMIC_SEQ_CST))
		sched_yield();
	if (turn_over(rcu))
		synchronize(rcu);
	stop_driving(rcu);
	if (online)
		rcu->flavor->thread_online();
	return 0;
}

int slab_rcu_barrier(struct slab_cache *cache)
{
	if (!cache || cache->magic != CACHE_MAGIC || !cache->rcu) {
		errno = EINVAL;
		return -EINVAL;
	}
	return rcu_drain(cache);
}

void rcu_destroy(struct cache_rcu *rcu)
{
	while (!start_driving(rcu))
		hold_up();
	cpu_slots_destroy(rcu->slots);
	rcu->cache = NULL;
	if (__atomic_load_n(&rcu->armed, __ATOMIC_ACQUIRE))
		stop_driving(rcu); /* the callback has the rest */
	else
		give_free(rcu);
}

/* --- fork --------------------------------------------------------------------------------- */

void rcu_fork_lock(void)
{
	pthread_mutex_lock(&free_lock);
}

void rcu_fork_unlock(void)
{
	pthread_mutex_unlock(&free_lock);
}

/* Every slab that has objects waiting is on its turn's stack again. */
static void stack_again(struct slab *slab, void *arg)
{
	struct cache_rcu *rcu = arg;

	for (unsigned turn = 0; turn < 2; turn++) {
		if (!slab->waiting[turn])
			continue;
		push(&rcu->slabs[turn], slab, &slab->next_waiting[turn]);
		rcu->cache->memory.rcu_pending += COUNT(slab->waiting[turn]);
	}
}

static void count_again(struct cache_rcu *rcu)
{
	struct slab_cache *cache = rcu->cache;

	cache->memory.rcu_pending = 0;
	for (unsigned turn = 0; turn < 2; turn++) {
		rcu->slabs[turn] = NULL;
		for (struct slab *slab = rcu->retired[turn]; slab; slab = slab->next)
			cache->memory.rcu_pending++;
	}
	cache_each_slab(cache, stack_again, rcu);
}

/*
 * Other threads were stopped anywhere, and are not there. What they had in hand is lost,
 * as everywhere; the rest is put in order. Whether the callback is under way is not known:
 * so it gets a struct of its own, which it gives back if it comes, and the next free asks
 * for another.
 */
void rcu_after_fork_child(struct slab_cache *cache)
{
	struct cache_rcu *old = cache->rcu, *rcu = old ? take_free() : NULL;

	if (!rcu)
		return;
	*rcu = *old;
	old->cache = NULL;
	old->driving = 0;
	rcu->armed = rcu->driving = rcu->taking = 0;
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

bool rcu_retire(struct slab_cache *cache, struct slab *slab)
{
	struct cache_rcu *rcu = cache->rcu;
	unsigned turn;

	if (!(cache->flags & SLAB_TYPESAFE_BY_RCU))
		return false;
	__atomic_fetch_add(&cache->memory.rcu_pending, 1, __ATOMIC_SEQ_CST);
	turn = __atomic_load_n(&rcu->turn, __ATOMIC_ACQUIRE) & 1;
	push(&rcu->retired[turn], slab, &slab->next);
	arm(rcu);
	return true;
}

/* What this CPU has gathered waits from now on. */
static void pass_on(struct cache_rcu *rcu, int cpu, uint64_t *ret_pending)
{
	struct cpu_batch batch;

	__atomic_fetch_add(&rcu->taking, 1, __ATOMIC_SEQ_CST);
	if (cpu_engine->gather_take(rcu->slots, cpu, &batch) == CPU_DONE)
		*ret_pending = wait_for(rcu, &batch);
	__atomic_fetch_sub(&rcu->taking, 1, __ATOMIC_RELEASE);
}

/* false: it was given to us a moment ago. */
static bool gather(struct cache_rcu *rcu, struct slab *slab, uint16_t offset8,
		   uint64_t *ret_pending)
{
	int cpu = cpu_engine->cpu();
	struct cpu_batch batch;

	for (unsigned tries = 0; cpu >= 0 && tries < 8; cpu = cpu_engine->cpu(), tries++) {
		enum cpu_result result = cpu_engine->gather(rcu->slots, cpu, &slab->cpu, offset8);

		if (result == CPU_DONE)
			return true;
		if (result == CPU_DOUBLE)
			return false;
		if (result == CPU_MISS)
			pass_on(rcu, cpu, ret_pending);
	}
	batch = (struct cpu_batch){.slab = &slab->cpu, .count = 1, .offset8 = {offset8}};
	*ret_pending = wait_for(rcu, &batch);
	return true;
}

/* Can this be freed at all? Reports why not. */
static bool may_wait(struct slab_cache *cache, void *obj, struct slab *slab, const void *caller)
{
	if (!segment_known(obj) || slab_user(slab) != cache || !cache->rcu) {
		debug_refuse_waiting(cache, obj, caller);
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
	struct slab *slab = slab_of(obj);
	uint64_t pending = 0;

	if (!may_wait(cache, obj, slab, caller))
		return;
	if (!gather(cache->rcu, slab, cpu_slab_offset8(&slab->cpu, obj), &pending)) {
		debug_report_double_free(cache, slab, obj, caller);
		return;
	}
	arm(cache->rcu);
	if (SLAB_UNLIKELY(pending > cache->rcu->backlog / 4))
		help(cache->rcu);
}

void slab_free_rcu(struct slab_cache *cache, void *obj)
{
	bool other;
	struct slab *slab;

	if (SLAB_UNLIKELY(!obj))
		return;
	slab = slab_of_user(obj, cache, &other);
	if (SLAB_LIKELY(!other) &&
	    SLAB_LIKELY(rseq_gather(&cache->rcu_slots, &slab->cpu, obj, cpu_rseq_offset)))
		arm(cache->rcu);
	else
		free_slow(cache, obj, __builtin_return_address(0));
}
