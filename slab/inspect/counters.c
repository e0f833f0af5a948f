/* SPDX-License-Identifier: MIT */
/* The counters lock, and the check of a counter's row (counters.h). */
#include "inspect/counters.h"

#include <pthread.h>
#include <stddef.h>

#include "core/cache.h"

/* Protects each cache's table, and the words in the application's memory that it points to. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void counters_lock(void)
{
	pthread_mutex_lock(&lock);
}

void counters_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

static bool is_name_character(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

/* Is it a valid name, terminated within `size` bytes? */
static bool is_name(const char *name, size_t size)
{
	size_t n = 0;

	while (n < size && is_name_character(name[n]))
		n++;
	return n > 0 && n < size && !name[n] && name[0] >= 'a';
}

bool counter_is_sane(const struct counter_row *row)
{
	const uint64_t word = sizeof(uint64_t);
	uint64_t span, end;

	if (!is_name(row->name, sizeof(row->name)) || row->kind > SLAB_COUNTER_BYTES)
		return false;
	if (!row->value || row->value % word || !row->copies || row->copies > COUNTER_COPIES_MAX)
		return false;
	if (row->copies > 1 && (!row->stride || row->stride % word))
		return false;
	return !__builtin_mul_overflow(row->stride, row->copies - 1, &span) &&
	       !__builtin_add_overflow(row->value + word, span, &end);
}

bool cache_has_counters(const struct slab_cache *cache)
{
	return cache->counters && cache->counters->count;
}
