/* SPDX-License-Identifier: MIT */
/*
 * The counters of an entry cache. A caller reads them all at once or by name; slabinfo finds them
 * attached to the pool's cache of entries.
 *
 * Every number is a sum of words in the structures where the code counts. A table has the offsets
 * of these words, and all three ways to read a number use it.
 */
#include "entry_cache_internal.h"

#include <errno.h>
#include <slab/stats.h>
#include <string.h>

/* The prefix keeps the names apart from libslab's own. */
#define PREFIX "cache_"

enum place {
	IN_CACHE,
	IN_QUEUES, /* one word in each of the two queues */
	IN_CPUS,   /* one word in the struct lookups of each CPU */
	IN_POOL,
};

#define NAME(member) PREFIX #member, offsetof(struct dirsrv_entry_cache_stats, member)
#define AT(member) offsetof(struct dirsrv_entry_cache, member)

static const struct number {
	const char *name;
	size_t in_stats;
	enum slab_counter_kind kind;
	enum place place;
	size_t offset;
	const char *help;
} numbers[] = {
	{NAME(limit), SLAB_COUNTER_BYTES, IN_CACHE, AT(limit),
	 "of entries at most; 0: nothing is evicted"},
	{NAME(entries), SLAB_COUNTER_GAUGE, IN_QUEUES, AT(policy.small.entries), "entries"},
	{NAME(bytes), SLAB_COUNTER_BYTES, IN_QUEUES, AT(policy.small.bytes), "of entries"},
	{NAME(small_entries), SLAB_COUNTER_GAUGE, IN_CACHE, AT(policy.small.entries),
	 "of these, in the queue of new entries"},
	{NAME(small_bytes), SLAB_COUNTER_BYTES, IN_CACHE, AT(policy.small.bytes),
	 "of entries in the queue of new entries"},
	{NAME(hits), SLAB_COUNTER_EVENTS, IN_CPUS, offsetof(struct lookups, hits),
	 "lookups that found an entry"},
	{NAME(misses), SLAB_COUNTER_EVENTS, IN_CPUS, offsetof(struct lookups, misses),
	 "lookups that did not"},
	{NAME(inserts), SLAB_COUNTER_EVENTS, IN_CACHE, AT(inserts), "entries added"},
	{NAME(returns), SLAB_COUNTER_EVENTS, IN_CACHE, AT(returns),
	 "of these, entries that were evicted not long ago"},
	{NAME(replaces), SLAB_COUNTER_EVENTS, IN_CACHE, AT(replaces), "entries replaced"},
	{NAME(removes), SLAB_COUNTER_EVENTS, IN_CACHE, AT(removes), "entries taken out"},
	{NAME(evicts), SLAB_COUNTER_EVENTS, IN_CACHE, AT(evicts), "entries evicted"},
	{NAME(reclaims), SLAB_COUNTER_EVENTS, IN_CACHE, AT(reclaims),
	 "of these, evicted because memory was short"},
	{NAME(moves), SLAB_COUNTER_EVENTS, IN_CACHE, AT(moves), "entries moved to denser slabs"},
	{NAME(pending), SLAB_COUNTER_BYTES, IN_POOL, offsetof(struct dirsrv_entry_pool, pending),
	 "that wait until readers have left"},
};

#define NUMBERS (sizeof(numbers) / sizeof(numbers[0]))

_Static_assert(sizeof(struct dirsrv_entry_cache_stats) ==
		       sizeof(size_t) + NUMBERS * sizeof(uint64_t),
	       "every number has a name");
_Static_assert(NUMBERS <= SLAB_COUNTERS_MAX, "all of them can be attached");
_Static_assert(sizeof(size_t) == sizeof(uint64_t), "bytes are counted in words");

/* --- the words of a number -------------------------------------------------------------- */

static struct slab_counter counter_of(const struct dirsrv_entry_cache *cache,
				      const struct number *number)
{
	const void *const starts[] = {
		[IN_CACHE] = cache,
		[IN_QUEUES] = cache,
		[IN_CPUS] = cache->lookups,
		[IN_POOL] = cache->pool,
	};
	struct slab_counter counter = {
		.name = number->name,
		.help = number->help,
		.kind = number->kind,
		.copies = 1,
		.value = (const void *)((const char *)starts[number->place] + number->offset),
	};

	if (number->place == IN_QUEUES) {
		counter.copies = 2;
		counter.stride = AT(policy.main) - AT(policy.small);
	} else if (number->place == IN_CPUS) {
		counter.copies = cache->cpus;
		counter.stride = sizeof(struct lookups);
	}
	return counter;
}

/* The caller holds the lock, under which most words change. */
static uint64_t sum(const struct dirsrv_entry_cache *cache, const struct number *number)
{
	const struct slab_counter counter = counter_of(cache, number);
	const char *at = (const char *)counter.value;
	uint64_t all = 0;

	for (unsigned i = 0; i < counter.copies; i++, at += counter.stride)
		all += __atomic_load_n((const uint64_t *)at, __ATOMIC_RELAXED);
	return all;
}

void numbers_attach(struct dirsrv_entry_cache *cache)
{
	struct slab_counter counters[NUMBERS];

	for (unsigned i = 0; i < NUMBERS; i++)
		counters[i] = counter_of(cache, &numbers[i]);
	cache->attached = !slab_cache_attach_counters(cache->pool->entries, counters, NUMBERS);
}

void numbers_detach(struct dirsrv_entry_cache *cache)
{
	if (cache->attached)
		slab_cache_attach_counters(cache->pool->entries, NULL, 0);
}

/* --- reading ------------------------------------------------------------------------------ */

int dirsrv_entry_cache_stats_read(struct dirsrv_entry_cache *cache,
				  struct dirsrv_entry_cache_stats *stats)
{
	if (stats->struct_size != sizeof(*stats))
		return -EINVAL;
	pthread_mutex_lock(&cache->pool->lock);
	for (unsigned i = 0; i < NUMBERS; i++) {
		uint64_t value = sum(cache, &numbers[i]);

		memcpy((char *)stats + numbers[i].in_stats, &value, sizeof(value));
	}
	pthread_mutex_unlock(&cache->pool->lock);
	return 0;
}

const char *dirsrv_entry_cache_stat_name(unsigned i)
{
	return i < NUMBERS ? numbers[i].name + strlen(PREFIX) : NULL;
}

int dirsrv_entry_cache_stat_read(struct dirsrv_entry_cache *cache, const char *name,
				 uint64_t *value)
{
	for (unsigned i = 0; i < NUMBERS; i++) {
		if (strcmp(dirsrv_entry_cache_stat_name(i), name) != 0)
			continue;
		pthread_mutex_lock(&cache->pool->lock);
		*value = sum(cache, &numbers[i]);
		pthread_mutex_unlock(&cache->pool->lock);
		return 0;
	}
	return -ENOENT;
}
