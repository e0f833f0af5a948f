/* SPDX-License-Identifier: MIT */
/*
 * Taking free objects out of slabs.
 *
 * With the shard's lock a thread only picks: it clears bits, whole words if it can, and notes them.
 * It makes pointers of them after it has dropped the lock. The fullest slabs come first, so that
 * others become empty.
 */
#include "core/shard.h"

#include <errno.h>

#include "base/bits.h"
#include "base/options.h"
#include "base/probe.h"
#include "base/round.h"
#include "core/callback.h"
#include "inject.h"
#include "pages/account.h"
#include "pages/free_slabs.h"
#include "pages/idle.h"
#include "pages/os.h"

/* Picks of one hold of the lock. */
#define PICKS 40u
/* Slabs in wrong buckets that one search moves at most. */
#define MOVES 8u

/* The sets of a cache with 4 KiB in each way. Steps of the golden ratio spread any number of
 * slabs. */
#define COLOUR_LINES 64u
#define COLOUR_STEP 39u

/* Memory is populated in pieces: a small cache then touches little of it. */
#define POPULATE_BYTES 16384u
#define POPULATE_ALL_SLABS 4u

/* Objects of one word of a map. */
struct pick {
	char *at; /* the object of bit 0 */
	uint64_t bits;
};

struct take {
	struct slab_cache *cache;
	struct shard *shard;
	void **end; /* where the next objects end */
	unsigned where;
	unsigned want;
	unsigned picks;
	struct slab *populate; /* its memory up to `bytes` is about to be used */
	size_t bytes;
	struct slab *construct; /* off the lists: `want` more objects are to be constructed */
	struct pick pick[PICKS];
};

static void set_free(struct slab *slab, unsigned n)
{
	__atomic_store_n(&slab->free, (uint16_t)n, __ATOMIC_RELAXED);
}

static void set_map(struct slab *slab, unsigned word, uint64_t bits)
{
	__atomic_store_n(&slab->map[word], bits, __ATOMIC_RELAXED);
}

static void add_pick(struct take *take, char *base, unsigned word, uint64_t bits)
{
	take->pick[take->picks++] =
		(struct pick){base + (size_t)word * 64 * take->cache->size, bits};
}

/* The n lowest bits that are set; n is less than their number. The search halves the bits that may
 * be the next one. */
static uint64_t lowest(uint64_t bits, unsigned n)
{
	unsigned end = 0;

	if (bits_are_run(bits))
		return bits & (((bits & -bits) << n) - 1);
	for (unsigned half = 32; half; half /= 2)
		if (bits_count(bits & bits_low(end + half)) <= n)
			end += half;
	return bits & bits_low(end);
}

static void count_used(struct shard *shard, uint64_t used)
{
	__atomic_store_n(&shard->used, used, __ATOMIC_RELAXED);
}

/* Pick objects whose bits are set. */
static void pick_bits(struct take *take, struct slab *slab)
{
	unsigned got = 0;

	for (unsigned word = 0; take->want && take->picks < PICKS && got < slab->free; word++) {
		uint64_t bits = slab->map[word];
		unsigned n = bits_count(bits);

		if (!bits)
			continue;
		if (n > take->want) {
			n = take->want;
			bits = lowest(bits, n);
		}
		add_pick(take, slab->base, word, bits);
		set_map(slab, word, slab->map[word] & ~bits);
		got += n;
		take->want -= n;
	}
	set_free(slab, slab->free - got);
	count_used(take->shard, take->shard->used + got);
}

static size_t populated(const struct slab *slab)
{
	return __atomic_load_n(&slab->populated, __ATOMIC_RELAXED);
}

/* How far the memory of a slab is populated when its first `bytes` are needed. In a cache's first
 * slab in small steps: a cache with one object populates one page. */
static size_t populate_target(const struct slab_cache *cache, const struct slab *slab, size_t bytes)
{
	const unsigned slabs = __atomic_load_n(&cache->node[slab->node].nr_slabs, __ATOMIC_RELAXED);
	size_t step = os_page_size(), target;

	if (slabs > POPULATE_ALL_SLABS)
		return slab_bytes(slab);
	while (step < POPULATE_BYTES && (slabs > 1 || step < populated(slab)))
		step *= 2;
	target = round_up(bytes, step);
	return target < slab_bytes(slab) ? target : slab_bytes(slab);
}

/* Begin a fresh slab within its first 4 KiB, at another cache line in each slab: else the first
 * objects of all caches compete for one set of the processor's cache. The objects before are free.
 * Returns up to which object the slab may serve now. */
