/* SPDX-License-Identifier: MIT */
/* The lists of a shard, its sums, and walks over its slabs. */
#include "core/shard.h"

#include "base/bits.h"
#include "base/round.h"
#include "core/init.h"

SLAB_EARLY unsigned shards_per_node;

size_t cache_shards_offset(void)
{
	return round_up(sizeof(struct slab_cache) + topology_nodes() * sizeof(struct cache_node),
			CPU_CACHELINE);
}

size_t cache_bytes(void)
{
	return cache_shards_offset() +
	       (size_t)topology_nodes() * shards_per_node * sizeof(struct shard);
}

struct shard *shards_end(const struct slab_cache *cache)
{
	return cache->shard + (size_t)topology_nodes() * shards_per_node;
}

void shard_init(struct shard *shard, unsigned node, unsigned number)
{
	shard->node = (uint8_t)node;
	shard->number = (uint8_t)number;
}

struct shard *shard_lock_of(struct slab *slab)
{
	struct shard *shard = __atomic_load_n(&slab->shard, __ATOMIC_ACQUIRE), *now;

	for (; shard; shard = now) {
		cpu_lock_take(&shard->lock);
		now = __atomic_load_n(&slab->shard, __ATOMIC_RELAXED);
		if (GUARD(shard_again, now == shard))
			break;
		cpu_lock_drop(&shard->lock);
	}
	return shard;
}

/* --- lists ---------------------------------------------------------------------------------- */

static struct slab **list_of(struct shard *shard, unsigned bucket)
{
	return bucket == SLAB_EMPTY ? &shard->empty : &shard->bucket[bucket];
}

static void count_empties(struct shard *shard, const struct slab *slab, int more)
{
	const unsigned n = shard->empties + (unsigned)more;

	__atomic_store_n(&shard->empties, n, __ATOMIC_RELAXED);
	__atomic_fetch_add(&slab_pages.empty_bytes, (uint64_t)(more * (long)slab_bytes(slab)),
			   __ATOMIC_RELAXED);
	if (n < shard->empties_low)
		shard->empties_low = n;
}

static void count_partial(struct shard *shard, unsigned n)
{
	__atomic_store_n(&shard->partial, n, __ATOMIC_RELAXED);
}

static void set_buckets(struct shard *shard, uint32_t buckets)
{
	__atomic_store_n(&shard->buckets, buckets, __ATOMIC_RELAXED);
}

static void set_bucket(struct slab *slab, unsigned bucket)
{
	__atomic_store_n(&slab->bucket, (uint8_t)bucket, __ATOMIC_RELAXED);
}

static void unlink_slab(struct shard *shard, struct slab *slab)
{
	struct slab **list;

	if (slab->bucket > SLAB_EMPTY)
		return;
	list = list_of(shard, slab->bucket);
	for (struct shard_walk *walk = shard->walks; walk; walk = walk->next)
		if (GUARD_AGAINST(walk_cursor, walk->at == slab))
			walk->at = slab->next;
	if (slab->prev)
		slab->prev->next = slab->next;
	else
		__atomic_store_n(list, slab->next, __ATOMIC_RELAXED);
	if (slab->next)
		slab->next->prev = slab->prev;
	if (slab->bucket == SLAB_EMPTY) {
		count_empties(shard, slab, -1);
		return;
	}
	count_partial(shard, shard->partial - 1);
	if (!*list)
		set_buckets(shard, shard->buckets & ~(1u << slab->bucket));
}

static void link_slab(struct shard *shard, struct slab *slab, unsigned bucket)
{
	struct slab **list;

	set_bucket(slab, bucket);
	if (bucket > SLAB_EMPTY)
		return;
	list = list_of(shard, bucket);
	slab->prev = NULL;
	slab->next = *list;
	if (slab->next)
		slab->next->prev = slab;
	__atomic_store_n(list, slab, __ATOMIC_RELAXED);
	if (bucket == SLAB_EMPTY) {
		count_empties(shard, slab, 1);
		return;
	}
	count_partial(shard, shard->partial + 1);
	set_buckets(shard, shard->buckets | 1u << bucket);
}

static unsigned bucket_of(const struct slab *slab)
{
	const unsigned fresh = slab->objects - slab->initialized;

	if (slab->free == slab->initialized)
		return SLAB_EMPTY;
	if (!slab->free && !fresh)
		return SLAB_FULL;
	return (slab->free + fresh) * SHARD_BUCKETS / slab->objects;
}

/* The number of free objects at which a free must list the slab anew. In between a slab stands in
 * the bucket of a fuller one, until an allocation finds it there. */
static unsigned up_of(const struct slab *slab, unsigned bucket)
{
	if (bucket == SLAB_FULL)
		return 1;
	return bucket < SLAB_EMPTY ? slab->initialized : UINT16_MAX;
}

void slab_put_on(struct shard *shard, struct slab *slab)
{
	const unsigned bucket = bucket_of(slab);

	link_slab(shard, slab, bucket);
	slab->up = (uint16_t)up_of(slab, bucket);
}

bool slab_relist(struct shard *shard, struct slab *slab)
{
	const unsigned bucket = bucket_of(slab);

	slab->up = (uint16_t)up_of(slab, bucket);
	if (bucket == slab->bucket)
		return false;
	unlink_slab(shard, slab);
	link_slab(shard, slab, bucket);
	return true;
}

