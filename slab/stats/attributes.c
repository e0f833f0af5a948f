/* SPDX-License-Identifier: MIT */
/*
 * Statistics by name, for slab_stat_read() and slab_stat_write(). A table has, for each
 * attribute, its place in struct slab_stats, the function that sets it, and the values that it
 * accepts. Events follow the table; they can only be set to 0.
 */
#include "stats/attributes.h"
#include "base/error.h"
#include "base/options.h"
#include "core/shard.h"
#include "debug/debug_cache.h"

#include <slab/debug.h>
#include <slab/stats.h>

/* More empty slabs than any shard needs. */
#define MIN_PARTIAL_MAX 65535

struct attribute {
	const char *name;
	size_t offset, size; /* in struct slab_stats; size 0: not there, `read` returns it */
	uint64_t (*read)(const struct slab_cache *cache);
	/* Only for attributes that can be set: */
	void (*write)(struct slab_cache *cache, uint64_t value);
	uint64_t max;
	const char *accepted;
	uint64_t (*least)(const struct slab_cache *cache); /* the least value except 0; NULL: 1 */
};

static void write_min_partial(struct slab_cache *cache, uint64_t value)
{
	unsigned before =
		__atomic_exchange_n(&cache->min_partial, (unsigned)value, __ATOMIC_RELAXED);

	if (value >= before)
		return;
	cache_release(cache, (unsigned)value);
	legacy_finish(cache);
}

static uint64_t least_limit(const struct slab_cache *cache)
{
	return cache_least_bytes(cache);
}

static void write_limit(struct slab_cache *cache, uint64_t value)
{
	__atomic_store_n(&cache->account.limit, value, __ATOMIC_RELAXED);
}

static uint64_t read_sample(const struct slab_cache *cache)
{
	return __atomic_load_n(&cache->sample.interval, __ATOMIC_RELAXED);
}

static void write_sample(struct slab_cache *cache, uint64_t value)
{
	slab_cache_sample(cache, value);
}

static uint64_t read_ratio(const struct slab_cache *cache)
{
	return __atomic_load_n(&cache->other_node_ratio, __ATOMIC_RELAXED);
}

static void write_ratio(struct slab_cache *cache, uint64_t value)
{
	__atomic_store_n(&cache->other_node_ratio, (unsigned)value, __ATOMIC_RELAXED);
}