static unsigned colour(const struct slab_cache *cache, struct slab *slab)
{
	const uintptr_t unit = (uintptr_t)slab->base >> SEGMENT_UNIT_SHIFT;
	const unsigned line = unit * COLOUR_STEP % COLOUR_LINES;
	unsigned most, n;

	if (slab->initialized || !cache->coloured)
		return slab->objects;
	most = (unsigned)(COLOUR_LINES * CPU_CACHELINE / cache->size);
	n = most * line / COLOUR_LINES;
	if (!n)
		return slab->objects;
	for (unsigned word = 0; word * 64 < n; word++)
		set_map(slab, word, bits_low(n - word * 64));
	set_free(slab, n);
	__atomic_store_n(&slab->initialized, (uint16_t)n, __ATOMIC_RELAXED);
	return most;
}

/* Pick objects that were never in use, without constructor. */
static void pick_fresh(struct take *take, struct slab *slab)
{
	const unsigned most = colour(take->cache, slab);
	unsigned first = slab->initialized, last = first + take->want, end;

	if (last > most)
		last = most;
	for (unsigned i = first; i < last && take->picks < PICKS; i = end) {
		end = (i | 63) + 1 < last ? (i | 63) + 1 : last;
		add_pick(take, slab->base, i / 64, bits_low(end - i) << i % 64);
		take->want -= end - i;
		count_used(take->shard, take->shard->used + (end - i));
		__atomic_store_n(&slab->initialized, (uint16_t)end, __ATOMIC_RELAXED);
	}
	if (slab->initialized * take->cache->size > populated(slab)) {
		take->populate = slab;
		take->bytes =
			populate_target(take->cache, slab, slab->initialized * take->cache->size);
	}
}

/* The slab to take from; NULL: none has a free object. */
static struct slab *best(struct shard *shard)
{
	for (unsigned moves = 0; shard->buckets; moves++) {
		struct slab *slab = shard->bucket[__builtin_ctz(shard->buckets)];

		if (slab->next)
			__builtin_prefetch(&slab->next->base);
		if (moves == MOVES || !slab_relist(shard, slab))
			return slab;
	}
	return shard->empty;
}

/* With the lock. false: the shard has nothing more. */
static bool pick_from_best(struct take *take)
{
	struct slab *slab = best(take->shard);

	if (!slab)
		return false;
	if (SLAB_UNLIKELY(slab_idle_since(slab))) {
		slab_set_idle_since(slab, 0);
		__atomic_store_n(&slab->unbacked, 0, __ATOMIC_RELAXED);
	}
	pick_bits(take, slab);
	if (take->want && take->picks < PICKS && slab->initialized < slab->objects) {
		if (take->cache->ctor && take->where & TAKE_READY) {
			slab_relist(take->shard, slab);
			return false;
		}
		if (take->cache->ctor) {
			GUARD_STEP(construct_off, slab_take_off(take->shard, slab));
			take->construct = slab;
			return true;
		}
		pick_fresh(take, slab);
	}
	slab_relist(take->shard, slab);
	return true;
}

/* --- without the lock ------------------------------------------------------------------------- */

/* n pointers to neighbours that end at `end`, the lowest last. */
static void **expand_run(char *first, unsigned n, size_t size, void **end)
{
	const uintptr_t last = (uintptr_t)first + (size_t)(n - 1) * size;
	two_words pair = {last, last - size};
	void **to = end - n;

	for (; to + 2 <= end; to += 2) {
		memcpy(to, &pair, sizeof(pair));
		pair -= 2 * size;
	}
	if (to < end)
		*to = first;
	return end - n;
}

static void **expand(const struct pick *pick, size_t size, void **end)
{
	uint64_t bits = pick->bits;

	if (bits_are_run(bits) && bits & (bits - 1))
		return expand_run(pick->at + (size_t)__builtin_ctzll(bits) * size, bits_count(bits),
				  size, end);
	for (; bits; bits &= bits - 1) {
		void *obj = pick->at + (size_t)__builtin_ctzll(bits) * size;

		/* Scattered objects are in no cache, and most callers write to them at once. */
		__builtin_prefetch(obj, 1);
		*--end = obj;
	}
	return end;
}

static void expand_all(struct take *take)
{
	cpu_inject(CPU_INJECT_OBJECTS_TAKEN);
	if (take->populate)
		slab_populate(take->populate, take->bytes);
	take->populate = NULL;
	for (unsigned i = 0; i < take->picks; i++)
		take->end = expand(&take->pick[i], take->cache->size, take->end);
	take->picks = 0;
}

/* Construct objects from `first` on; returns how many, fewer than n if a constructor fails. */
static unsigned construct(struct take *take, const struct slab *slab, unsigned first, unsigned n)
{
	struct slab_cache *cache = take->cache;
	struct callback callback = callback_begin(cache);
	unsigned done = 0;

	while (done < n && cache->ctor(slab_object(cache, slab, first + done), cache->arg) == 0)
		done++;
	callback_end(&callback);
	return done;
}

/* Construct what is missing of a slab that is off the lists. false: the first constructor has
 * failed. Nobody else constructs there, and a fork leaves the child a slab that is off the lists
 * for good. */
