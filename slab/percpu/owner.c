/* SPDX-License-Identifier: MIT */
/*
 * CPU partial lists, and remote frees.
 *
 * A slab without an owner gets one here: slab_adopt() gives it to the CPU that the thread runs on.
 * Remote frees go to slab->remote by one compare-and-exchange. The exchange also shows whether the
 * slab was full; if it was, the freeing thread has isolated the slab and adopts it.
 */
#include "core/upcalls.h"
#include "inject.h"
#include "base/probe.h"
#include "core/node.h"
#include "percpu/refill.h"
#include "core/slab.h"
#include "pages/idle.h"

/* The count in a list word has 16 bits: 65535 at most. */
#define PARTIAL_LIMIT_MAX 32768u

/* Push the slab on the handed-off stack of `cpu`, which that CPU's next refill empties. */
static void push_handed_off(struct slab_cache *cache, int cpu, struct slab *slab)
{
	struct cpu_slot *slot = cpu_slot(cache->cpu_slots, cpu);
	uint64_t head = __atomic_load_n(&slot->handed_off, __ATOMIC_RELAXED);

	do
		slab->cpu.next = head;
	while (!__atomic_compare_exchange_n(&slot->handed_off, &head, (uintptr_t)slab, true,
					    __ATOMIC_RELEASE, __ATOMIC_RELAXED));
	cache_event(cache, cpu, SLAB_EVENT_HANDED_OFF);
}

static bool still_on(struct slab_cache *cache, int cpu)
{
	return cpu_engine->cpu() == cpu &&
	       !__atomic_load_n(&cpu_slot(cache->cpu_slots, cpu)->closed, __ATOMIC_RELAXED);
}

/* Put a chain of slabs that `cpu` owns on its CPU partial list. If the thread has left that CPU or
 * the slot is closed, push each slab on the handed-off stack instead and return false. */
static bool push_partial(struct slab_cache *cache, int cpu, struct slab *first, struct slab *last,
			 unsigned n)
{
	enum cpu_result result;

	do
		result =
			cpu_engine->partial_push(cache->cpu_slots, cpu, &first->cpu, &last->cpu, n);
	while (result != CPU_DONE && still_on(cache, cpu));
	if (result == CPU_DONE)
		return true;
	cpu_inject(CPU_INJECT_PARTIAL_MISSED);
	while (n--) {
		struct slab *next = slab_from_cpu(cpu_word_slab(first->cpu.next));

		push_handed_off(cache, cpu, first);
		first = next;
	}
	return false;
}

static bool disown(struct slab_cache *cache, int cpu, struct slab *slab)
{
	enum cpu_result result;

	do
		result = cpu_engine->disown(cache->cpu_slots, cpu, &slab->cpu, false);
	while (result != CPU_DONE && still_on(cache, cpu));
	return result == CPU_DONE;
}

/* Is no object of this owned slab in use? The answer holds as long as no thread allocates. */
static bool is_unused(const struct slab *slab)
{
	uint64_t remote = __atomic_load_n(&slab->remote, __ATOMIC_RELAXED);

	return cpu_slab_free_count(&slab->cpu) + REMOTE_COUNT(remote) == slab->initialized;
}

/*
 * The CPU partial list is longer than its limit: return the slabs without objects in use to their
 * nodes.
 *
 * Slabs with objects in use stay, because frees into them would otherwise be remote frees. The new
 * limit is twice the number of slabs that stay, so the scan costs little for each slab that is
 * added.
 */
static void trim_partial(struct slab_cache *cache, int cpu)
{
	struct slab *isolated = NULL, *first = NULL, *last = NULL;
	unsigned kept = 0;
	uint64_t word;

	if (cpu_engine->partial_take(cache->cpu_slots, cpu, &word) != CPU_DONE)
		return;
	cpu_inject(CPU_INJECT_PARTIAL_TAKEN);
	while (word) {
		struct slab *slab = slab_from_cpu(cpu_word_slab(word));

		word = slab->cpu.next;
		if (is_unused(slab) && disown(cache, cpu, slab)) {
			slab->next = isolated;
			isolated = slab;
			continue;
		}
		slab->cpu.next = first ? cpu_word(&first->cpu, kept) : 0;
		first = slab;
		last = last ? last : slab;
		kept++;
	}
	__atomic_store_n(&cpu_slot(cache->cpu_slots, cpu)->partial_limit,
			 2 * kept < PARTIAL_LIMIT_MAX ? 2 * kept : PARTIAL_LIMIT_MAX,
			 __ATOMIC_RELAXED);
	if (kept)
		push_partial(cache, cpu, first, last, kept);
	cache_event(cache, cpu, SLAB_EVENT_CPU_PARTIAL_DRAIN);
	node_put(cache, isolated);
}

void slab_push_partial(struct slab_cache *cache, int cpu, struct slab *slab)
{
	struct cpu_slot *slot = cpu_slot(cache->cpu_slots, cpu);
	unsigned limit = __atomic_load_n(&slot->partial_limit, __ATOMIC_RELAXED);
	unsigned least = __atomic_load_n(&cache->cpu_partial, __ATOMIC_RELAXED);

	if (!push_partial(cache, cpu, slab, slab, 1))
		return;
	if (limit < least)
		limit = least;
	if (cpu_word_count(__atomic_load_n(&slot->partial, __ATOMIC_RELAXED)) > limit)
		trim_partial(cache, cpu);
}

