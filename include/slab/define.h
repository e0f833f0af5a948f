/* SPDX-License-Identifier: MIT */
/*
 * Functions on typed pointers: SLAB_CACHE() and SLAB_DEFINE_TYPED() are for caches that the program
 * creates and destroys.
 *
 * SLAB_DEFINE_CACHE() is for a type that a program or a library allocates all its life: its cache
 * is defined, not created.
 *
 * 	SLAB_DEFINE_CACHE(entry, struct entry);
 * 	…
 * 	struct entry *e = entry_alloc();
 * 	entry_free(e);
 *
 * The cache is created at its first use, by whichever thread comes first, also before main().
 * A definition may be in a header, and in several libraries of a process: all definitions with
 * the same name and the same properties have one cache, and each may free what another
 * allocated. The cache is never destroyed; it stays when a library is unloaded. If the definition
 * has callbacks, libslab keeps the library with the callbacks loaded: dlclose() does not unload it.
 *
 * <slab/slab.h> defines the conventions of errors and safety.
 */
#ifndef SLAB_DEFINE_H
#define SLAB_DEFINE_H

#include <slab/nofail.h>
#include <slab/slab.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- caches that are created ------------------------------------------------------------- */

/* The name of a type without its leading keyword: "struct foo" is "foo". */
static inline const char *slab_type_name_(const char *type)
{
	const char *space = type;

	while (*space && *space != ' ')
		space++;
	return *space ? space + 1 : type;
}

static inline struct slab_cache *slab_cache_create_type_(const char *type, size_t size,
							 size_t align, uint64_t flags)
{
	struct slab_cache_args args = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};

	args.align = align;
	return slab_cache_create(slab_type_name_(type), size, &args, flags);
}

