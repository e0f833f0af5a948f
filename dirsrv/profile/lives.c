/* SPDX-License-Identifier: MIT */
/*
 * Lives of pblocks, and kinds of ended lives: lives.h describes them. Both come from caches with a
 * limit; what finds no memory is only counted.
 */
#include "lives.h"
#include "switch.h"

#include <errno.h>
#include <pthread.h>
#include <slab/slab.h>
#include <stddef.h>

#define SHARDS 64
#define BUCKETS 256                /* of a shard */
#define USES_LIMIT (56UL << 20)    /* bytes: a pblock that uses ten parameters takes 256 */
#define LIVES_LIMIT (8UL << 20)

struct shard {
	_Alignas(64) pthread_mutex_t lock;
	struct life *buckets[BUCKETS];
};

static struct shard living[SHARDS], ended[SHARDS];
static struct slab_cache *life_cache, *uses_cache;
static uint64_t dropped_pblocks, dropped_accesses; /* atomic */

/* This thread is in the recorder and may hold its locks. */
static __thread bool inside;

/* Memory */

void lives_prepare(void)
{
	for (unsigned i = 0; i < SHARDS; i++) {
		pthread_mutex_init(&living[i].lock, NULL);
		pthread_mutex_init(&ended[i].lock, NULL);
	}
}

bool lives_open(void)
{
	struct slab_cache_args args = {.limit = LIVES_LIMIT};

	life_cache = slab_cache_create("profile_life", sizeof(struct life), &args, SLAB_NO_MERGE);
	args.limit = USES_LIMIT;
	uses_cache = slab_cache_create("profile_uses", sizeof(struct uses), &args, SLAB_NO_MERGE);
	if (life_cache && uses_cache)
		return true;
	lives_close();
	return false;
}

void lives_close(void)
{
	if (life_cache)
		slab_cache_destroy(life_cache);
	if (uses_cache)
		slab_cache_destroy(uses_cache);
	life_cache = uses_cache = NULL;
}

static void life_free(struct life *life)
{
	while (life->uses) {
		struct uses *next = life->uses->next;

		slab_free(uses_cache, life->uses);
		life->uses = next;
	}
	slab_free(life_cache, life);
}

