/* SPDX-License-Identifier: MIT */
/* The functions of libslapd, of malloc(), and those behind them. */
#include "preload.h"

#include <slab/malloc.h>
#include <slab/pointer.h>
#include <slab/slab.h>

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- the functions behind ------------------------------------------------------------------- */

next_pointer next_table[NEXT_FUNCTIONS];

static const char *const next_names[NEXT_FUNCTIONS] = {
	[NEXT_FREE] = "free",
	[NEXT_REALLOC] = "realloc",
	[NEXT_USABLE_SIZE] = "malloc_usable_size",
	[NEXT_CH_MALLOC] = "slapi_ch_malloc",
	[NEXT_CH_CALLOC] = "slapi_ch_calloc",
	[NEXT_CH_STRDUP] = "slapi_ch_strdup",
	[NEXT_PBLOCK_NEW] = "slapi_pblock_new",
	[NEXT_OPERATION_PARAMETERS_NEW] = "operation_parameters_new",
	[NEXT_CSN_NEW] = "csn_new",
	[NEXT_MODS_NEW] = "slapi_mods_new",
	[NEXT_MOD_NEW] = "slapi_mod_new",
	[NEXT_MATCHINGRULE_NEW] = "slapi_matchingrule_new",
	[NEXT_UNIQUEID_NEW] = "slapi_uniqueIDNew",
	[NEXT_DATALIST_NEW] = "dl_new",
};

static __thread int is_finding __attribute__((tls_model("initial-exec")));

__attribute__((cold, noinline)) next_pointer next_find(enum next_function function)
{
	next_pointer found;

	if (is_finding)
		return NULL;
	is_finding = 1;
	*(void **)&found = dlsym(RTLD_NEXT, next_names[function]);
	is_finding = 0;
	if (!found) {
		fprintf(stderr, "libslab-389ds: no library of the process has %s()\n",
			next_names[function]);
		abort();
	}
	__atomic_store_n(&next_table[function], found, __ATOMIC_RELAXED);
	return found;
}

/* --- functions of libslapd ------------------------------------------------------------------ */

/*
 * The functions of libslapd that allocate. Each call that no cache serves goes to libslapd, whose
 * contract for a size of 0, and for memory that is not there, holds unchanged.
 */

/* The functions of libslapd that this library stands before. Those that end with a jump to
 * slapi_ch_malloc() or slapi_ch_calloc() are here so that the allocation has their name. */
SLAB_API void *slapi_ch_malloc(unsigned long size);
SLAB_API void *slapi_ch_calloc(unsigned long n, unsigned long size);
SLAB_API char *slapi_ch_strdup(const char *string);

SLAB_API void *slapi_pblock_new(void);
SLAB_API void *operation_parameters_new(void);
SLAB_API void *csn_new(void);
SLAB_API void *slapi_mods_new(void);
SLAB_API void *slapi_mod_new(void);
SLAB_API void *slapi_matchingrule_new(void);
SLAB_API void *slapi_uniqueIDNew(void);
SLAB_API void *dl_new(void);

typedef void *(*malloc_function)(unsigned long size);
typedef void *(*calloc_function)(unsigned long n, unsigned long size);
typedef char *(*strdup_function)(const char *string);
typedef void *(*new_function)(void);

/* The constructor whose allocation comes next in this thread. libslapd's own calls malloc by a
 * jump, so the return address is that of the constructor's caller. */
static __thread const void *constructor __attribute__((tls_model("initial-exec")));

/* Where an allocation belongs. */
static inline const void *site_of(const void *caller)
{
	const void *of = constructor;

	if (__builtin_expect(!of, 1))
		return caller;
	constructor = NULL;
	return of;
}

static inline void *alloc(size_t size, const void *caller)
{
	struct slab_cache *cache = site_cache(site_of(caller), size);

	return cache ? slab_alloc_from(cache, caller) : NULL;
}

void *slapi_ch_malloc(unsigned long size)
{
	void *ptr = alloc(size, __builtin_return_address(0));

	return __builtin_expect(ptr != NULL, 1) ? ptr
						: ((malloc_function)next_of(NEXT_CH_MALLOC))(size);
}

void *slapi_ch_calloc(unsigned long n, unsigned long size)
{
	unsigned long bytes;
	void *ptr;

	if (__builtin_mul_overflow(n, size, &bytes))
		return ((calloc_function)next_of(NEXT_CH_CALLOC))(n, size);
	ptr = alloc(bytes, __builtin_return_address(0));
	return __builtin_expect(ptr != NULL, 1)
		       ? memset(ptr, 0, bytes)
		       : ((calloc_function)next_of(NEXT_CH_CALLOC))(n, size);
}

