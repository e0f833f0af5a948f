/* SPDX-License-Identifier: MIT */
/*
 * Revocation: taking slabs back from CPUs that go on running.
 *
 * 1. Return the objects of the magazines to their slabs, while the CPUs go on. Close every slot that
 * holds something, then fence. From now on these slots change only by pop and push on the LIFO, the
 * current slab and owned slabs. Take the current slab, the CPU partial list, the handed-off slabs
 * and the remote batch, and close the LIFO.
 *
 * 2. Fence again. Now no thread uses the LIFO. Deliver its objects to their slabs and open the slot.
 * The LIFO stays closed until the CPU takes a slow path, which lets decay passes run again.
 *
 * Meanwhile allocations on a closed CPU take single objects from the node, so no thread waits.
 *
 * The time until the slots are open grows with the number of CPUs, not with the number of slabs.
 * The slabs are then in chains of the cache (cache->taken). Their CPUs still own them and may still
 * free into them. A loop processes TAKEN_PIECE slabs at a time: it clears their owners, fences,
 * puts the isolated slabs on their nodes' lists, and unlocks flush_lock for a moment.
 *
 * If the kernel refuses a fence, CPUs keep what they hold: the slots open again, and slabs that were
 * taken stay in the chains until a later fence succeeds.
 *
 * A thread that takes flush_lock finds every slab on a list or in the chains. So the child of a
 * fork, an allocation at a limit, and an allocation that needs a fresh slab (cache_steal()) can
 * continue where another thread stopped.
 */
#include "base/clock.h"
#include "core/isolated.h"
#include "core/node.h"
#include "core/pin.h"
#include "core/upcalls.h"
#include "inject.h"
#include "percpu/magazines.h"
#include "percpu/refill.h"
#include "core/slab.h"
#include "pages/idle.h"
#include "pages/topology.h"

#define STEAL_CPUS 16u
#define STEAL_REVOKES 4u
#define STEAL_US INT64_C(10000)
#define TAKEN_PIECE 16u

/* An open LIFO without objects counts, too: frees fill it and wake no decay pass. A LIFO with objects
 * may be closed. */
static bool lifo_is_used(const struct cpu_lifo *lifo)
{
	return __atomic_load_n(&lifo->count, __ATOMIC_RELAXED) ||
	       __atomic_load_n(&lifo->limit, __ATOMIC_RELAXED);
}

bool cpu_holds(const struct slab_cache *cache, unsigned cpu)
{
	const struct cpu_slot *slot = cpu_slot(cache->cpu_slots, cpu);

	return __atomic_load_n(&slot->current, __ATOMIC_RELAXED) ||
	       __atomic_load_n(&slot->partial, __ATOMIC_RELAXED) ||
	       __atomic_load_n(&slot->handed_off, __ATOMIC_RELAXED) ||
	       __atomic_load_n(&slot->remote_batch, __ATOMIC_RELAXED) ||
	       lifo_is_used(cpu_lifo(cache->cpu_lifos, cpu));
}

/* A cache that is being destroyed has no other users, so it needs no fence. */
static bool fence(const struct slab_cache *cache)
{
	return cpu_engine->fence(cache->cpu_slots) || cache_is_dying(cache);
}

static unsigned partial_count(const struct cpu_slot *slot)
{
	return cpu_word_count(__atomic_load_n(&slot->partial, __ATOMIC_RELAXED));
}

/* Close every slot that holds something; with over > 0, only STEAL_REVOKES slots with more than
 * `over` slabs on the CPU partial list, from steal_cpu on. Returns the number of closed slots. */
static unsigned close_slots(struct slab_cache *cache, unsigned over)
{
	const unsigned cpus = cpu_possible(), most = over ? STEAL_REVOKES : cpus;
	unsigned closed = 0,
		 first = over ? __atomic_load_n(&cache->steal_cpu, __ATOMIC_RELAXED) : 0;

	for (unsigned n = 0; n < cpus && closed < most; n++) {
		const unsigned cpu = (first + n) % cpus;
		struct cpu_slot *slot = cpu_slot(cache->cpu_slots, cpu);

		if ((!over || partial_count(slot) > over) && cpu_holds(cache, cpu)) {
			__atomic_store_n(&slot->closed, 1, __ATOMIC_SEQ_CST);
			closed++;
		}
	}
	return closed;
}

