/* SPDX-License-Identifier: MIT */
/* Making a slab, its size, and finding the slabs of a cache. */
#include "core/slab.h"

#include <sys/auxv.h>

#include "base/probe.h"
#include "core/debug_record.h"
#include "core/pin.h"
#include "core/shard.h"
#include "pages/free_slabs.h"

/* The least objects in a slab of each order, unless the largest slab holds fewer. */
#define OBJECTS_MIN_SMALL 8u
#define OBJECTS_MIN_LARGE 12u
#define SHIFT_MIN_LARGE 16u

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

void slab_shuffle(void **objs, unsigned n)
{
	for (unsigned i = n; i > 1; i--) {
		unsigned j = (unsigned)(random_number() % i);
		void *swap = objs[i - 1];

		objs[i - 1] = objs[j];
		objs[j] = swap;
	}
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

/* A slab of this order, or of the small one if a limit leaves no room for it. */
static struct slab *create(struct slab_cache *cache, const struct slab_order *order, unsigned node,
			   bool may_grow)
{
	struct slab_needs needs = {.shift = order->shift, .node = node, .may_grow = may_grow};
	struct slab *slab;

	if (!cache_charge(cache, &needs.shift))
		return NULL;
	if (needs.shift != order->shift)
		order = &cache->small;
	needs.objects = order->objects;
	needs.waiting = slab_waiting_words(cache, order->objects);
	needs.space = cache->space;
	slab = segment_take_slab(&needs);
	if (!slab) {
		account_give_up(&cache->account, (size_t)1 << needs.shift);
		return NULL;
	}
	slab->bucket = SLAB_OFF;
	slab->up = UINT16_MAX;
	__atomic_fetch_add(&cache->node[node].nr_slabs, 1, __ATOMIC_RELAXED);
	segment_set_user(slab, cache_user(cache));
	SLAB_PROBE(slab_new, cache->name, cache, slab, slab_bytes(slab), node);
	return slab;
}

struct slab *slab_create(struct slab_cache *cache, unsigned node, bool may_grow)
{
	const struct slab_order *order = cache_next_order(cache);
	struct slab *slab = create(cache, order, node, may_grow);

	if (!slab && !may_grow && order->shift > cache->small.shift)
		slab = create(cache, &cache->small, node, false);
	return slab;
}

void slab_return_units(struct space *space, struct slab *slab)
{
	const struct slab_debug *debug = slab->debug;

	if (!space)
		segment_free_slab(slab);
	else
		space_free_slab(space, slab,
				debug ? debug_layout_number(debug->size, debug->red_left) : 0);
}

void slab_free_pages(struct slab_cache *cache, struct slab *slab)
{
	const size_t bytes = slab_bytes(slab);
	struct cache_node *node = &cache->node[slab->node];

	SLAB_PROBE(slab_free, cache->name, cache, slab, bytes, slab->node);
	cache_event(cache, cpu_engine->cpu(), SLAB_EVENT_FREE_SLAB);
	slab_return_units(cache->space, slab);
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

/* --- which objects are allocated: debug slabs have records, others have a map ----------------- */

unsigned slab_used(const struct slab *slab)
{
	const struct slab_debug *debug = __atomic_load_n(&slab->debug, __ATOMIC_RELAXED);
	unsigned free, initialized;

	if (debug)
		return __atomic_load_n(&debug->used, __ATOMIC_RELAXED);
	free = slab_free_count(slab);
	initialized = slab_initialized(slab);
	return free < initialized ? initialized - free : 0;
}

bool debug_is_allocated(const struct slab *slab, unsigned index)
{
	if (!slab->debug)
		return !slab_bit(slab, index);
	return debug_record(slab, index)->state == OBJECT_ALLOCATED;
}