/* A copy in a cache, or NULL. */
static inline char *copy(const char *string, const void *caller)
{
	size_t size = strlen(string) + 1;
	struct slab_cache *cache = string_cache(size);
	void *ptr = cache ? slab_alloc_from(cache, caller) : NULL;

	return ptr ? memcpy(ptr, string, size) : NULL;
}

char *slapi_ch_strdup(const char *string)
{
	char *ptr = string ? copy(string, __builtin_return_address(0)) : NULL;

	return __builtin_expect(ptr != NULL, 1)
		       ? ptr
		       : ((strdup_function)next_of(NEXT_CH_STRDUP))(string);
}

static void *construct(enum next_function function, const void *self)
{
	void *ptr;

	/* One byte into it, as a return address would be. */
	constructor = (const char *)self + 1;
	ptr = ((new_function)next_of(function))();
	constructor = NULL;
	return ptr;
}

#define CONSTRUCTOR(name, function)                                                                \
	void *name(void)                                                                           \
	{                                                                                          \
		return construct(function, (const void *)(uintptr_t)name);                         \
	}

CONSTRUCTOR(slapi_pblock_new, NEXT_PBLOCK_NEW)
CONSTRUCTOR(operation_parameters_new, NEXT_OPERATION_PARAMETERS_NEW)
CONSTRUCTOR(csn_new, NEXT_CSN_NEW)
CONSTRUCTOR(slapi_mods_new, NEXT_MODS_NEW)
CONSTRUCTOR(slapi_mod_new, NEXT_MOD_NEW)
CONSTRUCTOR(slapi_matchingrule_new, NEXT_MATCHINGRULE_NEW)
CONSTRUCTOR(slapi_uniqueIDNew, NEXT_UNIQUEID_NEW)
CONSTRUCTOR(dl_new, NEXT_DATALIST_NEW)

/* --- free(), realloc() and their like ------------------------------------------------------- */

/*
 * The functions of malloc() that take a pointer. Objects of caches reach them from libslapd, and
 * from libraries that free memory of libslapd. Memory that is not libslab's goes to the next
 * malloc(). If that is libslab_malloc.so, all memory is libslab's, and one lookup serves both.
 */

#define FREES_PER_TICK 64

typedef void (*free_function)(void *ptr);
typedef void *(*realloc_function)(void *ptr, size_t size);
typedef size_t (*usable_function)(void *ptr);

/* Is malloc() libslab_malloc.so? Its free(), which does due work now and then, is not called. */
static bool is_on_libslab;
static __thread int tick __attribute__((tls_model("initial-exec")));

__attribute__((constructor)) static void start(void)
{
	void *probe = malloc(1);

	options_read();
	is_on_libslab = slab_owns(probe);
	free(probe);
}

static inline void count_free(void)
{
	if (__builtin_expect(--tick < 0, 0)) {
		tick = FREES_PER_TICK - 1;
		if (is_on_libslab)
			slab_maintain_due();
	}
}

SLAB_API void free(void *ptr)
{
	free_function next;

	if (__builtin_expect(slab_free_any(ptr), 1)) {
		count_free();
		return;
	}
	/* Memory of dlsym() while it looks free() up is not freed. */
	next = (free_function)next_of(NEXT_FREE);
	if (next)
		next(ptr);
}

/* The cache of an object that malloc() does not know; NULL: malloc() does. */
static struct slab_cache *typed_cache(const void *ptr)
{
	struct slab_cache *cache = ptr ? slab_cache_of(ptr) : NULL;

	return cache && strncmp(slab_cache_name(cache), "size-", 5) != 0 ? cache : NULL;
}

/* Memory of malloc() in place of an object. */
static void *replace(void *ptr, size_t old, size_t size)
{
	void *to = malloc(size);

	if (!to)
		return NULL;
	memcpy(to, ptr, old < size ? old : size);
	slab_free_any(ptr);
	return to;
}

SLAB_API void *realloc(void *ptr, size_t size)
{
	struct slab_cache *cache = typed_cache(ptr);
	size_t old;

	if (__builtin_expect(!cache, 1)) {
		realloc_function next = (realloc_function)next_of(NEXT_REALLOC);

		return next ? next(ptr, size) : NULL;
	}
	if (!size) {
		slab_free_any(ptr);
		return NULL;
	}
	old = slab_cache_size(cache);
	return size <= old && size >= old / 2 ? ptr : replace(ptr, old, size);
}

SLAB_API void *reallocarray(void *ptr, size_t n, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(n, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return realloc(ptr, bytes);
}

SLAB_API size_t malloc_usable_size(void *ptr)
{
	struct slab_cache *cache = typed_cache(ptr);

	return cache ? slab_cache_size(cache) : ((usable_function)next_of(NEXT_USABLE_SIZE))(ptr);
}