#ifdef __cplusplus
#define SLAB_ALIGNOF_(type) alignof(type)
#define SLAB_ASSERT_SIZE_(type)                                                                    \
	static_assert(sizeof(type) <= SLAB_MAX_OBJECT_SIZE,                                        \
		      #type " is larger than SLAB_MAX_OBJECT_SIZE")
#else
#define SLAB_ALIGNOF_(type) _Alignof(type)
#define SLAB_ASSERT_SIZE_(type)                                                                    \
	_Static_assert(sizeof(type) <= SLAB_MAX_OBJECT_SIZE,                                       \
		       #type " is larger than SLAB_MAX_OBJECT_SIZE")
#endif

/* SLAB_CACHE(struct foo, flags): create a cache with the name, size and alignment of a type. The
 * text of the type must have at most one blank, the one after "struct", "class" or "union".
 * Returns the cache or an error, as slab_cache_create() does.
 * MT-safe, fork-safe, cancel-safe, not async-signal-safe. */
#define SLAB_CACHE(type, flags)                                                                    \
	slab_cache_create_type_(#type, sizeof(type), SLAB_ALIGNOF_(type), (flags))

/*
 * SLAB_DEFINE_TYPED(entry, struct entry): define functions on typed pointers:
 *	struct slab_cache *entry_cache_create(const struct slab_cache_args *, uint64_t flags);
 *	struct entry *entry_alloc(struct slab_cache *);
 *	struct entry *entry_zalloc(struct slab_cache *);
 *	void entry_free(struct slab_cache *, struct entry *);
 *
 * The cache has the name "entry". If args has no alignment, entry_cache_create() uses that of the
 * type.
 * MT-safe, fork-safe, cancel-safe, async-signal-safe as the functions that they call.
 */
#define SLAB_DEFINE_TYPED(prefix, type)                                                            \
	SLAB_ASSERT_SIZE_(type);                                                                   \
	SLAB_ATTR_(unused)                                                                         \
	static inline struct slab_cache *prefix##_cache_create(const struct slab_cache_args *args, \
							       uint64_t flags)                     \
	{                                                                                          \
		struct slab_cache_args typed = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};                  \
		if (args)                                                                          \
			typed = *args;                                                             \
		if (!typed.align)                                                                  \
			typed.align = SLAB_ALIGNOF_(type);                                         \
		return slab_cache_create(#prefix, sizeof(type), &typed, flags);                    \
	}                                                                                          \
	SLAB_INLINE_(unused) void prefix##_free(struct slab_cache *cache, type *obj)               \
	{                                                                                          \
		slab_free(cache, obj);                                                             \
		SLAB_CALLED_BY_(prefix##_free);                                                    \
	}                                                                                          \
	SLAB_INLINE_(unused, malloc, warn_unused_result)                                           \
	type *prefix##_alloc(struct slab_cache *cache)                                             \
	{                                                                                          \
		type *obj = (type *)slab_alloc(cache);                                             \
		SLAB_CALLED_BY_(prefix##_alloc);                                                   \
		return obj;                                                                        \
	}                                                                                          \
	SLAB_INLINE_(unused, malloc, warn_unused_result)                                           \
	type *prefix##_zalloc(struct slab_cache *cache)                                            \
	{                                                                                          \
		type *obj = (type *)slab_zalloc(cache);                                            \
		SLAB_CALLED_BY_(prefix##_zalloc);                                                  \
		return obj;                                                                        \
	}                                                                                          \
	struct slab_typed_##prefix##_needs_a_semicolon_

/* --- caches that are defined ------------------------------------------------------------- */

/* What SLAB_DEFINE_CACHE() defines, with static storage. */
struct slab_definition {
	struct slab_cache *cache; /* NULL before the first use */
	const char *name;
	size_t size, align;
	uint64_t flags;
	const struct slab_cache_args *args; /* or NULL */
	size_t args_size;                   /* sizeof(struct slab_cache_args) */
};

/*
 * slab_cache_defined: the cache of a definition. The first call creates the cache, unless an
 * equal definition has done so.
 *
 * @flags  0 or SLAB_PANIC
 *
 * Definitions are equal if name, size, alignment and flags are the same, and of args all
 * callbacks, arg and rcu; args.limit and args.reserve are those of the first definition. For
 * these caches slab_cache_destroy() returns -EINVAL.
 *
 * Returns the cache. If it cannot be created, errno is set as by slab_cache_create(), EEXIST if
 * the name belongs to a different definition or to a created cache. Then the function returns a
 * handle from which every allocation fails with this errno, and the next call tries again. With
 * SLAB_PANIC the process aborts instead, as in slab_cache_create().
 * MT-safe, fork-safe, cancel-safe, not async-signal-safe before the cache exists. A program may
 * call the function before main(). If callbacks are in a library, the first call takes the dynamic
 * linker's lock: a thread must not hold a lock then that a constructor of a library waits for.
 */
SLAB_API struct slab_cache *slab_cache_defined(struct slab_definition *definition, uint64_t flags);

/*
 * SLAB_DEFINE_CACHE(entry, struct entry); SLAB_DEFINE_CACHE(entry, struct entry, flags);
 * SLAB_DEFINE_CACHE(entry, struct entry, flags, &args): define a cache with typed functions. Its
 * name is "entry", and the functions are
 *	struct entry *entry_alloc(void);
 *	struct entry *entry_zalloc(void);
 *	struct entry *entry_alloc_nofail(void);
 *	void entry_free(struct entry *);
 *	struct slab_cache *entry_cache(void); // for the other functions on caches
 *
 * @flags  SLAB_* flags
 * @args   const struct slab_cache_args with static storage. Without args.align the alignment is
 *         that of the type.
 *
 * gcc warns if an object goes to another free function, and if the result is not used. If the cache
 * cannot be created, entry_alloc_nofail() aborts the process as slab_cache_create() does with
 * SLAB_PANIC.
 *
 * Returns what slab_alloc(), slab_zalloc(), slab_alloc_nofail() and slab_cache_defined() return.
 * MT-safe, fork-safe, cancel-safe; async-signal-safe as slab_alloc() and slab_free(), except a call
 * that may be the first one.
 */
#define SLAB_DEFINE_CACHE(prefix, ...) SLAB_DEFINE_CACHE_(prefix, __VA_ARGS__, 0, NULL, 0)

#define SLAB_DEFINE_CACHE_(prefix, type, definition_flags, definition_args, ...)                   \
	SLAB_ASSERT_SIZE_(type);                                                                   \
	SLAB_ATTR_(unused)                                                                         \
	static struct slab_definition prefix##_definition_ = {                                     \
		NULL,                                                                              \
		#prefix,                                                                           \
		sizeof(type),                                                                      \
		SLAB_ALIGNOF_(type),                                                               \
		(definition_flags),                                                                \
		(definition_args),                                                                 \
		sizeof(struct slab_cache_args),                                                    \
	};                                                                                         \
	SLAB_INLINE_(unused) struct slab_cache *prefix##_cache(void)                               \
	{                                                                                          \
		return slab_definition_cache_(&prefix##_definition_, 0);                           \
	}                                                                                          \
	SLAB_INLINE_(unused) void prefix##_free(type *obj)                                         \
	{                                                                                          \
		if (!obj)                                                                          \
			return;                                                                    \
		slab_free(prefix##_cache(), obj);                                                  \
		SLAB_CALLED_BY_(prefix##_free);                                                    \
	}                                                                                          \
	SLAB_INLINE_(unused, malloc, warn_unused_result) type *prefix##_alloc(void)                \
	{                                                                                          \
		type *obj = (type *)slab_alloc(prefix##_cache());                                  \
		SLAB_CALLED_BY_(prefix##_alloc);                                                   \
		return obj;                                                                        \
	}                                                                                          \
	SLAB_INLINE_(unused, malloc, warn_unused_result) type *prefix##_zalloc(void)               \
	{                                                                                          \
		type *obj = (type *)slab_zalloc(prefix##_cache());                                 \
		SLAB_CALLED_BY_(prefix##_zalloc);                                                  \
		return obj;                                                                        \
	}                                                                                          \
	SLAB_INLINE_(unused, malloc, returns_nonnull, warn_unused_result)                          \
	type *prefix##_alloc_nofail(void)                                                          \
	{                                                                                          \
		type *obj = (type *)slab_alloc_nofail(                                             \
			slab_definition_cache_(&prefix##_definition_, SLAB_PANIC));                \
		SLAB_CALLED_BY_(prefix##_alloc_nofail);                                            \
		return obj;                                                                        \
	}                                                                                          \
	struct slab_defined_##prefix##_needs_a_semicolon_

SLAB_INLINE_(unused)
struct slab_cache *slab_definition_cache_(struct slab_definition *definition, uint64_t flags)
{
	struct slab_cache *cache = __atomic_load_n(&definition->cache, __ATOMIC_ACQUIRE);

	return __builtin_expect(cache != NULL, 1) ? cache : slab_cache_defined(definition, flags);
}

#ifdef __cplusplus
}
#endif

#endif /* SLAB_DEFINE_H */