void slab_take_off(struct shard *shard, struct slab *slab)
{
	unlink_slab(shard, slab);
	set_bucket(slab, SLAB_OFF);
	slab->up = UINT16_MAX;
	slab->next = slab->prev = NULL;
}

static void add_sums(struct shard *shard, const struct slab *slab, int sign)
{
	const unsigned used = slab->initialized - slab->free;

	__atomic_store_n(&shard->slabs, shard->slabs + (unsigned)sign, __ATOMIC_RELAXED);
	__atomic_store_n(&shard->room, shard->room + (uint64_t)(sign * slab->objects),
			 __ATOMIC_RELAXED);
	__atomic_store_n(&shard->used, shard->used + (uint64_t)(sign * (long)used),
			 __ATOMIC_RELAXED);
}

void shard_add(struct shard *shard, struct slab *slab)
{
	add_sums(shard, slab, 1);
	__atomic_store_n(&slab->shard, shard, __ATOMIC_RELEASE);
}

void shard_remove(struct shard *shard, struct slab *slab)
{
	add_sums(shard, slab, -1);
	__atomic_store_n(&slab->shard, NULL, __ATOMIC_RELEASE);
}

void shard_move(struct shard *from, struct shard *to, struct slab *slab)
{
	slab_take_off(from, slab);
	add_sums(from, slab, -1);
	add_sums(to, slab, 1);
	__atomic_store_n(&slab->shard, to, __ATOMIC_RELEASE);
	slab_put_on(to, slab);
}

/* --- walks ----------------------------------------------------------------------------------- */

/* The walk is one of the shard from its first piece on. false: it is none any more, in the child of
 * a fork. */
static bool begin_piece(struct shard_walk *walk)
{
	const struct shard_walk *other = walk->shard->walks;

	if (!walk->bucket) {
		walk->next = walk->shard->walks;
		walk->shard->walks = walk;
		return true;
	}
	while (other && other != walk)
		other = other->next;
	return other;
}

static void end_walk(struct shard_walk *walk)
{
	struct shard_walk **at = &walk->shard->walks;

	while (*at && *at != walk)
		at = &(*at)->next;
	if (*at)
		*at = walk->next;
}

/* Slabs are listed at the head, so each list ends. */
static bool step(struct shard_walk *walk, shard_visit *fn, void *arg)
{
	struct slab *slab;

	while (!walk->at) {
		if (walk->bucket > SLAB_EMPTY)
			return false;
		walk->at = *list_of(walk->shard, walk->bucket++);
	}
	slab = walk->at;
	walk->at = slab->next;
	return fn(walk->shard, slab, arg);
}

bool shard_walk_piece(struct shard_walk *walk, shard_visit *fn, void *arg)
{
	unsigned left = WALK_PIECE;

	cpu_lock_take(&walk->shard->lock);
	if (begin_piece(walk))
		while (left && step(walk, fn, arg))
			left--;
	if (left)
		end_walk(walk);
	cpu_lock_drop(&walk->shard->lock);
	return !left;
}

void shard_walk(struct shard *shard, shard_visit *fn, void *arg)
{
	struct shard_walk walk = {.shard = shard};

	while (shard_walk_piece(&walk, fn, arg))
		;
}

static const char *check_place(const struct slab *slab)
{
	if (slab->bucket == SLAB_FULL && bucket_of(slab) != SLAB_FULL)
		return "a slab with free objects counts as full";
	if (slab->bucket == SLAB_EMPTY && bucket_of(slab) != SLAB_EMPTY)
		return "a slab with objects in use is listed as empty";
	if (slab->bucket < SHARD_BUCKETS && slab->free == slab->initialized)
		return "an empty slab is listed as partial";
	return NULL;
}

const char *slab_check_map(const struct slab *slab)
{
	unsigned free = 0;

	if (slab->initialized > slab->objects || slab->bucket > SLAB_OFF)
		return "the descriptor is damaged";
	for (unsigned word = 0; word < map_words(slab->objects); word++) {
		const unsigned first = word * 64;
		const unsigned n = slab->initialized > first ? slab->initialized - first : 0;

		if (slab->map[word] & ~bits_low(n))
			return "an object that was never in use is marked as free";
		free += bits_count(slab->map[word]);
	}
	if (free != slab->free)
		return "the number of free objects is wrong";
	return check_place(slab);
}

/* --- sums ------------------------------------------------------------------------------------ */

static void add(struct shard_sums *sums, const struct shard *shard)
{
	sums->slabs += __atomic_load_n(&shard->slabs, __ATOMIC_RELAXED);
	sums->partial += __atomic_load_n(&shard->partial, __ATOMIC_RELAXED);
	sums->empty += __atomic_load_n(&shard->empties, __ATOMIC_RELAXED);
	sums->room += __atomic_load_n(&shard->room, __ATOMIC_RELAXED);
	sums->used += __atomic_load_n(&shard->used, __ATOMIC_RELAXED);
}

void node_sums(const struct slab_cache *cache, unsigned node, struct shard_sums *ret_sums)
{
	const struct shard *first = shard_at(cache, node, 0);

	*ret_sums = (struct shard_sums){0};
	for (unsigned i = 0; i < shards_per_node; i++)
		add(ret_sums, first + i);
}

uint64_t cache_events(const struct slab_cache *cache, enum slab_event event)
{
	uint64_t sum = 0;

	shard_each (shard, cache)
		sum += __atomic_load_n(&shard->event[event], __ATOMIC_RELAXED);
	return sum;
}
