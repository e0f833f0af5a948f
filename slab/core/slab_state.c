/* SPDX-License-Identifier: MIT */
/*
 * The states of a slab, and how it gets free objects.
 *
 * At any moment a slab is in exactly one of these states:
 *   owned       A CPU has it: as its current slab, on its CPU partial list, or on its
 *               handed-off stack. owner = CPU, REMOTE_OWNED set.
 *   full        No free object, on no list. owner = none, remote = 0.
 *   listed      On its node's partial list. owner = none, REMOTE_OWNED set.
 *   isolated    One thread has it and moves it between the other states.
 *               owner = none, REMOTE_OWNED set.
 *   free        In the page layer.
 *
 * The critical transitions lead into and out of "full". The exchange that delivers a freed object
 * also shows whether another thread will collect the object. If none will (the slab was full), the
 * same exchange isolates the slab for the thread that frees.
 */
#include <errno.h>
#include <slab/stats.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/compiler.h"
#include "base/probe.h"
#include "base/round.h"
#include "base/options.h"
#include "inject.h"
#include "core/callback.h"
#include "core/node.h"
#include "core/pin.h"
#include "core/slab.h"
#include "pages/account.h"
#include "pages/free_slabs.h"
#include "pages/idle.h"
#include "pages/os.h"
#include "pages/topology.h"

/* Initialize objects in pieces. A small cache then touches little memory, and a growing one takes
 * its page faults in large batches. */
#define INITIALIZE_BYTES 16384u
#define INITIALIZE_ALL_SLABS 4u

/* The least objects in a slab of each order, unless the largest slab holds fewer. */
#define OBJECTS_MIN_SMALL 8u
#define OBJECTS_MIN_LARGE 12u
#define SHIFT_MIN_LARGE 16u

/* Put a chain of objects in links[] on the freelist of an isolated slab. Objects that were freed in
 * the order of their addresses are linked downwards; the inner loop does not wait for the load of
 * one link before that of the next. */
void slab_put_chain(struct slab *slab, unsigned first, unsigned count)
{
	const unsigned size8 = slab->cpu.size8;
	const uint16_t *links = slab->links;
	uint16_t offset8[CPU_BATCH_MAX];
	unsigned n = 0;

	for (unsigned i = first, next = i; next && count; i = next) {
		do {
			i--;
			next = __atomic_load_n(&links[i], __ATOMIC_RELAXED);
			offset8[n++] = (uint16_t)(i * size8);
			if (n == CPU_BATCH_MAX) {
				cpu_slab_put(&slab->cpu, n, offset8);
				n = 0;
			}
		} while (--count && next == i && i);
	}
	cpu_slab_put(&slab->cpu, n, offset8);
}

unsigned slab_collect(struct slab *slab)
{
	uint64_t remote = __atomic_load_n(&slab->remote, __ATOMIC_RELAXED);

	if (!REMOTE_FIRST(remote))
		return 0;
	remote = __atomic_exchange_n(&slab->remote, REMOTE_OWNED, __ATOMIC_ACQ_REL);
	cpu_inject(CPU_INJECT_REMOTE_COLLECTED);
	slab_put_chain(slab, REMOTE_FIRST(remote), REMOTE_COUNT(remote));
	idle_clear_purged(slab);
	return REMOTE_COUNT(remote);
}

/* How much of a slab is initialized at once. In a cache's first slab, as much as was before: a cache
 * with one object populates one page. */
static size_t initialize_step(unsigned slabs, size_t initialized)
{
	size_t step = os_page_size();

	while (step < INITIALIZE_BYTES && (slabs > 1 || step < initialized))
		step *= 2;
	return step;
}

static unsigned initialize_target(struct slab_cache *cache, struct slab *slab)
{
	size_t size = (size_t)slab->cpu.size8 * 8, bytes = (slab->initialized + 1) * size;
	unsigned slabs = __atomic_load_n(&cache->node[slab->node].nr_slabs, __ATOMIC_RELAXED);
	const size_t step = initialize_step(slabs, slab->initialized * size);
	unsigned target;

	if (slabs > INITIALIZE_ALL_SLABS)
		return slab->objects;
	if (bytes < slab->populated)
		bytes = slab->populated;
	else
		bytes = round_up(bytes, step);
	target = (unsigned)(bytes / size);
	return target < slab->objects ? target : slab->objects;
}

