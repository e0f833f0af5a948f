/* SPDX-License-Identifier: MIT */
/*
 * Caches that are defined, not created.
 *
 * Each file and each library that has a definition has a struct slab_definition of its own. The
 * first use of one looks the name up, under registry_lock: so all equal definitions lead to one
 * cache. No definition owns it, and it is never destroyed: objects may outlive the library that
 * allocated them.
 *
 * The cache keeps the callbacks, too. So the library that has them stays loaded. dlopen() may
 * allocate and takes the dynamic linker's lock: the caller holds no lock of libslab.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <slab/define.h>
#include <string.h>

#include "base/cancel.h"
#include "base/compiler.h"
#include "base/note.h"
#include "cache/create.h"
#include "cache/create_args.h"
#include "core/cache.h"
#include "core/registry.h"

/* What stands for a cache that could not be created. Its arrays are empty, as those of a destroyed
 * cache, so each allocation comes to the slow path and fails there. */
static struct slab_cache *no_cache(void)
{
	static struct slab_cache none = {
		.name = "none",
		.magic = CACHE_NONE_MAGIC,
	};
	int cancel = cancel_disable();
	char *arrays;

	pthread_mutex_lock(&registry_lock);
	arrays = cpu_arrays_none();
	none.alloc_arrays = none.arrays = none.rcu_arrays = arrays;
	pthread_mutex_unlock(&registry_lock);
	if (!arrays)
		slab_fatal("there is no address space for caches");
	cancel_restore(cancel);
	return &none;
}

/* Older C libraries have it in a library of its own. A program that has not loaded that one unloads
 * none. */
#pragma weak dlsym

typedef void *open_function(const char *file, int mode);

/* dlopen() by name: the linker warns of a static program that refers to it. */
static open_function *find_dlopen(void)
{
	void *found = dlsym ? dlsym(RTLD_DEFAULT, "dlopen") : NULL;
	open_function *function;

	memcpy(&function, &found, sizeof(function));
	return function;
}

/* "" for the program itself; NULL: address is in no object. */
static const char *object_of(uintptr_t address)
{
#if SLAB_HAVE_DL_FIND_OBJECT
	struct dl_find_object found;

	if (_dl_find_object((void *)address, &found) == 0 && found.dlfo_link_map)
		return found.dlfo_link_map->l_name;
#elif defined(RTLD_DL_LINKMAP)
	struct link_map *map;
	Dl_info found;

	if (dladdr1((void *)address, &found, (void **)&map, RTLD_DL_LINKMAP) && map)
		return map->l_name;
#else
	(void)address;
#endif
	return NULL;
}

static void keep_loaded(uintptr_t address)
{
	const char *object = address ? object_of(address) : NULL;
	open_function *open = object && *object ? find_dlopen() : NULL;

	if (open)
		open(object, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

static void keep_callbacks(const struct slab_definition *definition)
{
	int saved = errno, cancel = cancel_disable();
	struct slab_cache_args args;

	if (!create_args_read(&args, definition->args, definition->args_size)) {
		keep_loaded((uintptr_t)args.ctor);
		keep_loaded((uintptr_t)args.dtor);
		keep_loaded((uintptr_t)args.reclaim);
		keep_loaded((uintptr_t)args.isolate);
		keep_loaded((uintptr_t)args.migrate);
		keep_loaded((uintptr_t)args.arg);
		keep_loaded((uintptr_t)args.rcu);
	}
	cancel_restore(cancel);
	errno = saved;
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
		.flags = definition->flags | flags,
		.defined = true,
	};
	struct slab_cache *cache = __atomic_load_n(&definition->cache, __ATOMIC_ACQUIRE);

	if (cache)
		return cache;
	cache = cache_create(&request, __builtin_return_address(0));
	if (!cache)
		return no_cache();
	keep_callbacks(definition);
	__atomic_store_n(&definition->cache, cache, __ATOMIC_RELEASE);
	return cache;
}