static bool take_constructed(struct take *take)
{
	struct slab *slab = take->construct;
	const unsigned first = slab->initialized;
	const size_t size = take->cache->size;
	unsigned n = slab->objects - first < take->want ? slab->objects - first : take->want;
	struct shard *shard;

	if ((first + n) * size > populated(slab))
		slab_populate(slab, populate_target(take->cache, slab, (first + n) * size));
	n = construct(take, slab, first, n);
	cpu_inject(CPU_INJECT_CONSTRUCTED);
	shard = shard_lock_of(slab);
	__atomic_store_n(&slab->initialized, (uint16_t)(first + n), __ATOMIC_RELAXED);
	count_used(shard, shard->used + n);
	slab_put_on(shard, slab);
	cpu_lock_drop(&shard->lock);
	take->construct = NULL;
	if (n)
		take->end = expand_run(slab_object(take->cache, slab, first), n, size, take->end);
	take->want -= n;
	return n;
}

/* --- more slabs ------------------------------------------------------------------------------- */

static void lock_both(struct shard *a, struct shard *b)
{
	const bool in_order = GUARD(move_order, a < b);

	GUARD_STEP(move_lock, cpu_lock_take(in_order ? &a->lock : &b->lock));
	GUARD_STEP(move_other_lock, cpu_lock_take(in_order ? &b->lock : &a->lock));
}

static unsigned move_slabs(struct shard *from, struct shard *to, unsigned want)
{
	unsigned got = 0;
	struct slab *slab;

	while (got < want && (slab = best(from))) {
		got += slab->free + (unsigned)(slab->objects - slab->initialized);
		shard_move(from, to, slab);
		shard_event(to, SLAB_EVENT_ALLOC_OTHER_SHARD);
	}
	return got;
}

static bool has_free(const struct shard *shard)
{
	return __atomic_load_n(&shard->buckets, __ATOMIC_RELAXED) ||
	       __atomic_load_n(&shard->empty, __ATOMIC_RELAXED);
}

/* Move slabs of other shards of the node here, until they have `want` free objects. */
static bool from_other_shards(struct take *take)
{
	struct shard *first = shard_at(take->cache, take->shard->node, 0);
	unsigned got = 0;

	for (unsigned i = 1; i < shards_per_node && got < take->want; i++) {
		struct shard *other = first + (take->shard->number + i) % shards_per_node;

		if (!has_free(other))
			continue;
		lock_both(other, take->shard);
		got += move_slabs(other, take->shard, take->want - got);
		cpu_lock_drop(&other->lock);
		cpu_lock_drop(&take->shard->lock);
	}
	return got;
}

static bool from_pages(struct take *take)
{
	struct shard *shard = take->shard;
	struct slab *slab = slab_create(take->cache, shard->node, false);

	if (!slab && caches_reap(take->cache))
		slab = slab_create(take->cache, shard->node, false);
	if (!slab)
		slab = slab_create(take->cache, shard->node, true);
	if (!slab)
		return false;
	cpu_inject(CPU_INJECT_SLAB_TAKEN);
	shard_event(shard, SLAB_EVENT_ALLOC_SLAB);
	GUARD_STEP(take_new_lock, cpu_lock_take(&shard->lock));
	shard_add(shard, slab);
	slab_put_on(shard, slab);
	cpu_lock_drop(&shard->lock);
	return true;
}

/* One hold of the lock. false: the shard has no more free objects. */
static bool take_round(struct take *take)
{
	bool more = true;

	GUARD_STEP(take_lock, cpu_lock_take(&take->shard->lock));
	while (take->want && take->picks < PICKS && !take->construct && !take->populate && more)
		more = pick_from_best(take);
	cpu_lock_drop(&take->shard->lock);
	expand_all(take);
	return more;
}

unsigned objects_take(struct slab_cache *cache, struct shard *shard, unsigned want, void **objs,
		      unsigned where)
{
	struct take take; /* take.pick[] is large, and most calls need little of it */
	bool look = where & TAKE_PARTIAL || __atomic_load_n(&shard->empty, __ATOMIC_RELAXED);

	take.cache = cache;
	take.shard = shard;
	take.end = objs + want;
	take.where = where;
	take.want = want;
	take.picks = 0;
	take.populate = take.construct = NULL;
	take.bytes = 0;
	while (take.want) {
		const bool more = look && take_round(&take);

		if (take.construct && !take_constructed(&take)) {
			alloc_failure_clear();
			errno = ENOMEM;
			break;
		}
		if (!take.want || more)
			continue;
		/* A caller that has something already needs no new slab. */
		if (!(where & TAKE_OTHERS && from_other_shards(&take)) &&
		    (take.want < want || !(where & TAKE_NEW) || !from_pages(&take)))
			break;
		look = true;
	}
	if (slab_options()->random)
		slab_shuffle(take.end, want - take.want);
	return want - take.want;
}