/* The finalizer of splitmix64. */
static uint64_t mixed(uint64_t x)
{
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

/* The kernel gives each program 16 random bytes. The C library takes its stack canary and its
 * pointer guard from them; from their mix neither can be computed. */
static uint64_t random_seed(void)
{
	const void *random = (const void *)getauxval(AT_RANDOM);
	uint64_t words[2] = {0, 0};

	if (random)
		memcpy(words, random, sizeof(words));
	return mixed(words[0]) ^ mixed(~words[1]);
}

/* Unpredictable enough for a stray pointer; no cryptography. A forked child goes on with its
 * parent's sequence. */
static uint64_t random_number(void)
{
	static uint64_t state, seed;
	uint64_t x = __atomic_add_fetch(&state, UINT64_C(0x9e3779b97f4a7c15), __ATOMIC_RELAXED);
	uint64_t known = __atomic_load_n(&seed, __ATOMIC_RELAXED);

	if (!known) {
		known = random_seed() | 1;
		__atomic_store_n(&seed, known, __ATOMIC_RELAXED);
	}
	return mixed(x ^ known);
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

/* Put objects [first, last) on the freelist: the lowest comes out first, or in random order
 * (SLAB_RANDOM). */
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

/* Construct objects from `first` on until a constructor fails. Returns the end of the constructed
 * objects. */
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

/* Initialize more objects of an isolated slab. Returns 0, or ENOMEM if it could initialize
 * none. */
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
	cpu_inject(CPU_INJECT_INITIALIZED);
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
		cpu_inject(CPU_INJECT_FULL_NEXT);
		if (__atomic_compare_exchange_n(&slab->remote, &owned, 0, false, __ATOMIC_ACQ_REL,
						__ATOMIC_RELAXED))
			return false;
	}
}

bool slab_is_empty(const struct slab *slab)
{
	return cpu_slab_free_count(&slab->cpu) == slab->initialized;
}

bool cache_charge(struct slab_cache *cache, unsigned *shift)
{
	if (account_charge(&cache->account, (size_t)1 << *shift))
		return true;
	if (*shift <= cache->small.shift)
		return false;
	*shift = cache->small.shift;
	alloc_failure_clear();
	return account_charge(&cache->account, (size_t)1 << *shift);
}

struct slab *slab_create(struct slab_cache *cache, unsigned node)
{
	const struct slab_order *order = cache_next_order(cache);
	unsigned shift = order->shift;
	struct slab *slab;

	if (!cache_charge(cache, &shift))
		return NULL;
	if (shift != order->shift)
		order = &cache->small;
	slab = segment_take_slab(order->geometry, node);
	if (!slab) {
		account_give_up(&cache->account, (size_t)1 << shift);
		return NULL;
	}
	__atomic_store_n(&slab->objects, (uint16_t)order->objects, __ATOMIC_RELAXED);
	slab_set_initialized(slab, 0);
	__atomic_store_n(&slab->listed, 0, __ATOMIC_RELAXED);
	slab->next = slab->prev = NULL;
	__atomic_store_n(&slab->remote, REMOTE_OWNED, __ATOMIC_RELAXED);
	slab->waiting[0] = slab->waiting[1] = 0; /* a fork may have lost waiting objects */
	__atomic_fetch_add(&cache->node[node].nr_slabs, 1, __ATOMIC_RELAXED);
	cpu_slab_init(&slab->cpu, slab->cpu.base, cache->size, 0, cache_user(cache));
	segment_set_number(slab, cache_plain_number(cache));
	SLAB_PROBE(slab_new, cache->name, cache, slab, slab_bytes(slab), node);
	return slab;
}

void slab_free_pages(struct slab_cache *cache, struct slab *slab)
{
	const size_t bytes = slab_bytes(slab);
	struct cache_node *node = &cache->node[slab->node];

	SLAB_PROBE(slab_free, cache->name, cache, slab, bytes, slab->node);
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

/* While a cache is being destroyed it gets no more slabs, and its count includes every slab that
 * still names it. So the scan may stop after that number of slabs. */
void cache_each_slab(const struct slab_cache *cache, void (*fn)(struct slab *, void *), void *arg)
{
	unsigned left = cache_count_slabs(cache);
	const bool dying = cache_is_dying(cache);

	for (struct segment *segment = segment_first(); segment && left; segment = segment->next) {
		struct slab *slab = NULL, *before;

		for (unsigned u = 0; u < SEGMENT_UNITS && left; u++) {
			before = slab;
			slab = segment_slab(segment, u);
			if (slab == before || slab_user(slab) != cache)
				continue;
			fn(slab, arg);
			left -= dying;
		}
	}
}

/* The smallest slab that holds enough objects and wastes little, as SLUB's calculate_order()
 * chooses orders. The waste may be larger if no slab wastes less than 1 / fraction. */
static unsigned choose_shift(size_t size, unsigned shift_min, unsigned objects_min,
			     unsigned fraction)
{
	for (; fraction >= 2; fraction /= 2)
		for (unsigned shift = shift_min; shift <= SLAB_SHIFT_MAX; shift++) {
			size_t bytes = (size_t)1 << shift;

			if (bytes / size >= objects_min && bytes % size <= bytes / fraction)
				return shift;
		}
	return SLAB_SHIFT_MAX;
}

unsigned slab_choose_large_shift(size_t size)
{
	return choose_shift(size, SHIFT_MIN_LARGE, OBJECTS_MIN_LARGE, 16);
}

/* A cache with few objects wastes more in slabs that are not full than behind the last objects. */
unsigned slab_choose_small_shift(size_t size)
{
	unsigned small = choose_shift(size, slab_least_shift(), OBJECTS_MIN_SMALL, 8);
	unsigned large = slab_choose_large_shift(size);

	return small < large ? small : large;
}
