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
 */
#include <errno.h>

#include "debug_cache.h"

#define FREE_BUCKETS 64u

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

	pthread_mutex_lock(&cache->flush_lock);
	released = revoke_locked(cache, idle_since);
	pthread_mutex_unlock(&cache->flush_lock);
	return released;
}

unsigned cache_flush_locked(struct slab_cache *cache)
{
	unsigned released = revoke_locked(cache, 0);

	for (unsigned n = 0; n < topology_nodes(); n++)
		released += node_put(cache, node_take(cache, n, NODE_ALL));
	return released;
}

unsigned cache_flush(struct slab_cache *cache)
{
	unsigned released;

	pthread_mutex_lock(&cache->flush_lock);
	released = cache_flush_locked(cache);
	pthread_mutex_unlock(&cache->flush_lock);
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
	if (!found || pthread_mutex_trylock(&cache->flush_lock) != 0)
		return false;
	flush_locked(cache, over, 0);
	pthread_mutex_unlock(&cache->flush_lock);
	return true;
}

/* Empty slabs go; the others return with the fullest first. */
static unsigned shrink_node(struct slab_cache *cache, unsigned n)
{
	struct slab *bucket[FREE_BUCKETS + 1] = {NULL}, *next;
	struct slab *slab = node_take(cache, n, NODE_ALL);
	unsigned released = 0;

	for (; slab; slab = next) {
		next = slab->next;
		slab_collect(slab);
		if (slab_is_empty(slab)) {
			slab_release(cache, slab);
			released++;
			continue;
		}

		unsigned unused = slab->objects - slab->carved + cpu_slab_free_count(&slab->cpu);
		unsigned b = unused * FREE_BUCKETS / slab->objects;

		slab->next = bucket[b];
		bucket[b] = slab;
	}
	/* The emptiest first: each goes to the head of the list. */
	for (unsigned b = FREE_BUCKETS + 1; b-- > 0;)
		node_put(cache, bucket[b]);
	return released;
}

unsigned cache_release_empty(struct slab_cache *cache)
{
	unsigned released = 0;

	for (unsigned n = 0; n < topology_nodes(); n++)
		released += shrink_node(cache, n) + debug_node_shrink(cache, n);
	return released;
}

unsigned cache_shrink(struct slab_cache *cache)
{
	unsigned released = cache_flush(cache) + debug_settle(cache);

	return released + cache_release_empty(cache);
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
