/* SPDX-License-Identifier: MIT */
/*
 * Slabs and their ownership.
 *
 * A slab is, at any moment, exactly one of
 *   owned       by a CPU: its current slab, on its partial list, or on its
 *               incoming stack. owner = CPU, REMOTE_OWNED.
 *   full        owner = none, remote = {no objects, not owned}. On no list.
 *   listed      on its node's partial list. owner = none, REMOTE_OWNED.
 *   in hand     of one thread that moves it between the others. owner = none,
 *               REMOTE_OWNED.
 *   free        in the page layer.
 *
 * The step that must not go wrong is into and out of "full": whoever frees an
 * object sees in the same exchange that delivers it whether somebody will
 * collect it. If nobody would, the exchange makes him the one who has the slab
 * in hand.
 */
#include <errno.h>
#include <slab/stats.h>
#include <string.h>

#include "base/compiler.h"
#include "config/options.h"
#include "core/callback.h"
#include "core/node.h"
#include "core/refill.h"
#include "core/slab.h"
#include "debug/debug_cache.h"
#include "pages/account.h"
#include "pages/idle.h"

#define FIRST(remote) ((unsigned)((remote) & 0xffff))
#define COUNT(remote) ((unsigned)((remote) >> 16 & 0xffff))

/* Fresh objects come in pieces, so that a small cache touches little memory
 * and a growing one takes its page faults in large batches. */
#define CARVE_BYTES 16384u
#define CARVE_ALL_SLABS 4u

/* A list word counts to 65535. */
#define PARTIAL_LIMIT_MAX 32768u

/* Objects that are linked by links[], into a slab in hand. */
static void put_chain(struct slab *slab, unsigned first, unsigned count)
{
	uint16_t offset8[CPU_GATHER_MAX];
	unsigned n = 0;

	for (unsigned i = first, left = count; i && left; left--) {
		uint16_t next = __atomic_load_n(&slab->links[i - 1], __ATOMIC_RELAXED);

		offset8[n++] = (uint16_t)((i - 1) * slab->cpu.size8);
		if (n == CPU_GATHER_MAX) {
			cpu_slab_hand_put(&slab->cpu, n, offset8);
			n = 0;
		}
		i = next;
	}
	cpu_slab_hand_put(&slab->cpu, n, offset8);
}

unsigned slab_collect(struct slab *slab)
{
	uint64_t remote = __atomic_load_n(&slab->remote, __ATOMIC_RELAXED);

	if (!FIRST(remote))
		return 0;
	remote = __atomic_exchange_n(&slab->remote, REMOTE_OWNED, __ATOMIC_ACQ_REL);
	put_chain(slab, FIRST(remote), COUNT(remote));
	decay_unsettle(slab);
	return COUNT(remote);
}

