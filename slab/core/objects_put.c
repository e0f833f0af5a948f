/* SPDX-License-Identifier: MIT */
/*
 * Returning free objects to their slabs: setting bits.
 *
 * The objects of one call may be of any slabs of the cache. The thread locks the shard of the first
 * one and sets the bits of all objects that are of this shard; the others stay for the next round.
 * Neighbours are found before their bits are set, so that a run of them takes one operation for
 * each word.
 */
#include "core/shard.h"

#include "base/bits.h"
#include "core/debug_record.h"
#include "core/upcalls.h"
#include "inject.h"
#include "pages/idle.h"

/* Flushes of caches with more slabs fetch descriptors ahead. */
#define SLABS_IN_CACHE 256u
/* Objects so far apart at most are looked at together. */
#define NEAR_OBJECTS 32u

struct put {
	struct slab_cache *cache;
	struct shard *shard; /* locked */
	uint64_t reciprocal;
	size_t size;
	struct put_bad *bad;
	unsigned refused; /* objects that no bit was set for */
};

static void add_bad(struct put *put, void *obj, enum put_what what)
{
	put->refused++;
	put_note(put->bad, obj, what);
}

static SLAB_SLOWPATH void add_twice(struct put *put, const struct slab *slab, unsigned word,
				    uint64_t twice)
{
	for (; twice; twice &= twice - 1)
		add_bad(put,
			slab->base + (word * 64 + (unsigned)__builtin_ctzll(twice)) * put->size,
			PUT_FREE_ALREADY);
}

/* The slab of an object is not of the locked shard. true: keep the object for a later round. */
static SLAB_SLOWPATH bool is_elsewhere(struct put *put, const struct slab *slab, void *obj)
{
	const struct shard *shard = __atomic_load_n(&slab->shard, __ATOMIC_RELAXED);

	if (GUARD(put_of_cache, shard && shard_is_of(shard, put->cache)))
		return true;
	add_bad(put, obj, PUT_FREE_ALREADY);
	return false;
}

/* Set bits of one word, which are no bits beyond the slab's objects. */
static inline void set_bits(struct put *put, struct slab *slab, unsigned word, uint64_t bits,
			    unsigned n)
{
	const uint64_t map = slab->map[word];

	if (SLAB_UNLIKELY(GUARD_AGAINST(put_twice, map & bits))) {
		add_twice(put, slab, word, map & bits);
		n -= bits_count(map & bits);
	}
	__atomic_store_n(&slab->map[word], map | bits, __ATOMIC_RELAXED);
	__atomic_store_n(&slab->free, (uint16_t)(slab->free + n), __ATOMIC_RELAXED);
}

static void set_run(struct put *put, struct slab *slab, unsigned index, unsigned left)
{
	while (left) {
		const unsigned bit = index % 64, n = 64 - bit < left ? 64 - bit : left;

		set_bits(put, slab, index / 64, bits_low(n) << bit, n);
		index += n;
		left -= n;
	}
}

/* The number of objects at the start of objs[] with this distance from one to the next. */
static unsigned run_length(unsigned n, void *const *objs, ptrdiff_t step)
{
	const char *expect = (const char *)objs[0] + step;
	two_words want = {(uintptr_t)expect, (uintptr_t)(expect + step)};
	unsigned k = 1;

	for (; k + 8 <= n; k += 8) {
		two_words got[4], differs = {0, 0};

		memcpy(got, objs + k, sizeof(got));
#pragma GCC unroll 4
		for (unsigned i = 0; i < 4; i++) {
			differs |= got[i] ^ want;
			want += 2 * (uintptr_t)step;
		}
		if (differs[0] | differs[1])
			break;
	}
	expect += (ptrdiff_t)(k - 1) * step;
	for (; k < n && objs[k] == expect; k++)
		expect += step;
	return k;
}

/* Set the bits of the objects at the start of p[] that are of the same word as the first one.
 * Returns their number. */
static unsigned put_word(struct put *put, struct slab *slab, unsigned index, unsigned n,
			 void *const *p)
{
	const unsigned word = index / 64;
	const char *base = slab->base + (size_t)word * 64 * put->size;
	const unsigned in_use =
		slab->initialized - word * 64 < 64 ? slab->initialized - word * 64 : 64;
	uint64_t bits = UINT64_C(1) << index % 64;
	unsigned k = 1;

	for (; k < n && (size_t)((char *)p[k] - base) < in_use * put->size; k++) {
		bool starts;
		const uint64_t bit =
			UINT64_C(1)
			<< slab_index_at(put->reciprocal, (size_t)((char *)p[k] - base), &starts);

		if (!starts || bits & bit)
			break; /* the next call finds out */
		bits |= bit;
	}
	set_bits(put, slab, word, bits, k);
	return k;
}

/* Do the first two lie side by side, in either order? */
static inline bool are_neighbours(size_t size, void *const *objs)
{
	const size_t step = (size_t)((char *)objs[1] - (char *)objs[0]);

	return step == size || step == -size;
}

/* The second object may be a neighbour of the first one, which is the slab's object `index`. Put
 * both if so, and others that are near. Returns their number. */
static __attribute__((noinline)) unsigned put_near(struct put *put, struct slab *slab,
						   unsigned index, unsigned n, void *const *p)
{
	const ptrdiff_t step = (char *)p[1] - (char *)p[0];
	unsigned k;

	if (!are_neighbours(put->size, p))
		return put_word(put, slab, index, n, p);
	k = run_length(n, p, step);
	if (step > 0 && k > slab->initialized - index)
		k = slab->initialized - index;
	if (step < 0 && k > index + 1)
		k = index + 1;
	set_run(put, slab, step > 0 ? index : index + 1 - k, k);
	return k;
}