/* --- slabs that are taken from their CPUs ------------------------------------------- */

static void set_taken(struct slab_cache *cache, struct slab *slab)
{
	__atomic_store_n(&cache->taken, slab, __ATOMIC_RELAXED);
}

/* Add the CPU's list to cache->taken, a chain of chains. Within a list, slabs stay linked by
 * cpu.next. The first slab of each list points to the next list by `next`, which owned slabs do not
 * use. */
static void keep_chain(struct slab_cache *cache, uint64_t word)
{
	struct slab *first = slab_from_cpu(cpu_word_slab(word));

	if (!first)
		return;
	first->next = cache->taken;
	set_taken(cache, first);
}

static struct slab *pop_taken(struct slab_cache *cache)
{
	struct slab *first = cache->taken, *second = slab_from_cpu(cpu_word_slab(first->cpu.next));

	if (second)
		second->next = first->next;
	set_taken(cache, second ? second : first->next);
	return first;
}

/* Clear the owners of some taken slabs; returns the slabs, linked by next. They are isolated only
 * after a fence. */
static struct slab *revoke_some(struct slab_cache *cache)
{
	struct slab *slabs = NULL;

	for (unsigned n = 0; n < TAKEN_PIECE && cache->taken; n++) {
		struct slab *slab = pop_taken(cache);

		cpu_engine->revoke(cache->cpu_slots, (int)cpu_slab_owner(&slab->cpu), &slab->cpu);
		slab->next = slabs;
		slabs = slab;
	}
	return slabs;
}

static unsigned put_revoked(struct slab_cache *cache, struct slab *slabs)
{
	for (struct slab *slab = slabs; slab; slab = slab->next)
		slab_set_idle_since(slab, cache->taken_idle_since);
	return slab_put_back(cache, slabs);
}

/* The slabs are not isolated, because the fence failed. */
static void take_again(struct slab_cache *cache, struct slab *slabs)
{
	struct slab *next;

	for (struct slab *slab = slabs; slab; slab = next) {
		next = slab->next;
		slab->cpu.next = 0;
		keep_chain(cache, cpu_word(&slab->cpu, 1));
	}
}

/* false: the fence failed, and nothing was put on lists. */
static bool put_some(struct slab_cache *cache, unsigned *released)
{
	struct slab *slabs = revoke_some(cache);

	if (!fence(cache)) {
		take_again(cache, slabs);
		return false;
	}
	*released += put_revoked(cache, slabs);
	return true;
}

/* Unlocks flush_lock between pieces. false: the lock could not be retaken and is not held. */
static bool put_taken(struct slab_cache *cache, enum flush_lock_mode how, unsigned *released)
{
	while (cache->taken && put_some(cache, released))
		if (cache->taken && !flush_lock_yield(cache, how))
			return false;
	return true;
}

/* --- CPUs' slots --------------------------------------------------------------------- */

/* Take the remote batch out of a CPU's slot. The slot is closed and fenced. */
static void take_remote_batch(struct cpu_slot *slot, struct cpu_batch *batch)
{
	uint64_t word = __atomic_load_n(&slot->remote_batch, __ATOMIC_RELAXED);

	batch->slab = cpu_word_slab(word);
	batch->count = cpu_word_count(word);
	for (unsigned i = 0; i < batch->count; i++)
		batch->offset8[i] = slot->remote_batch_buf[i];
	__atomic_store_n(&slot->remote_batch, 0, __ATOMIC_RELAXED);
}

/* flush_lock is held here and a report must not run under it, so the report comes later. */
static void note_refused(struct slab_cache *cache, void *obj)
{
	__atomic_store_n(&cache->refused, obj, __ATOMIC_RELAXED);
}

