/* SPDX-License-Identifier: MIT */
/* Caches, and which of them a call site has: a hash table without a lock. */
#include "preload.h"

#include <slab/define.h>

#include <errno.h>
#include <string.h>

/* --- caches --------------------------------------------------------------------------------- */

/*
 * Several threads may create the same cache at once: all but one then use up an
 * entry of the list, but libslab gives equal definitions one cache.
 */

struct entry {
	struct slab_definition definition;
	struct slab_cache *cache; /* NULL: not yet, or for ever */
	struct cache_name name;
};

static struct entry caches[MOST_CACHES];
static unsigned caches_used;

static unsigned caches_count(void)
{
	unsigned n = __atomic_load_n(&caches_used, __ATOMIC_ACQUIRE);

	return n < options.caches ? n : options.caches;
}

static struct entry *find_name(const char *text)
{
	for (unsigned i = 0, n = caches_count(); i < n; i++)
		if (__atomic_load_n(&caches[i].cache, __ATOMIC_ACQUIRE) &&
		    strcmp(caches[i].name.text, text) == 0)
			return &caches[i];
	return NULL;
}

static struct slab_cache *create(const struct cache_name *name)
{
	unsigned i;
	struct entry *entry;
	struct slab_cache *cache;

	if (caches_count() >= options.caches)
		return NULL;
	i = __atomic_fetch_add(&caches_used, 1, __ATOMIC_ACQ_REL);
	if (i >= options.caches)
		return NULL;
	entry = &caches[i];
	entry->name = *name;
	entry->definition = (struct slab_definition){.name = entry->name.text,
						     .size = name->size,
						     .align = name->size % 16 ? 8 : 16,
						     .args_size = sizeof(struct slab_cache_args)};
	cache = slab_cache_defined(&entry->definition, 0);
	if (!__atomic_load_n(&entry->definition.cache, __ATOMIC_ACQUIRE))
		return NULL; /* a handle whose allocations fail */
	__atomic_store_n(&entry->cache, cache, __ATOMIC_RELEASE);
	return cache;
}

/* The cache of this name and size, perhaps a new one. NULL: there are as many as allowed, or it
 * cannot be created. */
static struct slab_cache *caches_get(const struct cache_name *name)
{
	const struct entry *found = find_name(name->text);
	struct cache_name sized;

	if (!found)
		return create(name);
	if (found->name.size == name->size)
		return found->cache;
	sized = *name;
	name_append_size(&sized);
	found = find_name(sized.text);
	return found ? found->cache : create(&sized);
}

/* --- sites ---------------------------------------------------------------------------------- */

/*
 * The table is open-addressed. A thread claims a place by a compare-and-swap of its
 * key; nothing is ever removed, so a key that was seen stays where it is.
 */

#define PROBES 16u

struct site sites[SITE_ROOM];

/* Strings: one site for each number of words. */
static struct site strings[SIZE_LIMIT / 8 + 1];

/* The site of a key; NULL: there is no room for it. */
static struct site *find(uint64_t key)
{
	unsigned place = site_place(key);

	for (unsigned i = 0; i < PROBES; i++) {
		struct site *site = &sites[(place + i) % SITE_ROOM];
		uint64_t found = __atomic_load_n(&site->key, __ATOMIC_RELAXED);

		if (__builtin_expect(found == key, 1))
			return site;
		if (!found && __atomic_compare_exchange_n(&site->key, &found, key, false,
							  __ATOMIC_RELAXED, __ATOMIC_RELAXED))
			return site;
		if (found == key)
			return site;
	}
	return NULL;
}

static struct slab_cache *settle(struct site *site, const struct cache_name *name)
{
	struct slab_cache *cache = caches_get(name);

	__atomic_store_n(&site->state, cache ? (uintptr_t)cache : SITE_UNTYPED, __ATOMIC_RELEASE);
	return cache;
}

/* How many allocations precede the cache of this name. */
static unsigned threshold(const struct cache_name *name)
{
	if (!name->is_type)
		return SITE_VERY_OFTEN;
	return name->has_sizes ? SITE_OFTEN : 0;
}

/* The site has allocated `count` times without a cache. */
static struct slab_cache *consider(struct site *site, uintptr_t count,
				   const struct cache_name *name)
{
	if (!name->is_type && !options.is_automatic)
		__atomic_store_n(&site->state, SITE_UNTYPED, __ATOMIC_RELAXED);
	else if (count >= threshold(name))
		return settle(site, name);
	else
		__atomic_compare_exchange_n(&site->state, &count, count + 1, false,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	return NULL;
}

/* Is it time to look the name up? */
static bool is_step(uintptr_t count)
{
	return count == 0 || count == SITE_OFTEN || count == SITE_VERY_OFTEN;
}

__attribute__((cold, noinline)) static struct slab_cache *site_first(struct site *site,
								     uintptr_t count,
								     const void *caller,
								     size_t size)
{
	const int saved = errno;
	struct slab_cache *cache = NULL;
	struct cache_name name;

	if (is_step(count)) {
		options_read();
		name_site(&name, caller, size);
		cache = consider(site, count, &name);
	} else {
		__atomic_compare_exchange_n(&site->state, &count, count + 1, false,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	}
	errno = saved;
	return cache;
}

/* What is known of a site: its cache, or NULL. */
static inline struct slab_cache *cache_in(const struct site *site, uintptr_t *state)
{
	*state = __atomic_load_n(&site->state, __ATOMIC_ACQUIRE);
	return SITE_IS_CACHE(*state) ? (struct slab_cache *)*state : NULL;
}

__attribute__((noinline)) struct slab_cache *site_cache_slow(const void *caller, size_t size)
{
	struct slab_cache *cache;
	struct site *site;
	uintptr_t state;

	if (size - 1 >= SIZE_LIMIT)
		return NULL;
	site = find(site_key(caller, size));
	if (!site)
		return NULL;
	cache = cache_in(site, &state);
	return cache || state == SITE_UNTYPED ? cache : site_first(site, state, caller, size);
}

__attribute__((cold, noinline)) static struct slab_cache *string_first(struct site *site,
								       uintptr_t count, size_t size)
{
	const int saved = errno;
	struct cache_name name;
	struct slab_cache *cache;

	options_read();
	name_string(&name, size);
	cache = consider(site, count, &name);
	errno = saved;
	return cache;
}

struct slab_cache *string_cache(size_t size)
{
	struct slab_cache *cache;
	struct site *site;
	uintptr_t state;

	if (size - 1 >= SIZE_LIMIT)
		return NULL;
	site = &strings[(size + 7) / 8];
	cache = cache_in(site, &state);
	if (__builtin_expect(cache != NULL, 1) || state == SITE_UNTYPED)
		return cache;
	return string_first(site, state, size);
}
