/* SPDX-License-Identifier: MIT */
/*
 * The counters of an entry cache. A caller reads them all at once or by name.
 *
 * Every number is a sum of words in the structures where the code counts. A table has the offsets
 * of these words, and both ways to read a number use it.
 */
#include "entry_cache_internal.h"

#include <errno.h>
#include <string.h>

enum place {
	IN_CACHE,
	IN_QUEUES, /* one word in each of the two queues */
	IN_CPUS,   /* one word in the struct lookups of each CPU */
	IN_POOL,
};

#define NAME(member) #member, offsetof(struct dirsrv_entry_cache_stats, member)
#define AT(member) offsetof(struct dirsrv_entry_cache, member)

static const struct number {
	const char *name;
	size_t in_stats;
	enum place place;
	size_t offset;
} numbers[] = {
	{NAME(limit), IN_CACHE, AT(limit)},
	{NAME(entries), IN_QUEUES, AT(policy.small.entries)},
	{NAME(bytes), IN_QUEUES, AT(policy.small.bytes)},
	{NAME(small_entries), IN_CACHE, AT(policy.small.entries)},
	{NAME(small_bytes), IN_CACHE, AT(policy.small.bytes)},
	{NAME(hits), IN_CPUS, offsetof(struct lookups, hits)},
	{NAME(misses), IN_CPUS, offsetof(struct lookups, misses)},
	{NAME(inserts), IN_CACHE, AT(inserts)},
	{NAME(returns), IN_CACHE, AT(returns)},
	{NAME(replaces), IN_CACHE, AT(replaces)},
	{NAME(removes), IN_CACHE, AT(removes)},
	{NAME(evicts), IN_CACHE, AT(evicts)},
	{NAME(reclaims), IN_CACHE, AT(reclaims)},
	{NAME(moves), IN_CACHE, AT(moves)},
	{NAME(pending), IN_POOL, offsetof(struct dirsrv_entry_pool, pending)},
};

#define NUMBERS (sizeof(numbers) / sizeof(numbers[0]))

_Static_assert(sizeof(struct dirsrv_entry_cache_stats) ==
		       sizeof(size_t) + NUMBERS * sizeof(uint64_t),
	       "every number has a name");
_Static_assert(sizeof(size_t) == sizeof(uint64_t), "bytes are counted in words");

/* --- the words of a number -------------------------------------------------------------- */

static const char *first_word(const struct dirsrv_entry_cache *cache, const struct number *number)
{
	const void *const starts[] = {
		[IN_CACHE] = cache,
		[IN_QUEUES] = cache,
		[IN_CPUS] = cache->lookups,
		[IN_POOL] = cache->pool,
	};

	return (const char *)starts[number->place] + number->offset;
}

/* The caller holds the lock, under which most words change. */
static uint64_t sum(const struct dirsrv_entry_cache *cache, const struct number *number)
{
	const char *at = first_word(cache, number);
	unsigned words = 1;
	size_t stride = 0;
	uint64_t all = 0;

	if (number->place == IN_QUEUES) {
		words = 2;
		stride = AT(policy.main) - AT(policy.small);
	} else if (number->place == IN_CPUS) {
		words = cache->cpus;
		stride = sizeof(struct lookups);
	}
	for (unsigned i = 0; i < words; i++, at += stride)
		all += __atomic_load_n((const uint64_t *)at, __ATOMIC_RELAXED);
	return all;
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
	return i < NUMBERS ? numbers[i].name : NULL;
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
