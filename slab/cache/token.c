/* SPDX-License-Identifier: MIT */
/*
 * Types by the tokens of the compiler: the table, the caches, the names.
 *
 * A cache costs a few KiB, so a size class of a type gets one only after some allocations, which
 * ordinary caches serve. registry_lock protects types and tables.
 */
#include <errno.h>
#include <slab/token.h>
#include <stdio.h>
#include <string.h>

#include "base/cancel.h"
#include "base/options.h"
#include "cache/create.h"
#include "cache/create_args.h"
#include "cache/token.h"
#include "core/init.h"
#include "core/registry.h"
#include "pages/os.h"

#define FIRST_ENTRIES 64u
/* Allocations of a type's first class before it gets a cache. Every four caches double that, so
 * arrays that grow through all classes get few of them. */
#define ASKED_SHIFT 4u
#define CLASSES_DOUBLE 4u
/* Types have memory of their own, which is mapped in pieces. */
#define PIECE_BYTES ((size_t)65536)
/* Stands for the sizes above SLAB_MALLOC_MAX_CACHED, and is no type's first size. */
#define LARGE ((size_t)0)

static struct {
	uint64_t mask;
	struct token_entry entry[FIRST_ENTRIES];
} first_table = {.mask = FIRST_ENTRIES - 1};

struct token_table *token_table = (struct token_table *)&first_table;
static uint64_t type_count;
static uint64_t cache_count; /* atomic */

/* Zeroed memory that stays. Under registry_lock. */
static void *take_memory(size_t bytes)
{
	static char *piece;
	static size_t left;

	bytes = (bytes + 15) & ~(size_t)15;
	if (left < bytes) {
		piece = os_map(PIECE_BYTES, 1);
		left = piece ? PIECE_BYTES : 0;
	}
	if (!piece)
		return NULL;
	left -= bytes;
	piece += bytes;
	return piece - bytes;
}

/* --- types; all under registry_lock ----------------------------------------------------------- */

static struct token_entry *insert(struct token_table *table, const struct token_entry *value)
{
	uint64_t i = value->token & table->mask;
	struct token_entry *entry;

	while (table->entry[i].token)
		i = (i + 1) & table->mask;
	entry = &table->entry[i];
	entry->cache = value->cache;
	entry->size = value->size;
	entry->type = value->type;
	__atomic_store_n(&entry->token, value->token, __ATOMIC_RELEASE);
	return entry;
}

/* At most half of the entries are in use. Readers may still use the old table, so it stays. */
static bool table_reserve(void)
{
	const uint64_t entries = token_table->mask + 1;
	struct token_table *larger;

	if ((type_count + 1) * 2 <= entries)
		return true;
	larger = os_map(sizeof(*larger) + 4 * entries * sizeof(larger->entry[0]), 1);
	if (!larger)
		return false;
	larger->mask = 4 * entries - 1;
	for (uint64_t i = 0; i < entries; i++)
		if (token_table->entry[i].token)
			insert(larger, &token_table->entry[i]);
	__atomic_store_n(&token_table, larger, __ATOMIC_RELEASE);
	return true;
}

/* The entry of a token, a new one if it has none. NULL: there is no memory, or there are too
 * many. */
static struct token_entry *entry_of(uint64_t token)
{
	struct token_entry *entry = token_entry_find(token_table, token);
	struct token_type *type;

	if (entry)
		return entry;
	if (type_count == SLAB_TOKEN_CACHES_MAX || !table_reserve())
		return NULL;
	type = take_memory(sizeof(*type));
	if (!type)
		return NULL;
	type->token = token;
	type_count++;
	return insert(token_table, &(struct token_entry){.token = token, .type = type});
}

static void set_size(struct token_entry *entry, size_t size)
{
	entry->type->size = size;
	__atomic_store_n(&entry->size, size, __ATOMIC_RELEASE);
}

/* The type of a token for an allocation of this size, which may be its first. */
static struct token_type *type_for(uint64_t token, size_t size)
{
	struct token_entry *entry =
		token_entry_find(__atomic_load_n(&token_table, __ATOMIC_ACQUIRE), token);
	struct token_type *type = NULL;

	if (entry && __atomic_load_n(&entry->size, __ATOMIC_ACQUIRE))
		return entry->type;
	pthread_mutex_lock(&registry_lock);
	entry = entry_of(token);
	if (entry) {
		type = entry->type;
		if (!type->size)
			set_size(entry, size);
	}
	pthread_mutex_unlock(&registry_lock);
	return type;
}

/* --- caches -------------------------------------------------------------------------------- */

/* "conn"; "conn-96" or "conn-2k" of a class; "token-D5D5177A51D2519E" of a type without a name. */
static void write_name(char name[SLAB_MAX_NAME + 1], const struct token_type *type, size_t class,
		       bool has_name)
{
	const bool is_kib = class % 1024 == 0;
	size_t length;

	if (has_name)
		memcpy(name, type->name, sizeof(type->name));
	else
		snprintf(name, SLAB_MAX_NAME + 1, "token-%016llX", (unsigned long long)type->token);
	length = strlen(name);
	if (class)
		snprintf(name + length, SLAB_MAX_NAME + 1 - length, "-%zu%s",
			 is_kib ? class / 1024 : class, is_kib ? "k" : "");
}

/* Without its name, if it is taken: the program may have a cache that is called so. */
static struct slab_cache *create_named(const struct token_type *type, size_t class, size_t size,
				       struct slab_cache **place, bool has_name)
{
	char name[SLAB_MAX_NAME + 1];

