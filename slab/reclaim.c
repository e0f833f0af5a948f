/* SPDX-License-Identifier: MIT */
/*
 * Taking slabs back from CPUs ("revocation"), and shrinking.
 *
 * close every slot that holds something · fence · now nobody changes these
 * slots but by pop and push on slabs they own: take current, partial, incoming
 * and gather, and clear each owner · fence · now the slabs are in hand.
 *
 * Meanwhile allocations on a closed CPU go to the node, object by object, so
 * nobody waits.
 *
 * Shrinking takes those listed slabs in hand that have no object in use (hand.h), and
 * sorts the others where they are.
 */
#include <errno.h>

#include "debug_cache.h"
#include "hand.h"

bool slot_holds(const struct cpu_slot *slot)
{
	return __atomic_load_n(&slot->current, __ATOMIC_RELAXED) ||
	       __atomic_load_n(&slot->hot, __ATOMIC_RELAXED) ||
	       __atomic_load_n(&slot->partial, __ATOMIC_RELAXED) ||
	       __atomic_load_n(&slot->incoming, __ATOMIC_RELAXED) ||
	       __atomic_load_n(&slot->gather, __ATOMIC_RELAXED);
}

static unsigned partial_count(const struct cpu_slot *slot)
{
	return cpu_word_count(__atomic_load_n(&slot->partial, __ATOMIC_RELAXED));
}

/* Close every slot that holds something, with more than `over` partial slabs
 * if that is not 0: how many. */
static unsigned close_slots(struct slab_cache *cache, unsigned over)
{
	unsigned closed = 0;

	for (unsigned cpu = 0; cpu < cpu_possible(); cpu++) {
		struct cpu_slot *slot = cpu_slot(cache->cpu_slots, cpu);

		if (slot_holds(slot) && (!over || partial_count(slot) > over)) {
			__atomic_store_n(&slot->closed, 1, __ATOMIC_SEQ_CST);
			closed++;
		}
	}
	return closed;
}

static void take_list(struct slab_cache *cache, unsigned cpu, uint64_t word, struct slab **hand)
{
	while (word) {
		struct slab *slab = slab_from_cpu(cpu_word_slab(word));

		word = slab->cpu.next;
		cpu_engine->revoke(cache->cpu_slots, (int)cpu, &slab->cpu);
		slab->next = *hand;
		*hand = slab;
	}
}

void slot_take_gather(struct cpu_slot *slot, struct cpu_batch *batch)
{
	uint64_t word = __atomic_load_n(&slot->gather, __ATOMIC_RELAXED);

	batch->slab = cpu_word_slab(word);
	batch->count = cpu_word_count(word);
	for (unsigned i = 0; i < batch->count; i++)
		batch->offset8[i] = slot->gather_buf[i];
	__atomic_store_n(&slot->gather, 0, __ATOMIC_RELAXED);
}

/*
 * No current slab, and fenced since: nobody allocates the hot object any more.
 * Frees may fill the place again at any time, hence the exchange.
 */
static void free_hot(struct slab_cache *cache, struct cpu_slot *slot)
{
	void *obj = (void *)__atomic_exchange_n(&slot->hot, 0, __ATOMIC_ACQ_REL);
	uint16_t offset8;

	if (!obj)
		return;
	offset8 = cpu_slab_offset8(&slab_of(obj)->cpu, obj);
	slab_free_remote(cache, slab_of(obj), 1, &offset8);
}

/* Closed and fenced: the slot is ours. */
static struct slab *take_slot(struct slab_cache *cache, unsigned cpu, struct slab *hand)
{
	struct cpu_slot *slot = cpu_slot(cache->cpu_slots, cpu);
	struct cpu_slab *current = __atomic_load_n(&slot->current, __ATOMIC_RELAXED);
	struct cpu_batch batch;

	__atomic_store_n(&slot->current, NULL, __ATOMIC_SEQ_CST);
	if (current) {
		current->next = 0;
		take_list(cache, cpu, cpu_word(current, 1), &hand);
	}
	take_list(cache, cpu, __atomic_exchange_n(&slot->partial, 0, __ATOMIC_ACQUIRE), &hand);
	take_list(cache, cpu, __atomic_exchange_n(&slot->incoming, 0, __ATOMIC_ACQUIRE), &hand);
	/* The gathered objects go where they belong, as the CPU itself would send them. */
	slot_take_gather(slot, &batch);
	if (batch.count)
		slab_free_remote(cache, slab_from_cpu(batch.slab), batch.count, batch.offset8);
	return hand;
}

unsigned slab_put_back(struct slab_cache *cache, struct slab *hand)
{
	struct slab *partial = NULL, *next;

	for (; hand; hand = next) {
		int error = 0;

		next = hand->next;
		if (hand->carved < hand->objects || slab_make_ready(cache, hand, &error)) {
			hand->next = partial;
			partial = hand;
		}
	}
	return node_put(cache, partial);
}

