/* SPDX-License-Identifier: MIT */
/*
 * See caches.h. Several threads may create the same cache at once: all but one then use up an
 * entry of the list, but libslab gives equal definitions one cache.
 */
#include "caches.h"

#include <string.h>

#include <slab/define.h>

#include "options.h"

struct entry {
	struct slab_definition definition;
	struct slab_cache *cache; /* NULL: not yet, or for ever */
	struct cache_name name;
};

static struct entry list[MOST_CACHES];
static unsigned used;

static unsigned count(void)
{
	unsigned n = __atomic_load_n(&used, __ATOMIC_ACQUIRE);

	return n < options.caches ? n : options.caches;
}

static struct entry *find(const char *text)
{
	for (unsigned i = 0, n = count(); i < n; i++)
		if (__atomic_load_n(&list[i].cache, __ATOMIC_ACQUIRE) &&
		    strcmp(list[i].name.text, text) == 0)
			return &list[i];
	return NULL;
}

static struct slab_cache *create(const struct cache_name *name)
{
	unsigned i;
	struct entry *entry;
	struct slab_cache *cache;

	if (count() >= options.caches)
		return NULL;
	i = __atomic_fetch_add(&used, 1, __ATOMIC_ACQ_REL);
	if (i >= options.caches)
		return NULL;
	entry = &list[i];
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

struct slab_cache *caches_get(const struct cache_name *name)
{
	const struct entry *found = find(name->text);
	struct cache_name sized;

	if (!found)
		return create(name);
	if (found->name.size == name->size)
		return found->cache;
	sized = *name;
	name_append_size(&sized);
	found = find(sized.text);
	return found ? found->cache : create(&sized);
}

const char *caches_name(unsigned i, bool *is_type)
{
	if (i >= count())
		return NULL;
	*is_type = list[i].name.is_type;
	return list[i].name.text;
}