	pthread_mutex_lock(&registry_lock);
	has_name = has_name && type->name[0] != '\0';
	write_name(name, type, class, has_name);
	pthread_mutex_unlock(&registry_lock);
	errno = 0;
	return cache_create_by_size(name, size, place);
}

static struct slab_cache *create(const struct token_type *type, size_t class, size_t size,
				 struct slab_cache **place)
{
	struct slab_cache *cache = __atomic_load_n(place, __ATOMIC_ACQUIRE);

	if (cache)
		return cache;
	if (__atomic_fetch_add(&cache_count, 1, __ATOMIC_RELAXED) >= SLAB_TOKEN_CACHES_MAX) {
		__atomic_fetch_sub(&cache_count, 1, __ATOMIC_RELAXED);
		return NULL;
	}
	cache = create_named(type, class, size, place, true);
	if (!cache && errno == EEXIST)
		cache = create_named(type, class, size, place, false);
	if (cache)
		__atomic_store_n(&cache->token, type->token, __ATOMIC_RELAXED);
	else
		__atomic_fetch_sub(&cache_count, 1, __ATOMIC_RELAXED);
	return cache;
}

/* The cache of the first size. */
static struct slab_cache *first_cache(struct token_type *type)
{
	struct slab_cache *cache = create(type, 0, type->size, &type->cache);

	pthread_mutex_lock(&registry_lock);
	__atomic_store_n(&token_entry_find(token_table, type->token)->cache, cache,
			 __ATOMIC_RELEASE);
	pthread_mutex_unlock(&registry_lock);
	return cache;
}

/* Threads may lose a count to each other. */
static bool is_due(struct token_type *type, unsigned class)
{
	const uint32_t asked = __atomic_load_n(&type->asked[class], __ATOMIC_RELAXED);
	const uint32_t classes = __atomic_load_n(&type->classes, __ATOMIC_RELAXED);

	if (slab_options()->apart || asked >> ASKED_SHIFT >> classes / CLASSES_DOUBLE)
		return true;
	__atomic_store_n(&type->asked[class], asked + 1, __ATOMIC_RELAXED);
	return false;
}

static struct slab_cache *class_cache(struct token_type *type, size_t size)
{
	const unsigned class = class_of(size);
	struct slab_cache *cache;

	if (class_size(class) == type->size) {
		cache = first_cache(type);
		__atomic_store_n(&type->class_cache[class], cache, __ATOMIC_RELEASE);
		return cache;
	}
	if (!is_due(type, class))
		return NULL;
	cache = create(type, class_size(class), class_size(class), &type->class_cache[class]);
	if (cache)
		__atomic_fetch_add(&type->classes, 1, __ATOMIC_RELAXED);
	return cache;
}

/* The cache that counts large allocations: of the first size, or of the largest class. */
static struct slab_cache *counting_cache(struct token_type *type)
{
	struct slab_cache *cache = __atomic_load_n(&type->cache, __ATOMIC_ACQUIRE);

	return cache ? cache
		     : create(type, SLAB_MALLOC_MAX_CACHED, SLAB_MALLOC_MAX_CACHED,
			      &type->class_cache[CLASSES]);
}

static struct slab_cache *cache_for(struct token_type *type, size_t size)
{
	if (size == LARGE)
		return counting_cache(type);
	return size == type->size ? first_cache(type) : class_cache(type, size);
}

static SLAB_SLOWPATH struct slab_cache *get_slow(uint64_t token, size_t size)
{
	struct slab_cache *cache = NULL;
	struct token_type *type;
	int saved = errno, cancel;

	if (__atomic_load_n(&cache_count, __ATOMIC_RELAXED) >= SLAB_TOKEN_CACHES_MAX ||
	    !slab_init())
		return NULL;
	cancel = cancel_disable();
	type = type_for(token, size);
	if (type)
		cache = cache_for(type, size);
	cancel_restore(cancel);
	errno = saved;
	return cache;
}

struct slab_cache *token_cache_get(uint64_t token, size_t size)
{
	struct slab_cache *cache;

	if (!token || !size || size > SLAB_MALLOC_MAX_CACHED)
		return NULL;
	cache = token_cache_find(token, size);
	return cache ? cache : get_slow(token, size);
}

struct slab_cache *token_cache_of_large(uint64_t token)
{
	return token ? get_slow(token, LARGE) : NULL;
}

/* --- names --------------------------------------------------------------------------------- */

static void rename_cache(struct slab_cache *cache, const struct token_type *type, size_t class)
{
	char name[SLAB_MAX_NAME + 1];

	write_name(name, type, class, true);
	if (cache)
		registry_rename(cache, name);
}

/* Under registry_lock. */
static void rename_type(struct token_type *type, const char *name)
{
	snprintf(type->name, sizeof(type->name), "%s", name);
	rename_cache(type->cache, type, 0);
	for (unsigned i = 1; i <= CLASSES; i++)
		if (type->class_cache[i] != type->cache)
			rename_cache(type->class_cache[i], type, class_size(i));
}

int slab_token_name(uint64_t token, const char *name)
{
	const struct slab_cache_args args = {.align = 16};
	struct token_entry *entry;
	int cancel;

	if (!token || !name || strnlen(name, SLAB_TOKEN_NAME_MAX + 1) > SLAB_TOKEN_NAME_MAX ||
	    create_args_check(name, 16, &args, 0))
		return -EINVAL;
	if (!slab_init())
		return -ENOMEM;
	cancel = cancel_disable();
	pthread_mutex_lock(&registry_lock);
	entry = entry_of(token);
	if (entry)
		rename_type(entry->type, name);
	pthread_mutex_unlock(&registry_lock);
	cancel_restore(cancel);
	return entry ? 0 : -ENOMEM;
}
