/* SPDX-License-Identifier: MIT */
/*
 * The functions of libslapd that allocate. Each call that no cache serves goes to libslapd, whose
 * contract for a size of 0, and for memory that is not there, holds unchanged.
 */
#include "slapi.h"

#include <string.h>

#include "next.h"
#include "sites.h"

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