static unsigned carve_target(struct slab_cache *cache, struct slab *slab)
{
	size_t size = (size_t)slab->cpu.size8 * 8, bytes = (slab->carved + 1) * size;
	unsigned slabs = __atomic_load_n(&cache->node[slab->node].nr_slabs, __ATOMIC_RELAXED);
	unsigned target;

	if (slabs > CARVE_ALL_SLABS)
		return slab->objects;
	if (bytes < slab->populated)
		bytes = slab->populated;
	else
		bytes = (bytes + CARVE_BYTES) & ~(size_t)(CARVE_BYTES - 1);
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
	uint16_t offset8[CPU_GATHER_MAX];

	while (last > first) {
		unsigned n = 0;

		while (last > first && n < CPU_GATHER_MAX)
			offset8[n++] = (uint16_t)(--last * slab->cpu.size8);
		if (slab_options()->random)
			slab_shuffle(offset8, n);
		cpu_slab_hand_put(&slab->cpu, n, offset8);
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

/* Make more objects of a slab in hand: 0, or ENOMEM when not a single one. */
static int carve(struct slab_cache *cache, struct slab *slab)
{
	size_t size = (size_t)slab->cpu.size8 * 8;
	unsigned first = slab->carved, last = carve_target(cache, slab);

	slab_populate(slab, last * size);
	if (cache->ctor)
		last = construct(cache, slab, first, last);
	if (last == first)
		return ENOMEM;
	put_fresh(slab, first, last);
	slab_set_carved(slab, last);
	return 0;
}

bool slab_make_ready(struct slab_cache *cache, struct slab *slab, int *ret_error)
{
	for (;;) {
		uint64_t owned = REMOTE_OWNED;

		if (slab_collect(slab) || cpu_slab_free_count(&slab->cpu))
			return true;
		if (slab->carved < slab->objects) {
			*ret_error = carve(cache, slab);
			return !*ret_error;
		}
		if (__atomic_compare_exchange_n(&slab->remote, &owned, 0, false, __ATOMIC_ACQ_REL,
						__ATOMIC_RELAXED))
			return false;
	}
}

bool slab_is_empty(const struct slab *slab)
{
	return cpu_slab_free_count(&slab->cpu) == slab->carved;
}

/* Of a slab that CPUs work on at this moment it is a guess. */
unsigned slab_used(const struct slab *slab)
{
	unsigned carved = slab_carved(slab), unused;

	if (slab->debug || slab_drains(slab))
		return debug_used(slab);
	unused = cpu_slab_free_count(&slab->cpu) +
		 (uint16_t)(__atomic_load_n(&slab->remote, __ATOMIC_RELAXED) >> 16);
	return unused < carved ? carved - unused : 0;
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
	slab_set_carved(slab, 0);
	__atomic_store_n(&slab->listed, 0, __ATOMIC_RELAXED);
	slab->next = slab->prev = NULL;
	__atomic_store_n(&slab->remote, REMOTE_OWNED, __ATOMIC_RELAXED);
	slab->waiting[0] = slab->waiting[1] = 0; /* lost in a fork, if anything */
	__atomic_fetch_add(&cache->node[node].nr_slabs, 1, __ATOMIC_RELAXED);
	cpu_slab_init(&slab->cpu, slab->cpu.base, cache->size, cache->objects, cache_user(cache));
	return slab;
}

void slab_give_back(struct slab_cache *cache, struct slab *slab)
{
	const size_t bytes = slab_bytes(slab);
	struct cache_node *node = &cache->node[slab->node];

	cache_event(cache, cpu_engine->cpu(), SLAB_EVENT_FREE_SLAB);
	segment_free_slab(slab);
	__atomic_fetch_sub(&node->nr_slabs, 1, __ATOMIC_RELEASE);
	account_release(&cache->account, bytes);
}

/* Push on the stack of slabs that `cpu` finds in its slow path. */
static void push_incoming(struct slab_cache *cache, int cpu, struct slab *slab)
{
	struct cpu_slot *slot = cpu_slot(cache->cpu_slots, cpu);
	uint64_t head = __atomic_load_n(&slot->incoming, __ATOMIC_RELAXED);

	do
		slab->cpu.next = head;
	while (!__atomic_compare_exchange_n(&slot->incoming, &head, (uintptr_t)slab, true,
					    __ATOMIC_RELEASE, __ATOMIC_RELAXED));
	cache_event(cache, cpu, SLAB_EVENT_INCOMING);
}

static bool still_on(struct slab_cache *cache, int cpu)
{
	return cpu_engine->cpu() == cpu &&
	       !__atomic_load_n(&cpu_slot(cache->cpu_slots, cpu)->closed, __ATOMIC_RELAXED);
}

/* Put a chain of slabs that `cpu` owns on its list; slab by slab on its incoming
 * stack when we are elsewhere by now. */
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
	while (n--) {
		struct slab *next = slab_from_cpu(cpu_word_slab(first->cpu.next));

		push_incoming(cache, cpu, first);
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

/* No object of an owned slab is in use. It stays so while nobody allocates. */
static bool is_unused(const struct slab *slab)
{
	uint64_t remote = __atomic_load_n(&slab->remote, __ATOMIC_RELAXED);

	return cpu_slab_free_count(&slab->cpu) + COUNT(remote) == slab->carved;
}

/*
 * The CPU holds more slabs than it should: those without objects in use go to
 * their nodes. The others stay, since frees into them would otherwise become
 * exchanges; the limit is raised to twice what stays, so that looking through
 * the list costs little for each slab that is added.
 */
static void trim_partial(struct slab_cache *cache, int cpu)
{
	struct slab *hand = NULL, *first = NULL, *last = NULL;
	unsigned kept = 0;
	uint64_t word;

	if (cpu_engine->partial_take(cache->cpu_slots, cpu, &word) != CPU_DONE)
		return;
	while (word) {
		struct slab *slab = slab_from_cpu(cpu_word_slab(word));

		word = slab->cpu.next;
		if (is_unused(slab) && disown(cache, cpu, slab)) {
			slab->next = hand;
			hand = slab;
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
	node_put(cache, hand);
}

void slab_list(struct slab_cache *cache, int cpu, struct slab *slab)
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
	slab_list(cache, cpu, slab);
}

unsigned slab_link_batch(struct slab *slab, unsigned n, const uint16_t *offset8, unsigned first)
{
	for (unsigned i = 0; i < n; i++) {
		unsigned index = cpu_slab_index(&slab->cpu, offset8[i]);

		__atomic_store_n(&slab->links[index], (uint16_t)first, __ATOMIC_RELAXED);
		first = index + 1;
	}
	return first;
}

/* Can n more objects wait for the slab's owner? Not when that makes more than the slab has:
 * then some were freed twice. Objects that cannot wait stay allocated. */
static bool has_room(struct slab_cache *cache, struct slab *slab, uint64_t remote, unsigned n,
		     unsigned first)
{
	if (SLAB_LIKELY(COUNT(remote) + n <= slab->objects))
		return true;
	debug_report_full(cache, slab, slab->cpu.base + first * slab_size(slab), NULL);
	return false;
}

void slab_free_remote(struct slab_cache *cache, struct slab *slab, unsigned n,
		      const uint16_t *offset8)
{
	uint64_t remote = __atomic_load_n(&slab->remote, __ATOMIC_RELAXED);
	uint64_t value;

	do {
		if (!has_room(cache, slab, remote, n, cpu_slab_index(&slab->cpu, offset8[0])))
			return;
		value = REMOTE_OWNED;
		if (remote & REMOTE_OWNED)
			value |= slab_link_batch(slab, n, offset8, FIRST(remote)) |
				 (uint64_t)(COUNT(remote) + n) << 16;
	} while (!__atomic_compare_exchange_n(&slab->remote, &remote, value, false,
					      __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
	decay_stir();
	if (remote & REMOTE_OWNED)
		return;
	/* It was full and is now in hand: the first who frees owns it. */
	cpu_slab_hand_put(&slab->cpu, n, offset8);
	slab_adopt(cache, slab);
}

void slab_free_chain(struct slab_cache *cache, struct slab *slab, unsigned first, unsigned last,
		     unsigned n)
{
	uint64_t remote = __atomic_load_n(&slab->remote, __ATOMIC_RELAXED);
	uint64_t value;

	do {
		if (!has_room(cache, slab, remote, n, first - 1))
			return;
		value = REMOTE_OWNED;
		__atomic_store_n(&slab->links[last - 1], (uint16_t)FIRST(remote), __ATOMIC_RELAXED);
		if (remote & REMOTE_OWNED)
			value |= first | (uint64_t)(COUNT(remote) + n) << 16;
	} while (!__atomic_compare_exchange_n(&slab->remote, &remote, value, false,
					      __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
	decay_stir();
	if (remote & REMOTE_OWNED)
		return;
	put_chain(slab, first, n);
	slab_adopt(cache, slab);
}