/* Called with no lock held. One report stands for all objects that were refused. */
static void report_refused(struct slab_cache *cache)
{
	void *obj;

	if (SLAB_LIKELY(!__atomic_load_n(&cache->refused, __ATOMIC_RELAXED)))
		return;
	obj = __atomic_exchange_n(&cache->refused, NULL, __ATOMIC_ACQ_REL);
	if (obj)
		cache->checks->full(cache, slab_of(obj), obj, NULL);
}

static void deliver_object(struct slab_cache *cache, void *obj)
{
	if (!slab_deliver_held(cache, obj))
		note_refused(cache, obj);
}

/* Return an object of a magazine to its slab. A slab that was full goes to its node and not to this
 * CPU, whose partial list would release slabs uncounted. Returns the number of released slabs. */
static unsigned deliver_to_node(struct slab_cache *cache, void *obj, uint32_t idle_since)
{
	struct slab *isolated;

	if (!slab_deliver_isolating(obj, &isolated))
		note_refused(cache, obj);
	if (!isolated)
		return 0;
	slab_set_idle_since(isolated, idle_since);
	isolated->next = NULL;
	return slab_put_back(cache, isolated);
}

/* A magazine is too large for the stack of a thread that calls malloc(). */
#define MAGAZINE_PART 64u
#define PARTS_OF_MAGAZINE (CPU_LIFO_MAX / 2 / MAGAZINE_PART)

/* Unlocks flush_lock between parts of magazines. false: the lock could not be retaken and is not held. Other
 * threads may fill magazines at the same time, hence the limit. */
static bool deliver_magazines(struct slab_cache *cache, uint32_t idle_since,
			      enum flush_lock_mode how, unsigned *released)
{
	for (unsigned left = topology_nodes() * MAGAZINES_MAX * PARTS_OF_MAGAZINE; left; left--) {
		void *obj[MAGAZINE_PART];
		size_t n = magazine_take(cache, MAGAZINE_PART, obj);

		if (!n)
			break;
		cpu_inject(CPU_INJECT_MAGAZINE_TAKEN);
		for (size_t i = 0; i < n; i++)
			*released += deliver_to_node(cache, obj[i], idle_since);
		if (magazine_objects(cache) && !flush_lock_yield(cache, how))
			return false;
	}
	return true;
}

/* Since the second fence no thread pushes to the LIFO or pops from it. */
static void empty_lifo(struct slab_cache *cache, struct cpu_lifo *lifo)
{
	uint64_t n = __atomic_load_n(&lifo->count, __ATOMIC_RELAXED);

	for (uint64_t i = 0; i < n; i++)
		deliver_object(cache, lifo->obj[i]);
	__atomic_store_n(&lifo->count, 0, __ATOMIC_RELAXED);
}

/* The slot is closed and fenced, so this thread may change it. */
static void take_slot(struct slab_cache *cache, unsigned cpu)
{
	struct cpu_slot *slot = cpu_slot(cache->cpu_slots, cpu);
	struct cpu_slab *current = __atomic_load_n(&slot->current, __ATOMIC_RELAXED);
	struct cpu_batch batch;

	__atomic_store_n(&slot->current, NULL, __ATOMIC_SEQ_CST);
	__atomic_store_n(&cpu_lifo(cache->cpu_lifos, cpu)->limit, 0, __ATOMIC_SEQ_CST);
	if (current) {
		current->next = 0;
		keep_chain(cache, cpu_word(current, 1));
	}
	keep_chain(cache, __atomic_exchange_n(&slot->partial, 0, __ATOMIC_ACQUIRE));
	keep_chain(cache, __atomic_exchange_n(&slot->handed_off, 0, __ATOMIC_ACQUIRE));
	take_remote_batch(slot, &batch);
	if (batch.count &&
	    !slab_deliver(cache, slab_from_cpu(batch.slab), batch.count, batch.offset8))
		note_refused(cache, cpu_slab_object(batch.slab, batch.offset8[0]));
}

