/* SPDX-License-Identifier: MIT */
/* Objects from malloc, as a server has them before it has caches. */
#ifndef DIRECTORY_MEMORY_MALLOC_H
#define DIRECTORY_MEMORY_MALLOC_H

#include <stdlib.h>

#define MEMORY_NAME "malloc"
#define MEMORY_IS_MALLOC 1

#define MEMORY_DEFINE(name, expression)                                                            \
	static inline struct name *memory_new_##name(void)                                         \
	{                                                                                          \
		struct name *object = (expression);                                                \
                                                                                                   \
		return memory_or_exit(object, sizeof(*object));                                    \
	}                                                                                          \
	static inline void memory_free_##name(struct name *object)                                 \
	{                                                                                          \
		free(object);                                                                      \
	}                                                                                          \
	struct memory_##name##_needs_a_semicolon_

MEMORY_DEFINE(pblock, calloc(1, sizeof(struct pblock)));
MEMORY_DEFINE(operation, calloc(1, sizeof(struct operation)));
MEMORY_DEFINE(attribute, malloc(sizeof(struct attribute)));
MEMORY_DEFINE(value, malloc(sizeof(struct value)));
MEMORY_DEFINE(dn, malloc(sizeof(struct dn)));

/* Without constructors every new entry needs its lock made, and unmade. */
static inline struct entry *memory_new_entry(void)
{
	struct entry *entry = memory_or_exit(malloc(sizeof(*entry)), sizeof(*entry));

	pthread_rwlock_init(&entry->lock, NULL);
	return entry;
}

static inline void memory_free_entry(struct entry *entry)
{
	pthread_rwlock_destroy(&entry->lock);
	free(entry);
}

static inline char *memory_new_text(size_t bytes)
{
	return memory_or_exit(malloc(bytes), bytes);
}

static inline void memory_free_text(char *text)
{
	free(text);
}

#endif /* DIRECTORY_MEMORY_MALLOC_H */
