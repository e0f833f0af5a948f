/* SPDX-License-Identifier: MIT */
/*
 * Caches that are defined, not created.
 *
 * Each file and each library that has a definition has a struct slab_definition of its own. The
 * first use of one looks the name up, under registry_lock: so all equal definitions lead to one
 * cache. No definition owns it, and it is never destroyed: objects may outlive the library that
 * allocated them. It is not merged, since slab_cache_destroy() of a merged cache could remove its
 * name.
 */
#include <pthread.h>
#include <slab/define.h>

#include "base/cancel.h"
#include "base/compiler.h"
#include "base/note.h"
#include "cache/create.h"
#include "core/cache.h"
#include "registry/registry.h"

/* What stands for a cache that could not be created. Its slots have no objects, as those of a
 * destroyed cache, so each allocation comes to the slow path and fails there. */
static struct slab_cache *no_cache(void)
{
	static struct slab_cache none = {
		.name = "none",
		.magic = CACHE_NONE_MAGIC,
		.number = CACHE_UNNUMBERED,
	};
	int cancel = cancel_disable();
	char *slots;

	pthread_mutex_lock(&registry_lock);
	slots = cpu_slots_none();
	none.slots = none.cpu_slots = slots;
	none.lifos = none.cpu_lifos = none.rcu_lifos = slots;
	pthread_mutex_unlock(&registry_lock);
	if (!slots)
		slab_fatal("there is no address space for caches");
	cancel_restore(cancel);
	return &none;
}

SLAB_SLOWPATH struct slab_cache *slab_cache_defined(struct slab_definition *definition,
						    uint64_t flags)
{
	const struct cache_request request = {
		.name = definition->name,
		.size = definition->size,
		.args = definition->args,
		.args_size = definition->args_size,
		.align = definition->align,
		.flags = definition->flags | flags | SLAB_NO_MERGE,
		.defined = true,
	};
	struct slab_cache *cache = __atomic_load_n(&definition->cache, __ATOMIC_ACQUIRE);

	if (cache)
		return cache;
	cache = cache_create(&request, __builtin_return_address(0));
	if (!cache)
		return no_cache();
	__atomic_store_n(&definition->cache, cache, __ATOMIC_RELEASE);
	return cache;
}
