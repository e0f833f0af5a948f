/* SPDX-License-Identifier: MIT */
/* Objects from libslab: one typed cache each, strings by size. */
#ifndef DIRECTORY_MEMORY_SLAB_H
#define DIRECTORY_MEMORY_SLAB_H

#include <slab/malloc.h>
#include <slab/slab.h>

#define MEMORY_NAME "libslab"
#define MEMORY_IS_MALLOC 0

SLAB_DEFINE_TYPED(pblock, struct pblock);
SLAB_DEFINE_TYPED(operation, struct operation);
SLAB_DEFINE_TYPED(entry, struct entry);
SLAB_DEFINE_TYPED(attribute, struct attribute);
SLAB_DEFINE_TYPED(value, struct value);
SLAB_DEFINE_TYPED(dn, struct dn);

/* Written once by memory_setup(), before any other thread exists. */
struct memory_caches {
	struct slab_cache *pblock;
	struct slab_cache *operation;
	struct slab_cache *entry;
	struct slab_cache *attribute;
	struct slab_cache *value;
	struct slab_cache *dn;
};

extern struct memory_caches memory_cache;

/* memory_new_X() and memory_free_X() on X's cache; `how` is alloc or zalloc. */
#define MEMORY_DEFINE(name, how)                                                                   \
	static inline struct name *memory_new_##name(void)                                         \
	{                                                                                          \
		struct name *object = name##_##how(memory_cache.name);                             \
                                                                                                   \
		return memory_or_exit(object, sizeof(*object));                                    \
	}                                                                                          \
	static inline void memory_free_##name(struct name *object)                                 \
	{                                                                                          \
		name##_free(memory_cache.name, object);                                            \
	}                                                                                          \
	struct memory_##name##_needs_a_semicolon_

MEMORY_DEFINE(pblock, zalloc);
MEMORY_DEFINE(operation, zalloc);
MEMORY_DEFINE(entry, alloc); /* the constructor has initialised the lock */
MEMORY_DEFINE(attribute, alloc);
MEMORY_DEFINE(value, alloc);
MEMORY_DEFINE(dn, alloc);

static inline char *memory_new_text(size_t bytes)
{
	return memory_or_exit(slab_malloc(bytes), bytes);
}

static inline void memory_free_text(char *text)
{
	slab_mfree(text);
}

#endif /* DIRECTORY_MEMORY_SLAB_H */
