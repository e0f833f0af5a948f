/* SPDX-License-Identifier: MIT */
/*
 * slab_cache_attach_counters(): checks the descriptions of an application's counters, and copies
 * them to the cache's table (inspect/counters.h).
 */
#include "stats/counters_attach.h"
#include "base/error.h"
#include "base/seqcount.h"
#include "core/cache.h"
#include "inspect/counters.h"
#include "pages/os.h"
#include "registry/registry.h"
#include "stats/attributes.h"

#include <errno.h>
#include <pthread.h>
#include <slab/stats.h>
#include <stddef.h>
#include <string.h>

/* --- what can be attached -------------------------------------------------------- */

static bool is_help(const char *help)
{
	size_t n = 0;

	while (help[n] >= ' ' && help[n] <= '~' && n <= SLAB_COUNTER_HELP_MAX)
		n++;
	return !help[n] && n <= SLAB_COUNTER_HELP_MAX;
}

/* The size of struct slab_counter in its first version. */
#define SIZE_MIN (offsetof(struct slab_counter, stride) + sizeof(size_t))

/* Copy and check one counter. The application was compiled with `size` bytes per counter; bytes
 * that this version does not know must be zero. Returns 0 or -errno. */
static int take(struct counter_row *row, const char *from, size_t size)
{
	struct slab_counter counter = {.name = NULL};

	for (size_t i = sizeof(counter); i < size; i++)
		if (from[i])
			return -EINVAL;
	memcpy(&counter, from, size < sizeof(counter) ? size : sizeof(counter));
	if (!counter.name || (counter.help && !is_help(counter.help)))
		return -EINVAL;
	*row = (struct counter_row){
		.value = (uintptr_t)counter.value,
		.stride = counter.copies > 1 ? counter.stride : sizeof(uint64_t),
		.copies = counter.copies ? counter.copies : 1,
		.kind = (uint32_t)counter.kind,
	};
	strncpy(row->name, counter.name, sizeof(row->name)); /* counter_is_sane() checks its end */
	if (counter.help)
		memcpy(row->help, counter.help, strlen(counter.help) + 1);
	if (!counter_is_sane(row))
		return -EINVAL;
	return attribute_is_known(row->name) ? -EEXIST : 0;
}

static bool has_name(const struct counter_table *table, const char *name)
{
	for (unsigned i = 0; i < table->count; i++)
		if (strcmp(table->row[i].name, name) == 0)
			return true;
	return false;
}

static int take_all(struct counter_table *table, const struct slab_counter *counters, unsigned n,
		    size_t size)
{
	const char *from = (const char *)counters;
	unsigned words = 0;

	if (n > SLAB_COUNTERS_MAX || (n && (!counters || size < SIZE_MIN)))
		return -EINVAL;
	for (unsigned i = 0; i < n; i++, from += size) {
		int error = take(&table->row[i], from, size);

		if (!error && has_name(table, table->row[i].name))
			error = -EEXIST;
		if (error)
			return error;
		words += table->row[table->count++].copies;
	}
	return words <= SLAB_COUNTERS_WORDS_MAX ? 0 : -EINVAL;
}

/* --- the table --------------------------------------------------------------------- */

static void put(struct counter_table *table, const struct counter_table *from)
{
	counters_lock();
	seqcount_write_begin(&table->changes);
	memcpy(table->row, from->row, from->count * sizeof(from->row[0]));
	table->count = from->count;
	seqcount_write_end(&table->changes);
	counters_unlock();
}

void counters_detach(struct slab_cache *cache)
{
	static const struct counter_table none;

	if (cache->counters)
		put(cache->counters, &none);
}

/* Under registry_lock. */
static int attach(struct slab_cache *cache, const struct counter_table *table)
{
	if (!cache_is_registered(cache))
		return -EINVAL;
	if (!table->count) {
		counters_detach(cache);
		return 0;
	}
	if (cache->aliases || cache_has_counters(cache))
		return -EBUSY;
	if (!cache->counters)
		__atomic_store_n(&cache->counters, os_map(sizeof(*cache->counters), 1),
				 __ATOMIC_RELEASE);
	if (!cache->counters)
		return -ENOMEM;
	put(cache->counters, table);
	return 0;
}

int slab_cache_attach_counters_sized(struct slab_cache *cache, const struct slab_counter *counters,
				     unsigned n, size_t counter_size)
{
	struct counter_table table = {.count = 0};
	int error = take_all(&table, counters, n, counter_size);

	if (!error) {
		pthread_mutex_lock(&registry_lock);
		error = attach(cache, &table);
		pthread_mutex_unlock(&registry_lock);
	}
	return with_errno(error);
}
