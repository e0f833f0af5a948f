/* SPDX-License-Identifier: MIT */
/*
 * Slabs and their ownership.
 *
 * A slab is, at any moment, exactly one of
 *   owned       by a CPU: its current slab, on its partial list, or on its
 *               stack of handed-off slabs. owner = CPU, REMOTE_OWNED.
 *   full        owner = none, remote = {no objects, not owned}. On no list.
 *   listed      on its node's partial list. owner = none, REMOTE_OWNED.
 *   isolated    known to one thread, which moves it between the other states.
 *               owner = none, REMOTE_OWNED.
 *   free        in the page layer.
 *
 * The critical transition is into and out of "full": the exchange that delivers
 * a freed object also shows whether a thread will collect it. If none would, the
 * exchange isolates the slab for the thread that frees.
 */
#include <errno.h>
#include <slab/stats.h>
#include <string.h>

#include "base/compiler.h"
#include "config/options.h"
#include "core/callback.h"
#include "core/node.h"
#include "core/pin.h"
#include "core/slab.h"
#include "pages/account.h"
#include "pages/idle.h"
#include "pages/topology.h"

/* Fresh objects come in pieces, so that a small cache touches little memory
 * and a growing one takes its page faults in large batches. */
#define INITIALIZE_BYTES 16384u
#define INITIALIZE_ALL_SLABS 4u

#define OBJECTS_MIN 12u /* in a slab, unless the largest slab holds fewer */

/* Objects that are linked by links[], into an isolated slab. */
void slab_put_chain(struct slab *slab, unsigned first, unsigned count)
{
	uint16_t offset8[CPU_BATCH_MAX];
	unsigned n = 0;

	for (unsigned i = first, left = count; i && left; left--) {
		uint16_t next = __atomic_load_n(&slab->links[i - 1], __ATOMIC_RELAXED);

		offset8[n++] = (uint16_t)((i - 1) * slab->cpu.size8);
		if (n == CPU_BATCH_MAX) {
			cpu_slab_put(&slab->cpu, n, offset8);
			n = 0;
		}
		i = next;
	}
	cpu_slab_put(&slab->cpu, n, offset8);
}

unsigned slab_collect(struct slab *slab)
{
	uint64_t remote = __atomic_load_n(&slab->remote, __ATOMIC_RELAXED);

	if (!REMOTE_FIRST(remote))
		return 0;
	remote = __atomic_exchange_n(&slab->remote, REMOTE_OWNED, __ATOMIC_ACQ_REL);
	slab_put_chain(slab, REMOTE_FIRST(remote), REMOTE_COUNT(remote));
	idle_clear_purged(slab);
	return REMOTE_COUNT(remote);
}

static unsigned initialize_target(struct slab_cache *cache, struct slab *slab)
{
	size_t size = (size_t)slab->cpu.size8 * 8, bytes = (slab->initialized + 1) * size;
	unsigned slabs = __atomic_load_n(&cache->node[slab->node].nr_slabs, __ATOMIC_RELAXED);
	unsigned target;

	if (slabs > INITIALIZE_ALL_SLABS)
		return slab->objects;
	if (bytes < slab->populated)
		bytes = slab->populated;
	else
		bytes = (bytes + INITIALIZE_BYTES) & ~(size_t)(INITIALIZE_BYTES - 1);
	target = (unsigned)(bytes / size);
	return target < slab->objects ? target : slab->objects;
}

