/* SPDX-License-Identifier: MIT */
/*
 * Caches of types (<slab/token.h>): from a token and a size to a cache.
 *
 * The first size of a token gets a cache of exactly this size. Other sizes use size classes of the
 * token. Entries of the table appear and never leave it, and their caches are never destroyed, so
 * readers take no lock: an old table, which a larger one has replaced, is only out of date.
 */
#pragma once

#include <slab/malloc.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "cache/size_class.h"
#include "core/cache.h"

struct token_type;

/* What the fast path needs of a type. */
struct token_entry {
	uint64_t token; /* 0: the entry is empty; written last */
	size_t size; /* the first one; 0: there was none; atomic */
	struct slab_cache *cache; /* of this size; NULL: not created yet; atomic */
	struct token_type *type;
};

struct token_table {
	uint64_t mask; /* the number of entries - 1 */
	struct token_entry entry[]; /* of a token: at its low bits, or behind */
};

/* A type. It stays where it is, in contrast to its entry. registry_lock protects the members;
 * caches are atomic. */
struct token_type {
	uint64_t token;
	size_t size;
	struct slab_cache *cache;
	char name[SLAB_MAX_NAME + 1]; /* "": unknown */
	uint32_t classes; /* that have caches; atomic */
	uint32_t asked[CLASSES + 1]; /* allocations of a class while it had none; atomic */
	struct slab_cache *class_cache[CLASSES + 1]; /* from 1 on */
};

extern struct token_table *token_table; /* atomic */

/* The entry of a token; NULL: it has none. An empty entry may become another token's at any
 * time. */
static inline struct token_entry *token_entry_find(struct token_table *table, uint64_t token)
{
	for (uint64_t i = token & table->mask;; i = (i + 1) & table->mask) {
		const uint64_t has = __atomic_load_n(&table->entry[i].token, __ATOMIC_ACQUIRE);

		if (SLAB_LIKELY(has == token))
			return &table->entry[i];
		if (!has)
			return NULL;
	}
}

/* The cache; NULL: there is none, yet or at all. The token is not 0. */
static inline struct slab_cache *token_cache_find(uint64_t token, size_t size)
{
	struct token_table *table = __atomic_load_n(&token_table, __ATOMIC_ACQUIRE);
	const struct token_entry *entry = token_entry_find(table, token);

	if (SLAB_UNLIKELY(!entry))
		return NULL;
	if (SLAB_LIKELY(__atomic_load_n(&entry->size, __ATOMIC_RELAXED) == size))
		return __atomic_load_n(&entry->cache, __ATOMIC_ACQUIRE);
	if (SLAB_UNLIKELY(size > SLAB_MALLOC_MAX_CACHED))
		return NULL;
	return __atomic_load_n(&entry->type->class_cache[class_of(size)], __ATOMIC_ACQUIRE);
}

/* As token_cache_find(), but creates the cache if it is due. NULL: the allocation is an ordinary
 * one. Keeps errno. */
struct slab_cache *token_cache_get(uint64_t token, size_t size);

/* Allocate for a token, which may be 0, off the fast path. */
void *token_malloc_slow(size_t size, uint64_t token, const void *caller);

/* The cache of a type that counts its large allocations, which may be created for it. NULL: there
 * is none. Keeps errno. */
struct slab_cache *token_cache_of_large(uint64_t token);

/* The token of a cache's type; 0: it has none. */
static inline uint64_t token_of(const struct slab_cache *cache)
{
	return __atomic_load_n(&cache->token, __ATOMIC_RELAXED);
}
