/* SPDX-License-Identifier: MIT */
/*
 * record_lookups: preloaded into a program that uses libslab_dirsrv, it writes a line for
 * each lookup in an entry cache to the file that EVICTION_TRACE names: a hash of the
 * entry's name, which lookups by DN and by name have in common.
 */
#include <dlfcn.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <slab/dirsrv/entry_cache.h>

static FILE *trace;

__attribute__((constructor)) static void open_trace(void)
{
	const char *path = getenv("EVICTION_TRACE");

	trace = path ? fopen(path, "w") : NULL;
	unsetenv("LD_PRELOAD"); /* the programs that this one starts are not recorded */
}

/* The library's own function of that name. */
static void find(void *ret_function, const char *name)
{
	void *function = dlsym(RTLD_NEXT, name);

	memcpy(ret_function, &function, sizeof(function));
}

/* FNV-1a. stdio has its own lock. */
static void record(const char *name, size_t length)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (unsigned char)name[i]) * UINT64_C(0x100000001b3);
	if (trace)
		fprintf(trace, "%016" PRIx64 "\n", hash);
}

static void record_dn(const struct dirsrv_dn *dn)
{
	size_t length;
	const char *name = dirsrv_dn_name(dn, &length);

	record(name, length);
}

SLAB_API struct dirsrv_entry *dirsrv_entry_cache_lookup(struct dirsrv_entry_cache *cache,
							const struct dirsrv_dn *dn)
{
	__typeof__(dirsrv_entry_cache_lookup) *next;

	find(&next, __func__);
	record_dn(dn);
	return next(cache, dn);
}

SLAB_API struct dirsrv_entry *dirsrv_entry_cache_get(struct dirsrv_entry_cache *cache,
						     const struct dirsrv_dn *dn)
{
	__typeof__(dirsrv_entry_cache_get) *next;

	find(&next, __func__);
	record_dn(dn);
	return next(cache, dn);
}

SLAB_API size_t dirsrv_entry_cache_named(struct dirsrv_entry_cache *cache, const char *name,
					 size_t length,
					 bool (*fn)(struct dirsrv_entry *entry, void *arg),
					 void *arg)
{
	__typeof__(dirsrv_entry_cache_named) *next;

	find(&next, __func__);
	record(name, length);
	return next(cache, name, length, fn, arg);
}