#define SIZE_OF(member) sizeof(((struct slab_stats *)0)->member)
#define AT(member) .offset = offsetof(struct slab_stats, member), .size = SIZE_OF(member)
#define NUMBER(member) {.name = #member, AT(member)}
#define WRITABLE(member, most, which)                                                              \
	{.name = #member, AT(member), .write = write_##member, .max = (most), .accepted = (which)}

#define TEXT_OF(number) #number
#define UP_TO(max) "0 to " TEXT_OF(max)

static const struct attribute attributes[] = {
	NUMBER(flags),
	NUMBER(object_size),
	NUMBER(slab_size),
	NUMBER(align),
	NUMBER(objects_per_slab),
	NUMBER(order),
	NUMBER(has_ctor),
	WRITABLE(min_partial, MIN_PARTIAL_MAX, UP_TO(MIN_PARTIAL_MAX) " slabs"),
	NUMBER(slabs),
	NUMBER(slab_bytes),
	NUMBER(partial),
	NUMBER(full),
	NUMBER(empty),
	NUMBER(objects),
	NUMBER(total_objects),
	NUMBER(cpu_objects),
	NUMBER(debug_slabs),
	NUMBER(legacy_slabs),
	NUMBER(guarded_slabs),
	NUMBER(errors),
	{.name = "limit",
	 AT(limit),
	 .write = write_limit,
	 .max = INT64_MAX,
	 .accepted = "0 for no limit, or a number of bytes, at least one slab",
	 .least = least_limit},
	NUMBER(address_bytes),
	NUMBER(counted),
	NUMBER(counted_us),
	NUMBER(rcu_pending),
	NUMBER(rcu_freed),
	NUMBER(rcu_helped),
	NUMBER(limit_hits),
	NUMBER(reserve),
	NUMBER(reserve_left),
	NUMBER(reclaims),
	NUMBER(reclaimed),
	NUMBER(moved),
	NUMBER(nodes),
	{.name = "sample",
	 .read = read_sample,
	 .write = write_sample,
	 .max = INT64_MAX,
	 .accepted = "a number of allocations, and 0 for off"},
	{.name = "remote_node_defrag_ratio",
	 .read = read_ratio,
	 .write = write_ratio,
	 .max = 100,
	 .accepted = UP_TO(100) " percent"},
};

#define ATTRIBUTES ((unsigned)(sizeof(attributes) / sizeof(attributes[0])))

const char *slab_stat_name(unsigned i)
{
	return i < ATTRIBUTES ? attributes[i].name : slab_event_name(i - ATTRIBUTES);
}

/* The number of an attribute or event, as slab_stat_name() takes it; -1: there is none. */
static int find(const char *name)
{
	const char *known;

	for (unsigned i = 0; (known = slab_stat_name(i)); i++) {
		if (strcmp(known, name) == 0)
			return (int)i;
	}
	return -1;
}

static bool is_event(unsigned i)
{
	return i >= ATTRIBUTES;
}

bool attribute_is_known(const char *name)
{
	return find(name) >= 0;
}

const char *attribute_accepted(const char *name)
{
	int i = find(name);

	if (i >= 0 && is_event((unsigned)i))
		return "0, which clears it";
	return i < 0 ? NULL : attributes[i].accepted;
}

uint64_t attribute_least(const struct slab_cache *cache, const char *name)
{
	int i = find(name);

	return i >= 0 && !is_event((unsigned)i) && attributes[i].least ? attributes[i].least(cache)
								       : 0;
}

static uint64_t number_at(const struct slab_stats *stats, const struct attribute *attribute)
{
	const char *at = (const char *)stats + attribute->offset;
	unsigned small;
	uint64_t number;

	if (attribute->size == sizeof(small)) {
		memcpy(&small, at, sizeof(small));
		return small;
	}
	memcpy(&number, at, sizeof(number));
	return number;
}

int slab_stat_read(struct slab_cache *cache, const char *name, uint64_t *value)
{
	struct slab_stats stats = {.struct_size = sizeof(stats)};
	int i = find(name), error;

	if (i < 0)
		return with_errno(-ENOENT);
	error = slab_cache_stats(cache, &stats);
	if (error)
		return error;
	if (is_event((unsigned)i))
		*value = stats.event[(unsigned)i - ATTRIBUTES];
	else if (attributes[i].size)
		*value = number_at(&stats, &attributes[i]);
	else
		*value = attributes[i].read(cache);
	return 0;
}

static void clear_event(struct slab_cache *cache, unsigned event)
{
	shard_each (shard, cache)
		__atomic_store_n(&shard->event[event], 0, __ATOMIC_RELAXED);
}

int slab_stat_write(struct slab_cache *cache, const char *name, uint64_t value)
{
	int i = find(name);
	bool event = i >= 0 && is_event((unsigned)i);

	if (i < 0)
		return with_errno(-ENOENT);
	if (!cache || cache->magic != CACHE_MAGIC)
		return with_errno(-EINVAL);
	if (!event && !attributes[i].write)
		return with_errno(-EACCES);
	if (value > (event ? 0 : attributes[i].max))
		return with_errno(-ERANGE);
	if (!limit_is_possible(value, attribute_least(cache, name)))
		return with_errno(-ERANGE);
	if (event)
		clear_event(cache, (unsigned)i - ATTRIBUTES);
	else
		attributes[i].write(cache, value);
	return 0;
}