void slab_adopt(struct slab_cache *cache, struct slab *slab)
{
	int cpu = cpu_engine->cpu();

	if (cpu < 0) {
		slab->next = NULL;
		node_put(cache, slab);
		return;
	}
	cpu_slab_set_owner(&slab->cpu, (uint32_t)cpu);
	cpu_inject(CPU_INJECT_OWNER_SET);
	SLAB_PROBE(slab_acquire, cache->name, cache, slab, cpu, cpu_slab_free_count(&slab->cpu));
	slab_push_partial(cache, cpu, slab);
}

/* Link a batch in front of `first` (an index + 1, or 0) in links[]; returns the new first. Until an
 * object is delivered, its entry of links[] belongs to the thread that frees it. */
static unsigned link_batch(struct slab *slab, unsigned n, const uint16_t *offset8, unsigned first)
{
	for (unsigned i = 0; i < n; i++) {
		unsigned index = cpu_slab_index(&slab->cpu, offset8[i]);

		__atomic_store_n(&slab->links[index], (uint16_t)first, __ATOMIC_RELAXED);
		first = index + 1;
	}
	return first;
}

/* Does the remote freelist have room for n more objects? If not, some object was freed twice,
 * and the caller leaves the n objects allocated. */
static bool has_room(const struct slab *slab, uint64_t remote, unsigned n)
{
	return SLAB_LIKELY(REMOTE_COUNT(remote) + n <= slab->objects);
}

/* Add objects to the slab's remote freelist. If the slab was full, the exchange isolates it for this
 * thread: the objects are then on its own freelist, and *ret_isolated is the slab, else NULL. */
static bool deliver(struct slab *slab, unsigned n, const uint16_t *offset8,
		    struct slab **ret_isolated)
{
	uint64_t remote = __atomic_load_n(&slab->remote, __ATOMIC_RELAXED);
	uint64_t value;

	*ret_isolated = NULL;
	do {
		if (!has_room(slab, remote, n))
			return false;
		value = REMOTE_OWNED;
		if (remote & REMOTE_OWNED)
			value |= link_batch(slab, n, offset8, REMOTE_FIRST(remote)) |
				 (uint64_t)(REMOTE_COUNT(remote) + n) << 16;
		cpu_inject(CPU_INJECT_REMOTE_LINKED);
	} while (!__atomic_compare_exchange_n(&slab->remote, &remote, value, false,
					      __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
	idle_kick();
	if (remote & REMOTE_OWNED)
		return true;
	cpu_inject(CPU_INJECT_FULL_ISOLATED);
	cpu_slab_put(&slab->cpu, n, offset8);
	*ret_isolated = slab;
	return true;
}

/* The owner is that before the delivery, which may change it. */
static inline void probe_remote(const struct slab_cache *cache, const struct slab *slab, unsigned n)
{
	(void)cache, (void)slab, (void)n; /* without probes */
	SLAB_PROBE(free_remote, cache->name, cache, slab, n,
		   (int)__atomic_load_n(&slab->cpu.owner, __ATOMIC_RELAXED), cpu_rseq_number());
}

bool slab_deliver(struct slab_cache *cache, struct slab *slab, unsigned n, const uint16_t *offset8)
{
	struct slab *isolated;
	bool done;

	probe_remote(cache, slab, n);
	done = deliver(slab, n, offset8, &isolated);

	if (isolated)
		slab_adopt(cache, isolated);
	return done;
}

bool slab_deliver_isolating(void *obj, struct slab **ret_isolated)
{
	struct slab *slab = slab_of(obj);
	uint16_t offset8 = cpu_slab_offset8(&slab->cpu, obj);

	return deliver(slab, 1, &offset8, ret_isolated);
}

void slab_free_remote(struct slab_cache *cache, struct slab *slab, unsigned n,
		      const uint16_t *offset8)
{
	if (!slab_deliver(cache, slab, n, offset8))
		cache->checks->full(cache, slab, cpu_slab_object(&slab->cpu, offset8[0]), NULL);
}

bool slab_deliver_held(struct slab_cache *cache, void *obj)
{
	struct slab *slab = slab_of(obj);
	uint16_t offset8 = cpu_slab_offset8(&slab->cpu, obj);

	return slab_deliver(cache, slab, 1, &offset8);
}

void slab_free_chain(struct slab_cache *cache, struct slab *slab, unsigned first, unsigned last,
		     unsigned n)
{
	uint64_t remote = __atomic_load_n(&slab->remote, __ATOMIC_RELAXED);
	uint64_t value;

	probe_remote(cache, slab, n);
	do {
		if (!has_room(slab, remote, n)) {
			cache->checks->full(cache, slab,
					    slab->cpu.base + (first - 1) * slab_size(slab), NULL);
			return;
		}
		value = REMOTE_OWNED;
		__atomic_store_n(&slab->links[last - 1], (uint16_t)REMOTE_FIRST(remote),
				 __ATOMIC_RELAXED);
		if (remote & REMOTE_OWNED)
			value |= first | (uint64_t)(REMOTE_COUNT(remote) + n) << 16;
		cpu_inject(CPU_INJECT_CHAIN_LINKED);
	} while (!__atomic_compare_exchange_n(&slab->remote, &remote, value, false,
					      __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
	idle_kick();
	if (remote & REMOTE_OWNED)
		return;
	slab_put_chain(slab, first, n);
	slab_adopt(cache, slab);
}

void node_serve(struct slab_cache *cache, struct slab *slab)
{
	int error = 0;

	decay_begin_use(slab);
	if (slab_refill(cache, slab, &error)) {
		slab_adopt(cache, slab);
	} else if (error) {
		slab->next = NULL;
		node_put(cache, slab);
	}
}