static void count(uint64_t *counter)
{
	__atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

/* Read under a lock. Acquire: a thread that sees the bit also sees the caches. */
static bool is_recording(void)
{
	return __atomic_load_n(&pblock_recording, __ATOMIC_ACQUIRE) & RECORD_LIVES;
}

/* Enter the recorder, unless this thread is in it already; errno is unchanged. */
static bool enter(int *ret_errno)
{
	if (inside)
		return false;
	inside = true;
	*ret_errno = errno;
	return true;
}

static void leave(int saved_errno)
{
	errno = saved_errno;
	inside = false;
}

/* Tables */

static uint64_t mix(uint64_t number)
{
	number *= UINT64_C(0x9e3779b97f4a7c15);
	return number ^ number >> 32;
}

static struct shard *shard_of(struct shard *table, uint64_t key)
{
	return &table[mix(key) % SHARDS];
}

static struct life **bucket_of(struct shard *shard, uint64_t key)
{
	return &shard->buckets[mix(key) / SHARDS % BUCKETS];
}

static struct life **find_living(struct shard *shard, uint64_t key)
{
	struct life **at = bucket_of(shard, key);

	while (*at && (*at)->key != key)
		at = &(*at)->next;
	return at;
}

static struct life *add_living(struct shard *shard, uint64_t key, bool whole)
{
	struct life **bucket = bucket_of(shard, key), *life = slab_alloc(life_cache);

	if (!life) {
		count(&dropped_pblocks);
		return NULL;
	}
	*life = (struct life){.next = *bucket, .key = key, .pblocks = 1, .whole = whole};
	*bucket = life;
	return life;
}

/* Uses */

static struct use *find_use(const struct life *life, uint32_t parameter)
{
	for (struct uses *uses = life->uses; uses; uses = uses->next) {
		for (uint32_t i = 0; i < uses->count; i++) {
			if (uses->of[i].parameter == parameter)
				return &uses->of[i];
		}
	}
	return NULL;
}

static struct use *add_use(struct life *life, uint32_t parameter)
{
	struct uses *uses = life->uses;

	if (!uses || uses->count == USES) {
		uses = slab_alloc(uses_cache);
		if (!uses)
			return NULL;
		uses->next = life->uses;
		uses->count = 0;
		life->uses = uses;
	}
	uses->of[uses->count] = (struct use){.parameter = parameter};
	return &uses->of[uses->count++];
}

static uint64_t use_hash(const struct use *use)
{
	return mix((uint64_t)use->parameter * 4 + (use->gets ? 2 : 0) + (use->sets ? 1 : 0) + 1);
}

/* A hash of the parameters and of how each was used, independent of their order. */
static uint64_t life_hash(const struct life *life)
{
	uint64_t hash = life->whole;

	for (const struct uses *uses = life->uses; uses; uses = uses->next) {
		for (uint32_t i = 0; i < uses->count; i++)
			hash += mix(use_hash(&uses->of[i]));
	}
	return hash;
}

static uint32_t count_uses(const struct life *life)
{
	uint32_t total = 0;

	for (const struct uses *uses = life->uses; uses; uses = uses->next)
		total += uses->count;
	return total;
}

static bool is_alike(const struct life *one, const struct life *other)
{
	if (one->key != other->key || one->whole != other->whole ||
	    count_uses(one) != count_uses(other))
		return false;
	for (const struct uses *uses = one->uses; uses; uses = uses->next) {
		for (uint32_t i = 0; i < uses->count; i++) {
			const struct use *use = find_use(other, uses->of[i].parameter);

			if (!use || use_hash(use) != use_hash(&uses->of[i]))
				return false;
		}
	}
	return true;
}

/* Add a life to a sum of the same kind. */
static void add_up(struct life *sum, const struct life *life)
{
	for (const struct uses *uses = life->uses; uses; uses = uses->next) {
		for (uint32_t i = 0; i < uses->count; i++) {
			struct use *use = find_use(sum, uses->of[i].parameter);

			use->gets += uses->of[i].gets;
			use->sets += uses->of[i].sets;
		}
	}
	sum->pblocks += life->pblocks;
}

/* Add a life that is in no table to its kind, or make it the first of its kind. */
static void end_locked(struct shard *shard, struct life *life)
{
	struct life **bucket = bucket_of(shard, life->key), *other = *bucket;

	while (other && !is_alike(other, life))
		other = other->next;
	if (other) {
		add_up(other, life);
		life_free(life);
	} else {
		life->next = *bucket;
		*bucket = life;
	}
}

/* End the life at this address, if there is one: move it from the table of the living to its
 * kind. */
static void finish_locked(struct shard *shard, uint64_t key)
{
	struct life **at = find_living(shard, key), *life = *at;
	struct shard *goal;

	if (!life)
		return;
	*at = life->next;
	life->key = life_hash(life);
	goal = shard_of(ended, life->key);
	pthread_mutex_lock(&goal->lock);
	end_locked(goal, life);
	pthread_mutex_unlock(&goal->lock);
}

/* Events */

void lives_begin(const void *pblock)
{
	uint64_t key = (uintptr_t)pblock;
	struct shard *shard = shard_of(living, key);
	int saved_errno;

	if (!enter(&saved_errno)) {
		count(&dropped_pblocks);
		return;
	}
	pthread_mutex_lock(&shard->lock);
	/* End an earlier life at this address: its end was in a reclaim callback, and could not be
	 * recorded there. */
	finish_locked(shard, key);
	if (is_recording())
		add_living(shard, key, true);
	pthread_mutex_unlock(&shard->lock);
	leave(saved_errno);
}

static bool access_locked(struct shard *shard, uint64_t key, uint32_t parameter, bool set)
{
	struct life *life = *find_living(shard, key);
	struct use *use;

	if (!life)
		life = add_living(shard, key, false);
	use = life ? find_use(life, parameter) : NULL;
	if (life && !use)
		use = add_use(life, parameter);
	if (use)
		*(set ? &use->sets : &use->gets) += 1;
	return use;
}

void lives_access(const void *pblock, uint32_t parameter, bool set)
{
	uint64_t key = (uintptr_t)pblock;
	struct shard *shard = shard_of(living, key);
	int saved_errno;

	if (!enter(&saved_errno)) {
		count(&dropped_accesses);
		return;
	}
	pthread_mutex_lock(&shard->lock);
	if (is_recording() && !access_locked(shard, key, parameter, set))
		count(&dropped_accesses);
	pthread_mutex_unlock(&shard->lock);
	leave(saved_errno);
}

void lives_finish(const void *pblock)
{
	uint64_t key = (uintptr_t)pblock;
	struct shard *shard = shard_of(living, key);
	int saved_errno;

	if (!enter(&saved_errno))
		return;
	pthread_mutex_lock(&shard->lock);
	finish_locked(shard, key);
	pthread_mutex_unlock(&shard->lock);
	leave(saved_errno);
}

/* All of it */

void lives_lock(void)
{
	inside = true;
	for (unsigned i = 0; i < SHARDS; i++)
		pthread_mutex_lock(&living[i].lock);
	for (unsigned i = 0; i < SHARDS; i++)
		pthread_mutex_lock(&ended[i].lock);
}

void lives_unlock(void)
{
	for (unsigned i = 0; i < SHARDS; i++)
		pthread_mutex_unlock(&ended[i].lock);
	for (unsigned i = 0; i < SHARDS; i++)
		pthread_mutex_unlock(&living[i].lock);
	inside = false;
}

struct lives_counts lives_finish_all(void)
{
	struct lives_counts counts = {0, dropped_pblocks, dropped_accesses};

	for (unsigned i = 0; i < SHARDS * BUCKETS; i++) {
		struct life **bucket = &living[i / BUCKETS].buckets[i % BUCKETS], *life;

		while ((life = *bucket)) {
			*bucket = life->next;
			life->key = life_hash(life);
			end_locked(shard_of(ended, life->key), life);
			counts.alive++;
		}
	}
	return counts;
}

void lives_each(void (*visit)(const struct life *life, void *arg), void *arg)
{
	for (unsigned i = 0; i < SHARDS * BUCKETS; i++) {
		const struct life *life = ended[i / BUCKETS].buckets[i % BUCKETS];

		for (; life; life = life->next)
			visit(life, arg);
	}
}

static void forget(struct shard *table)
{
	for (unsigned i = 0; i < SHARDS * BUCKETS; i++) {
		struct life **bucket = &table[i / BUCKETS].buckets[i % BUCKETS], *life;

		while ((life = *bucket)) {
			*bucket = life->next;
			life_free(life);
		}
	}
}

void lives_forget(void)
{
	forget(living);
	forget(ended);
	dropped_pblocks = dropped_accesses = 0;
}