/* idle_since, unless it is 0, is for the slabs that they held. */
static unsigned flush_locked(struct slab_cache *cache, unsigned over, uint32_t idle_since)
{
	struct slab *hand = NULL;

	if (!close_slots(cache, over))
		return 0;
	cpu_engine->fence(cache->cpu_slots);
	for (unsigned cpu = 0; cpu < cpu_possible(); cpu++)
		if (__atomic_load_n(&cpu_slot(cache->cpu_slots, cpu)->closed, __ATOMIC_RELAXED)) {
			hand = take_slot(cache, cpu, hand);
			cache_event(cache, (int)cpu, SLAB_EVENT_FLUSH);
		}
	cpu_engine->fence(cache->cpu_slots);
	for (unsigned cpu = 0; cpu < cpu_possible(); cpu++) {
		struct cpu_slot *slot = cpu_slot(cache->cpu_slots, cpu);

		if (__atomic_load_n(&slot->closed, __ATOMIC_RELAXED)) {
			free_hot(cache, slot);
			__atomic_store_n(&slot->closed, 0, __ATOMIC_RELEASE);
		}
	}
	for (struct slab *slab = hand; slab; slab = slab->next)
		slab_set_idle_since(slab, idle_since);
	return slab_put_back(cache, hand);
}

/* A gathered batch may make a CPU own a slab meanwhile, hence twice. */
static unsigned revoke_locked(struct slab_cache *cache, uint32_t idle_since)
{
	unsigned released = flush_locked(cache, 0, idle_since);

	return released + flush_locked(cache, 0, idle_since);
}

unsigned cache_revoke(struct slab_cache *cache, uint32_t idle_since)
{
	unsigned released;

	hand_lock(cache);
	released = revoke_locked(cache, idle_since);
	hand_unlock(cache);
	return released;
}

/* Empty slabs of a node that are to go. */
struct release {
	struct slab_cache *cache;
	struct cache_node *node;
	unsigned kept; /* so many slabs stay listed */
	unsigned released;
};

static bool is_surplus(struct slab *slab, void *arg)
{
	const struct release *release = arg;

	return release->node->partial.count > release->kept && !slab_used(slab);
}

static bool is_unused(struct slab *slab, void *arg)
{
	(void)arg;
	return !slab_used(slab);
}

/* Nobody allocates from them since they were seen to be empty; but of a damaged freelist
 * that was a guess, and validation is to see it. */
static void release(struct slab *hand, void *arg)
{
	struct release *release = arg;
	struct slab *empty = NULL, *others = NULL, *next;

	for (; hand; hand = next) {
		struct slab **chain;

		next = hand->next;
		slab_collect(hand);
		chain = slab_is_empty(hand) ? &empty : &others;
		hand->next = *chain;
		*chain = hand;
	}
	if (others)
		node_put_last(release->cache, others->node, others);
	release->released += node_release(release->cache, empty);
}

static unsigned release_from(struct slab_cache *cache, unsigned n, enum hand_lock lock,
			     bool (*wants)(struct slab *, void *))
{
	struct release arg = {
		.cache = cache,
		.node = &cache->node[n],
		.kept = __atomic_load_n(&cache->min_partial, __ATOMIC_RELAXED),
	};

	hand_walk(&(struct hand_walk){.cache = cache,
				      .node = n,
				      .lock = lock,
				      .sparse = true,
				      .wants = wants,
				      .look = release,
				      .arg = &arg});
	return arg.released;
}

unsigned cache_flush_locked(struct slab_cache *cache)
{
	unsigned released = revoke_locked(cache, 0);

	for (unsigned n = 0; n < topology_nodes(); n++)
		released += release_from(cache, n, HAND_LOCKED, is_surplus);
	return released;
}

unsigned cache_flush(struct slab_cache *cache)
{
	unsigned released;

	hand_lock(cache);
	released = cache_flush_locked(cache);
	hand_unlock(cache);
	return released;
}

/*
 * A CPU that mostly frees comes to own slabs that another one allocated from. It
 * keeps those with objects in use, and would keep them for ever; so before fresh
 * memory is taken, CPUs that hold more than a quarter of the cache's slabs give
 * up theirs.
 */
bool cache_steal(struct slab_cache *cache)
{
	unsigned slabs = 0, over;
	bool found = false;

	for (unsigned n = 0; n < topology_nodes(); n++)
		slabs += __atomic_load_n(&cache->node[n].nr_slabs, __ATOMIC_RELAXED);
	over = __atomic_load_n(&cache->cpu_partial, __ATOMIC_RELAXED);
	over = slabs / 4 > over ? slabs / 4 : over;
	for (unsigned cpu = 0; cpu < cpu_possible() && !found; cpu++)
		found = partial_count(cpu_slot(cache->cpu_slots, cpu)) > over;
	if (!found || !hand_trylock(cache))
		return false;
	flush_locked(cache, over, 0);
	hand_unlock(cache);
	return true;
}

unsigned cache_release_empty(struct slab_cache *cache, bool soon)
{
	unsigned released = 0;

	for (unsigned n = 0; n < topology_nodes(); n++) {
		released += release_from(cache, n, soon ? HAND_SOON : HAND_WAIT, is_unused);
		node_sort(cache, n);
		if (hand_lock_as(cache, soon ? HAND_SOON : HAND_WAIT)) {
			released += debug_node_shrink(cache, n);
			hand_unlock(cache);
		}
	}
	return released;
}

unsigned cache_shrink(struct slab_cache *cache)
{
	unsigned released = cache_flush(cache) + debug_settle(cache);

	return released + cache_release_empty(cache, false);
}

int slab_cache_shrink(struct slab_cache *cache)
{
	unsigned released;

	if (!cache || cache->magic != CACHE_MAGIC) {
		errno = EINVAL;
		return -EINVAL;
	}
	released = cache_shrink(cache);
	segment_trim(NULL);
	return (int)released;
}
