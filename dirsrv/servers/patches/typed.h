/* SPDX-License-Identifier: MIT */
/*
 * What the generated header of a server's caches is made of. The compiler includes it before the
 * server's sources (-include), which is why these are macros: the server's types are known where
 * the macros are used, and in few files.
 */
#pragma once

#include <slab/define.h>
#include <slab/pointer.h>

#define TYPED_DEFINITION(variable, name, size, type)                                               \
	static struct slab_definition variable = {                                                 \
		0, name, size, __alignof__(type), 0, 0, sizeof(struct slab_cache_args)}

/* All definitions of one name have the same properties, and so one cache. */
#define TYPED_CACHE(name, type, args)                                                              \
	__extension__({                                                                            \
		TYPED_DEFINITION(typed_definition, #name, sizeof(type), type);                     \
		typed_cache(&typed_definition, (args));                                            \
	})

#define TYPED_ALLOC(name, type, args) slab_alloc_nofail(TYPED_CACHE(name, type, args))

/* An object, or the object and what follows it: two caches. */
#define TYPED_ALLOC_SIZED(name, type, size)                                                        \
	__extension__({                                                                            \
		TYPED_DEFINITION(typed_short, #name, sizeof(type), type);                          \
		TYPED_DEFINITION(typed_long, #name "_long", 0, type);                              \
		size_t typed_size = (size);                                                        \
		if (typed_size > sizeof(type))                                                     \
			typed_long.size = typed_size;                                              \
		slab_alloc(                                                                        \
			typed_cache(typed_size > sizeof(type) ? &typed_long : &typed_short, 0));   \
	})

#define TYPED_RELEASE(name, pointer)                                                               \
	do {                                                                                       \
		__typeof__(pointer) typed_pointer = (pointer);                                     \
		if (*typed_pointer)                                                                \
			typed_##name##_free(*typed_pointer);                                       \
		*typed_pointer = 0;                                                                \
	} while (0)

/* Frees the objects of a linked list from first to last, both included. */
#define TYPED_FREE_LIST(name, type, link, cache, first, last)                                      \
	do {                                                                                       \
		type *typed_item = (first), *typed_end = (last);                                   \
		void *typed_batch[64];                                                             \
		size_t typed_count = 0;                                                            \
		struct slab_cache *typed_owner = (cache);                                          \
		for (;;) {                                                                         \
			int typed_done = typed_item == typed_end;                                  \
			typed_batch[typed_count++] = typed_item;                                   \
			typed_item = typed_done ? typed_item : typed_item->link;                   \
			if (typed_done || typed_count == 64) {                                     \
				slab_free_bulk(typed_owner, typed_count, typed_batch);             \
				typed_count = 0;                                                   \
			}                                                                          \
			if (typed_done)                                                            \
				break;                                                             \
		}                                                                                  \
	} while (0)

extern void typed_untyped_free(void *ptr) __asm__("free");

static inline __attribute__((unused)) int typed_free_first(struct slab_cache **owner,
							   const char *name, void *ptr)
{
	struct slab_cache *cache = slab_cache_of(ptr);

	if (!cache || __builtin_strcmp(slab_cache_name(cache), name))
		return 0;
	__atomic_store_n(owner, cache, __ATOMIC_RELAXED);
	slab_free(cache, ptr);
	return 1;
}

/* Is it an object of the cache? Then it is free now. If not, it may lie within memory that another
 * function of the server has to free. A server may free objects of a type that is not yet complete
 * there: so the cache is found by name, and *owner remembers it. */
static inline __attribute__((always_inline, unused)) int typed_free_own(struct slab_cache **owner,
									const char *name, void *ptr)
{
	struct slab_cache *cache = __atomic_load_n(owner, __ATOMIC_RELAXED);

	if (__builtin_expect(cache != NULL && slab_cache_of(ptr) == cache, 1)) {
		slab_free(cache, ptr);
		return 1;
	}
	return typed_free_first(owner, name, ptr);
}

/* A server may have arrays of a type beside its single objects, and free both in the same place. */
static inline __attribute__((always_inline, unused)) void typed_free(void *ptr)
{
	if (!slab_free_any(ptr))
		typed_untyped_free(ptr);
}

static inline __attribute__((always_inline, unused)) struct slab_cache *typed_cache(
	struct slab_definition *definition, const struct slab_cache_args *args)
{
	struct slab_cache *cache = __atomic_load_n(&definition->cache, __ATOMIC_ACQUIRE);
	struct slab_definition with_args;

	if (__builtin_expect(cache != NULL, 1))
		return cache;
	if (!args)
		return slab_cache_defined(definition, SLAB_PANIC);
	with_args = *definition;
	with_args.args = args;
	cache = slab_cache_defined(&with_args, SLAB_PANIC);
	__atomic_store_n(&definition->cache, cache, __ATOMIC_RELEASE);
	return cache;
}