/* With the lock: put the objects of this shard. The others stay, at the start of objs[]; returns
 * their number. Locals: the compiler cannot know that a store to a map leaves *put as it is. */
static unsigned put_round(struct put *put, unsigned n, void **objs)
{
	const struct shard *shard = put->shard;
	const uint64_t reciprocal = put->reciprocal;
	const size_t near = NEAR_OBJECTS * put->size;
	void **kept = objs;

	for (void **p = objs, **end = objs + n; p < end; p++) {
		char *obj = *p;
		struct slab *slab = slab_of(obj);
		bool starts;
		unsigned index;

		if (SLAB_UNLIKELY(GUARD_AGAINST(
			    put_shard, __atomic_load_n(&slab->shard, __ATOMIC_RELAXED) != shard))) {
			if (is_elsewhere(put, slab, obj))
				*kept++ = obj;
			continue;
		}
		index = slab_index_at(reciprocal, (size_t)(obj - slab->base), &starts);
		if (SLAB_UNLIKELY(GUARD_AGAINST(put_start, !starts)) ||
		    SLAB_UNLIKELY(GUARD_AGAINST(put_index, index >= slab->initialized))) {
			add_bad(put, obj, PUT_NO_OBJECT);
			continue;
		}
		if ((size_t)((char *)p[1] - obj) + near < 2 * near && p + 1 < end)
			p += put_near(put, slab, index, (unsigned)(end - p), p) - 1;
		else
			set_bits(put, slab, index / 64, UINT64_C(1) << index % 64, 1);
		if (SLAB_UNLIKELY(GUARD_AGAINST(put_relists, slab->free >= slab->up)))
			slab_relist(put->shard, slab);
	}
	*kept = NULL;
	return (unsigned)(kept - objs);
}

/* The shard of the first object; any one if that is no object, since put_round() reports it. */
static struct shard *shard_of_first(const struct slab_cache *cache, void *const *objs)
{
	struct shard *shard = __atomic_load_n(&slab_of(objs[0])->shard, __ATOMIC_RELAXED);

	return GUARD(put_first_of_cache, shard && shard_is_of(shard, cache)) ? shard : cache->shard;
}

static void fetch_ahead(const struct slab_cache *cache, unsigned n, void *const *objs)
{
	if (n < 2 || are_neighbours(cache->size, objs) ||
	    cache_count_slabs(cache) <= SLABS_IN_CACHE)
		return;
	for (unsigned i = 0; i < n; i++)
		__builtin_prefetch(&slab_of(objs[i])->base, 1);
}

void objects_put(struct slab_cache *cache, unsigned n, void **objs, struct put_bad *ret_bad)
{
	struct put put = {.cache = cache,
			  .reciprocal = cache->reciprocal,
			  .size = cache->size,
			  .bad = ret_bad};

	fetch_ahead(cache, n, objs);
	objs[n] = NULL;
	while (n) {
		struct shard *shard = shard_of_first(cache, objs);
		const unsigned before = n;

		put.shard = shard;
		put.refused = 0;
		GUARD_STEP(put_lock, cpu_lock_take(&shard->lock));
		n = put_round(&put, n, objs);
		__atomic_store_n(&shard->used, shard->used - (before - n - put.refused),
				 __ATOMIC_RELAXED);
		cpu_lock_drop(&shard->lock);
		cpu_inject(CPU_INJECT_SLAB_EMPTY);
		if (SLAB_UNLIKELY(decay_at_once()))
			shard_trim(cache, shard);
	}
	idle_kick();
}

uint64_t objects_put_bits(struct slab_cache *cache, struct slab *slab, unsigned word, uint64_t bits)
{
	struct shard *shard = shard_lock_of(slab);
	struct put_bad bad = {0};
	struct put put = {.cache = cache, .shard = shard, .size = cache->size, .bad = &bad};
	uint64_t twice;

	if (GUARD_AGAINST(put_bits_shard, !shard))
		return bits;
	twice = slab->map[word] & bits;
	set_bits(&put, slab, word, bits, bits_count(bits));
	__atomic_store_n(&shard->used, shard->used - bits_count(bits & ~twice), __ATOMIC_RELAXED);
	if (GUARD_AGAINST(put_bits_relists, slab->free >= slab->up))
		slab_relist(shard, slab);
	cpu_lock_drop(&shard->lock);
	return twice;
}

/* --- reports --------------------------------------------------------------------------------- */

SLAB_SLOWPATH void objects_report(struct slab_cache *cache, const struct put_bad *bad,
				  const void *caller)
{
	const struct cache_checks *checks = cache->checks;

	__atomic_fetch_add(&cache->errors, bad->n - put_listed(bad), __ATOMIC_RELAXED);
	for (unsigned i = 0; i < put_listed(bad); i++) {
		void *obj = bad->bad[i].obj;

		switch (bad->bad[i].what) {
		case PUT_FREE_ALREADY:
			checks->free_already(cache, slab_of(obj), obj, caller);
			break;
		case PUT_NO_OBJECT:
			checks->no_object(cache, obj, caller);
			break;
		}
	}
}

void objects_free(struct slab_cache *cache, unsigned n, void **objs, const void *caller)
{
	struct put_bad bad;

	bad.n = 0;
	objects_put(cache, n, objs, &bad);
	if (SLAB_UNLIKELY(bad.n))
		objects_report(cache, &bad, caller);
}