unsigned slab_put_back(struct slab_cache *cache, struct slab *isolated)
{
	struct slab *partial = NULL, *next;

	for (; isolated; isolated = next) {
		int error = 0;

		next = isolated->next;
		if (isolated->initialized < isolated->objects ||
		    slab_refill(cache, isolated, &error)) {
			isolated->next = partial;
			partial = isolated;
		}
	}
	return node_put(cache, partial);
}

/* Open the closed slots, after their LIFOs were emptied if the slots are `fenced`. */
static void open_slots(struct slab_cache *cache, bool fenced)
{
	for (unsigned cpu = 0; cpu < cpu_possible(); cpu++) {
		struct cpu_slot *slot = cpu_slot(cache->cpu_slots, cpu);

		if (__atomic_load_n(&slot->closed, __ATOMIC_RELAXED)) {
			if (fenced)
				empty_lifo(cache, cpu_lifo(cache->cpu_lifos, cpu));
			cpu_inject(CPU_INJECT_LIFO_EMPTIED);
			__atomic_store_n(&slot->closed, 0, __ATOMIC_RELEASE);
		}
	}
}

static void take_slots(struct slab_cache *cache)
{
	for (unsigned cpu = 0; cpu < cpu_possible(); cpu++)
		if (__atomic_load_n(&cpu_slot(cache->cpu_slots, cpu)->closed, __ATOMIC_RELAXED)) {
			take_slot(cache, cpu);
			cache_event(cache, (int)cpu, SLAB_EVENT_FLUSH);
		}
	cpu_inject(CPU_INJECT_SLOTS_TAKEN);
}

/* The slots are closed and their slabs taken. The first piece of slabs shares the second fence with
 * the slots, which saves a fence for caches with few slabs. */
static bool put_slots(struct slab_cache *cache, unsigned *released)
{
	struct slab *slabs = revoke_some(cache);
	bool fenced;

	cpu_inject(CPU_INJECT_OWNERS_CLEARED);
	fenced = fence(cache);
	cpu_inject(CPU_INJECT_REVOKED_FENCED);
	open_slots(cache, fenced);
	if (fenced)
		*released += put_revoked(cache, slabs);
	else
		take_again(cache, slabs);
	return fenced;
}

/* Revoke the slots. idle_since is for slabs that CPUs held; 0 means that they are not idle. false: a
 * fence failed. */
static bool flush_slots(struct slab_cache *cache, unsigned over, uint32_t idle_since,
			unsigned *released)
{
	if (!close_slots(cache, over))
		return true;
	cpu_inject(CPU_INJECT_SLOTS_CLOSED);
	if (!fence(cache)) {
		open_slots(cache, false);
		return false;
	}
	cpu_inject(CPU_INJECT_SLOTS_FENCED);
	take_slots(cache);
	cache->taken_idle_since = idle_since;
	return put_slots(cache, released);
}

/* Revoke everything, twice: an object that is delivered may make a CPU own another slab. The caller
 * holds flush_lock. false: it is not held any more. */
static bool revoke(struct slab_cache *cache, uint32_t idle_since, enum flush_lock_mode how,
		   unsigned *released)
{
	for (unsigned round = 0; round < 2; round++) {
		if (!deliver_magazines(cache, idle_since, how, released))
			return false;
		flush_slots(cache, 0, idle_since, released);
		if (!put_taken(cache, how, released))
			return false;
	}
	return true;
}

unsigned cache_revoke(struct slab_cache *cache, uint32_t idle_since)
{
	unsigned released = 0;

	flush_lock(cache);
	revoke(cache, idle_since, FLUSH_LOCK_WAIT, &released);
	flush_unlock(cache);
	report_refused(cache);
	return released;
}

bool cache_has_taken(const struct slab_cache *cache)
{
	return __atomic_load_n(&cache->taken, __ATOMIC_RELAXED);
}