/* splitmix64 on a counter: good enough to be unpredictable to a stray pointer. */
static uint64_t random_number(void)
{
	static uint64_t state;
	uint64_t x = __atomic_add_fetch(&state, UINT64_C(0x9e3779b97f4a7c15), __ATOMIC_RELAXED);

	x ^= (uintptr_t)&state;
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

void slab_shuffle(uint16_t *numbers, unsigned n)
{
	for (unsigned i = n; i > 1; i--) {
		unsigned j = (unsigned)(random_number() % i);
		uint16_t swap = numbers[i - 1];

		numbers[i - 1] = numbers[j];
		numbers[j] = swap;
	}
}

/* Put objects [first, last) on the freelist, so that the lowest comes out first,
 * or in no order at all (SLAB_RANDOM). */
static void put_fresh(struct slab *slab, unsigned first, unsigned last)
{
	uint16_t offset8[CPU_BATCH_MAX];

	while (last > first) {
		unsigned n = 0;

		while (last > first && n < CPU_BATCH_MAX)
			offset8[n++] = (uint16_t)(--last * slab->cpu.size8);
		if (slab_options()->random)
			slab_shuffle(offset8, n);
		cpu_slab_put(&slab->cpu, n, offset8);
	}
}

/* Objects from `first` on: up to which one. */
static unsigned construct(struct slab_cache *cache, struct slab *slab, unsigned first,
			  unsigned last)
{
	struct callback callback = callback_begin(cache);
	unsigned i = first;

	while (i < last && cache->ctor(slab->cpu.base + i * slab_size(slab), cache->arg) == 0)
		i++;
	callback_end(&callback);
	return i;
}

/* Make more objects of an isolated slab: 0, or ENOMEM when not a single one. */
static int initialize_objects(struct slab_cache *cache, struct slab *slab)
{
	size_t size = (size_t)slab->cpu.size8 * 8;
	unsigned first = slab->initialized, last = initialize_target(cache, slab);

	slab_populate(slab, last * size);
	if (cache->ctor)
		last = construct(cache, slab, first, last);
	if (last == first)
		return ENOMEM;
	slab_set_initialized(slab, last);
	put_fresh(slab, first, last);
	return 0;
}

bool slab_refill(struct slab_cache *cache, struct slab *slab, int *ret_error)
{
	for (;;) {
		uint64_t owned = REMOTE_OWNED;

		if (slab_collect(slab) || cpu_slab_free_count(&slab->cpu))
			return true;
		if (slab->initialized < slab->objects) {
			*ret_error = initialize_objects(cache, slab);
			return !*ret_error;
		}
		if (__atomic_compare_exchange_n(&slab->remote, &owned, 0, false, __ATOMIC_ACQ_REL,
						__ATOMIC_RELAXED))
			return false;
	}
}

bool slab_is_empty(const struct slab *slab)
{
	return cpu_slab_free_count(&slab->cpu) == slab->initialized;
}

struct slab *slab_create(struct slab_cache *cache, unsigned node)
{
	const size_t bytes = (size_t)1 << cache->slab_shift;
	struct slab *slab;

	if (!account_charge(&cache->account, bytes))
		return NULL;
	slab = segment_take_slab(cache->geometry, node);
	if (!slab) {
		account_give_up(&cache->account, bytes);
		return NULL;
	}
	__atomic_store_n(&slab->objects, (uint16_t)cache->objects, __ATOMIC_RELAXED);
	slab_set_initialized(slab, 0);
	__atomic_store_n(&slab->listed, 0, __ATOMIC_RELAXED);
	slab->next = slab->prev = NULL;
	__atomic_store_n(&slab->remote, REMOTE_OWNED, __ATOMIC_RELAXED);
	slab->waiting[0] = slab->waiting[1] = 0; /* lost in a fork, if anything */
	__atomic_fetch_add(&cache->node[node].nr_slabs, 1, __ATOMIC_RELAXED);
	cpu_slab_init(&slab->cpu, slab->cpu.base, cache->size, 0, cache_user(cache));
	return slab;
}

void slab_free_pages(struct slab_cache *cache, struct slab *slab)
{
	const size_t bytes = slab_bytes(slab);
	struct cache_node *node = &cache->node[slab->node];

	cache_event(cache, cpu_engine->cpu(), SLAB_EVENT_FREE_SLAB);
	segment_free_slab(slab);
	__atomic_fetch_sub(&node->nr_slabs, 1, __ATOMIC_RELEASE);
	account_release(&cache->account, bytes);
}

unsigned cache_count_slabs(const struct slab_cache *cache)
{
	unsigned slabs = 0;

	for (unsigned n = 0; n < topology_nodes(); n++)
		slabs += __atomic_load_n(&cache->node[n].nr_slabs, __ATOMIC_RELAXED);
	return slabs;
}

/* A cache that is being destroyed gets no more slabs, and a slab is counted for as long as
 * it leads to its cache: the scan ends with the last one. */
void cache_each_slab(const struct slab_cache *cache, void (*fn)(struct slab *, void *), void *arg)
{
	unsigned left = cache_count_slabs(cache);
	const bool dying = cache_is_dying(cache);

	for (struct segment *segment = segment_first(); segment && left; segment = segment->next) {
		if (segment->geometry != cache->geometry && !geometry_is_debug(segment->geometry))
			continue;
		const unsigned slabs = __atomic_load_n(&segment->slabs, __ATOMIC_ACQUIRE);

		for (unsigned i = 0; i < slabs && left; i++) {
			struct slab *slab = segment_slab(segment, i);

			if (slab_user(slab) != cache)
				continue;
			fn(slab, arg);
			left -= dying;
		}
	}
}

static bool wastes_at_most(size_t size, unsigned shift, unsigned fraction)
{
	size_t bytes = (size_t)1 << shift;

	return bytes / size >= OBJECTS_MIN && bytes % size <= bytes / fraction;
}

/* The smallest slab that holds enough objects and wastes little, as
 * calculate_order() of SLUB, for slabs of user space's size. */
unsigned cache_choose_slab_shift(size_t size)
{
	for (unsigned fraction = 16; fraction >= 2; fraction /= 2)
		for (unsigned shift = SLAB_SHIFT_MIN; shift <= SLAB_SHIFT_MAX; shift++)
			if (wastes_at_most(size, shift, fraction))
				return shift;
	return SLAB_SHIFT_MAX;
}