bool cache_flush_as(struct slab_cache *cache, enum flush_lock_mode how, unsigned *ret_released)
{
	bool done;

	*ret_released = 0;
	if (!flush_lock_as(cache, how))
		return false;
	done = revoke(cache, 0, how, ret_released);
	if (done)
		flush_unlock(cache);
	report_refused(cache);
	if (!done)
		return false;
	for (unsigned n = 0; n < topology_nodes(); n++)
		*ret_released += cache_release_listed(cache, n, how, slab_is_surplus);
	return true;
}

unsigned cache_flush(struct slab_cache *cache)
{
	unsigned released;

	cache_flush_as(cache, FLUSH_LOCK_WAIT, &released);
	return released;
}

/* A thread that holds the lock is usually putting slabs where this allocation will find them. If
 * the cache grew instead, it would do so with every allocation while the kernel has preempted that
 * thread. A thread that already holds a flush_lock does not wait for another one. The wait has a
 * time limit, since the holder may itself wait for this thread. */
static bool lock_to_steal(struct slab_cache *cache)
{
	return flush_lock_is_held() ? flush_trylock(cache) : flush_lock_patient(cache);
}

bool cache_list_taken(struct slab_cache *cache)
{
	unsigned released = 0;
	bool done;

	if (!lock_to_steal(cache))
		return false;
	done = !cache->taken || put_some(cache, &released);
	flush_unlock(cache);
	return done;
}

/* The most slabs that a CPU may keep on its list while another one needs a slab. Another thread may
 * have stored a time after `now`, so compare with a sign. */
static unsigned may_keep(const struct slab_cache *cache, uint64_t now)
{
	unsigned quarter = cache_count_slabs(cache) / 4,
		 over = __atomic_load_n(&cache->cpu_partial, __ATOMIC_RELAXED);

	if ((int64_t)(now - __atomic_load_n(&cache->stolen, __ATOMIC_RELAXED)) > STEAL_US)
		return 1;
	return quarter > over ? quarter : over;
}

/*
 * Steal slabs from CPUs before the cache takes fresh memory.
 *
 * A CPU that mostly frees adopts slabs from which another CPU allocated. It keeps those with
 * objects in use, so they would accumulate there. CPUs that list more than a quarter of the cache's
 * slabs therefore give up theirs, and once in STEAL_US also CPUs that list more than one. So a cache
 * does not grow for long while CPUs list free objects. A call that finds no such CPU leaves the turn
 * to the next one.
 *
 * Each call looks at STEAL_CPUS CPUs, cyclically, and revokes STEAL_REVOKES at most: revoked CPUs
 * allocate from the node until the LIFOs of all of them are empty. Taken slabs beyond TAKEN_PIECE
 * stay in the chains for the next calls. true: the node may have slabs now.
 */
bool cache_steal(struct slab_cache *cache)
{
	const unsigned cpus = cpu_possible();
	const uint64_t now = clock_us();
	unsigned over, released = 0, cpu = __atomic_load_n(&cache->steal_cpu, __ATOMIC_RELAXED);
	bool found = false, done = true;

	if (cache_has_taken(cache))
		return cache_list_taken(cache);
	over = may_keep(cache, now);
	for (unsigned n = 0; n < STEAL_CPUS && n < cpus && !found; n++) {
		cpu = cpu + 1 < cpus ? cpu + 1 : 0;
		found = partial_count(cpu_slot(cache->cpu_slots, cpu)) > over;
	}
	__atomic_store_n(&cache->steal_cpu, cpu, __ATOMIC_RELAXED);
	if (!found || !lock_to_steal(cache))
		return false;
	if (cache->taken) {
		done = put_some(cache, &released);
	} else if (may_keep(cache, now) <= over) { /* else another thread has just stolen */
		if (over == 1)
			__atomic_store_n(&cache->stolen, now, __ATOMIC_RELAXED);
		done = flush_slots(cache, over, 0, &released);
	}
	flush_unlock(cache);
	report_refused(cache);
	return done;
}
